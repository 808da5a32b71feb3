//! Chooses which frames of a video are used.

/// The indices of the frames to take from `total` frames at `rate` frames per second: every
/// `round(rate / fps)`-th frame or, if these were more than `max_frames`, that many spread evenly
/// from the first to the last.
///
/// Rounding is half to even and the even spread is truncated, as in the Python code shared by video
/// benchmarks (`round`, `numpy.linspace(0, total - 1, max_frames)` converted to integers).
///
/// ```
/// use mico_video::sample_indices;
///
/// assert_eq!(sample_indices(10, 2.5, 1.0, 64), [0, 2, 4, 6, 8]);
/// assert_eq!(sample_indices(10, 2.5, 1.0, 3), [0, 4, 9]);
/// ```
pub fn sample_indices(total: usize, rate: f64, fps: f64, max_frames: usize) -> Vec<usize> {
    // Conversion from float saturates and NaN becomes 0, so the stride is always valid.
    let stride = ((rate / fps).round_ties_even() as usize).max(1);
    if total.div_ceil(stride) <= max_frames {
        return (0..total).step_by(stride).collect();
    }
    spread(total, max_frames)
}

/// `count` indices spread evenly from the first to the last of `total`; all if there are no more.
pub(crate) fn spread(total: usize, count: usize) -> Vec<usize> {
    if total <= count {
        return (0..total).collect();
    }
    let last = total - 1;
    let step = last as f64 / count.saturating_sub(1) as f64;
    let index = |i: usize| if i > 0 && i + 1 == count { last } else { (i as f64 * step) as usize };
    (0..count).map(index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_frame_is_the_first() {
        assert_eq!(sample_indices(9, 1.0, 1.0, 1), [0]);
        assert_eq!(spread(9, 1), [0]);
        assert_eq!(spread(1, 1), [0]);
    }

    #[test]
    fn strange_rates_are_still_a_sample() {
        assert_eq!(sample_indices(5, f64::INFINITY, 1.0, 64), [0]);
        assert_eq!(sample_indices(2, f64::NAN, 1.0, 64), [0, 1]);
        assert_eq!(sample_indices(2, 0.0, 1.0, 64), [0, 1]);
        assert!(sample_indices(0, 25.0, 1.0, 64).is_empty());
    }
}
