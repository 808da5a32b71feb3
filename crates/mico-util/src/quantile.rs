//! Quantiles as `numpy.quantile` computes them, for tables and confidence intervals.

/// The quantile of values sorted in ascending order, with linear interpolation between the two
/// nearest; `None` if there are no values. A `share` outside `[0, 1]` is clamped to it.
///
/// ```
/// use mico_util::quantile;
/// assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), Some(3.0));
/// assert_eq!(quantile(&[], 0.5), None);
/// ```
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_middles() {
        let values = [1.0, 4.0];
        let at = |share| quantile(&values, share);
        assert_eq!(
            [at(0.0), at(0.25), at(0.5), at(1.0)].map(Option::unwrap),
            [1.0, 1.75, 2.5, 4.0]
        );
        assert_eq!((at(-3.0), at(7.0)), (Some(1.0), Some(4.0)));
        assert_eq!(quantile(&[5.0], 0.3), Some(5.0));
    }
}
