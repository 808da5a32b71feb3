//! Medians, extremes and speed-ups.

use serde::Serialize;

/// The middle and the extremes of all counted runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Spread {
    pub(super) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(0.0);
        let (half, last) = (values.len() / 2, values.len().saturating_sub(1));
        let median = if values.len() % 2 == 1 {
            at(half)
        } else {
            f64::midpoint(at(half.saturating_sub(1)), at(half))
        };
        Self { median, min: at(0), max: at(last) }
    }
}

/// What the FLOPs promise and what came of it.
#[derive(Debug, Serialize)]
pub(super) struct Speedup {
    pub(super) promised: f64,
    /// Ratios within each round, so that a slow round counts against neither side.
    pub(super) realised: Spread,
    /// Realised (median) over promised.
    pub(super) share: f64,
}

impl Speedup {
    pub(super) fn new(promised: f64, before: &[f64], after: &[f64]) -> Self {
        let ratios = before.iter().zip(after).map(|(before, after)| before / after).collect();
        let realised = Spread::of(ratios);
        Self { promised, realised, share: realised.median / promised }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middle_of_odd_and_even_counts() {
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of(vec![4.0, 1.0]), Spread { median: 2.5, min: 1.0, max: 4.0 });
        assert_eq!(Spread::of(vec![]), Spread { median: 0.0, min: 0.0, max: 0.0 });
    }

    #[test]
    fn speedups_pair_runs_of_a_round() {
        let speedup = Speedup::new(4.0, &[4.0, 40.0, 6.0], &[2.0, 20.0, 2.0]);
        assert_eq!(speedup.realised, Spread { median: 2.0, min: 2.0, max: 3.0 });
        assert_eq!(speedup.share, 0.5);
    }
}
