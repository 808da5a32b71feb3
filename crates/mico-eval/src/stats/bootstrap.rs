//! Intervals by drawing pictures again: questions about one picture stay together.

use mico_util::{SplitMix64, quantile};
use rayon::prelude::*;

/// Draws of an interval.
pub const RESAMPLES: usize = 2000;
/// Where the draws begin.
const SEED: u64 = 0x626f_6f74;

/// Draws of `clusters` clusters with replacement. The same draws serve every setting, so differences
/// between settings are paired.
#[derive(Debug, Clone, Copy)]
pub struct Resamples {
    clusters: usize,
    draws: usize,
    source: u64,
}

impl Resamples {
    /// Draws for that many clusters.
    pub fn new(clusters: usize, draws: usize) -> Self {
        Self { clusters, draws, source: 0 }
    }

    /// Draws of another source's pictures, which have nothing to do with the first's.
    pub fn of_source(self, source: usize) -> Self {
        Self { source: source as u64, ..self }
    }

    /// How often each cluster occurs in a draw.
    pub fn row(&self, draw: usize) -> Vec<u32> {
        let mut rng =
            SplitMix64::keyed(&[SEED ^ (self.source << 32), self.clusters as u64, draw as u64]);
        let mut row = vec![0_u32; self.clusters];
        for _ in 0..self.clusters {
            row[rng.below(self.clusters)] += 1;
        }
        row
    }

    /// A statistic of every draw; it is given how often each cluster occurs.
    pub fn map(&self, statistic: impl Fn(&[u32]) -> Option<f64> + Sync) -> Vec<f64> {
        let draws = (0..self.draws).into_par_iter();
        let found: Vec<Option<f64>> = draws.map(|draw| statistic(&self.row(draw))).collect();
        found.into_iter().flatten().collect()
    }
}

/// The middle 95 % of draws; `None` of none.
pub fn interval(mut draws: Vec<f64>) -> Option<(f64, f64)> {
    draws.retain(|value| value.is_finite());
    draws.sort_by(f64::total_cmp);
    Some((quantile(&draws, 0.025)?, quantile(&draws, 0.975)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_mean_is_about_two_deviations_wide() {
        let values: Vec<f64> = (0..400).map(|i| f64::from(i % 2)).collect();
        let mean = |counts: &[u32]| {
            let total: f64 = counts.iter().zip(&values).map(|(&c, v)| f64::from(c) * v).sum();
            Some(total / 400.0)
        };
        let (low, high) = interval(Resamples::new(400, RESAMPLES).map(mean)).unwrap();
        // Standard error 0.025.
        assert!((low - 0.451).abs() < 0.008 && (high - 0.549).abs() < 0.008, "{low} {high}");
    }

    #[test]
    fn draws_are_the_same_every_time() {
        let sums = || Resamples::new(7, 20).map(|counts| Some(f64::from(counts[0])));
        assert_eq!(sums(), sums());
        assert_ne!(Resamples::new(7, 20).row(0), Resamples::new(7, 20).row(1));
        assert_ne!(Resamples::new(7, 20).row(0), Resamples::new(7, 20).of_source(1).row(0));
        assert_eq!(interval(Vec::new()), None);
        assert_eq!(interval(vec![3.0]), Some((3.0, 3.0)));
    }
}
