//! Medians, extremes and speed-ups.

use mico_util::quantile;
use serde::Serialize;

/// The middle, the quartiles and the extremes of all counted runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Spread {
    /// The median of all runs.
    pub median: f64,
    /// The smallest value of any run.
    pub min: f64,
    /// The largest value of any run.
    pub max: f64,
    /// First quartile, interpolated between neighbours.
    pub q1: f64,
    /// Third quartile, interpolated between neighbors.
    pub q3: f64,
    /// The interquartile range, `q3 - q1`.
    pub iqr: f64,
}

impl Spread {
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| quantile(&values, share).unwrap_or(0.0);
        let (q1, q3) = (at(0.25), at(0.75));
        Self { median: at(0.5), min: at(0.0), max: at(1.0), q1, q3, iqr: q3 - q1 }
    }
}

/// What the FLOPs promise and what came of it.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Speedup {
    /// The ratio of the FLOPs.
    pub promised: f64,
    /// Ratios within each round, so that a slow round counts against neither side.
    #[serde(rename = "realised")]
    pub realized: Spread,
    /// Realised (median) over promised.
    pub share: f64,
}

impl Speedup {
    pub(super) fn new(promised: f64, before: &[f64], after: &[f64]) -> Self {
        let ratios = before.iter().zip(after).map(|(before, after)| before / after).collect();
        let realized = Spread::of(ratios);
        Self { promised, realized, share: realized.median / promised }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middles_quartiles_and_ends() {
        let of = |values: &[f64]| {
            let Spread { median, min, max, q1, q3, iqr } = Spread::of(values.to_vec());
            [min, q1, median, q3, max, iqr]
        };
        assert_eq!(of(&[3.0, 1.0, 2.0]), [1.0, 1.5, 2.0, 2.5, 3.0, 1.0]);
        assert_eq!(of(&[4.0, 1.0]), [1.0, 1.75, 2.5, 3.25, 4.0, 1.5]);
        assert_eq!(of(&[5.0]), [5.0, 5.0, 5.0, 5.0, 5.0, 0.0]);
        assert_eq!(of(&[]), [0.0; 6]);
    }

    #[test]
    fn speedups_pair_runs_of_a_round() {
        let speedup = Speedup::new(4.0, &[4.0, 40.0, 6.0], &[2.0, 20.0, 2.0]);
        let Spread { median, min, max, .. } = speedup.realized;
        assert_eq!((median, min, max), (2.0, 2.0, 3.0));
        assert_eq!(speedup.share, 0.5);
    }
}
