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

/// The middle 95 % of a value's draws; `None` of none.
///
/// Draws scatter around the value that they are drawn for, but a ratio or a metric that is not defined on every draw
/// may lie outside of nearly all of them when there are few pictures. The interval is then widened as far as the
/// value, which is always one of the plausible ones.
pub fn interval(value: f64, draws: Vec<f64>) -> Option<(f64, f64)> {
    let draws = sorted(draws);
    Some((quantile(&draws, 0.025)?.min(value), quantile(&draws, 0.975)?.max(value)))
}

/// The 95 % interval of a correlation between numbers that are each averaged over pictures; `None` of no draws.
///
/// A draw shows some pictures twice and others never, so that its averages are noisier than those of all pictures
/// and their correlation is closer to 0: the draws have the right spread, but around another value. They are
/// therefore moved until their median is the correlation itself, on Fisher's scale (the inverse hyperbolic tangent),
/// on which the spread of a correlation does not depend on its value and no end can pass 1.
pub fn correlation_interval(value: f64, draws: Vec<f64>) -> Option<(f64, f64)> {
    let fisher = |rho: f64| rho.clamp(-MOST_CORRELATION, MOST_CORRELATION).atanh();
    let draws = sorted(draws.into_iter().map(fisher).collect());
    let moved = fisher(value) - quantile(&draws, 0.5)?;
    let end = |share: f64| Some((quantile(&draws, share)? + moved).tanh());
    Some((end(0.025)?.min(value), end(0.975)?.max(value)))
}

/// Beyond this a correlation counts as perfect, which Fisher's scale has no number for.
const MOST_CORRELATION: f64 = 1.0 - 1e-12;

fn sorted(mut draws: Vec<f64>) -> Vec<f64> {
    draws.retain(|value| value.is_finite());
    draws.sort_by(f64::total_cmp);
    draws
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
        let (low, high) = interval(0.5, Resamples::new(400, RESAMPLES).map(mean)).unwrap();
        // Standard error 0.025.
        assert!((low - 0.451).abs() < 0.008 && (high - 0.549).abs() < 0.008, "{low} {high}");
    }

    #[test]
    fn draws_are_the_same_every_time() {
        let sums = || Resamples::new(7, 20).map(|counts| Some(f64::from(counts[0])));
        assert_eq!(sums(), sums());
        assert_ne!(Resamples::new(7, 20).row(0), Resamples::new(7, 20).row(1));
        assert_ne!(Resamples::new(7, 20).row(0), Resamples::new(7, 20).of_source(1).row(0));
        assert_eq!(interval(1.0, Vec::new()), None);
        assert_eq!(interval(3.0, vec![3.0]), Some((3.0, 3.0)));
        assert_eq!(correlation_interval(1.0, vec![f64::NAN]), None);
    }

    /// Twenty pictures with values at fifty places: the correlation over places of the means of two such sets.
    #[test]
    fn a_correlation_of_means_is_in_its_interval() {
        let set = |seed: u64| -> Vec<Vec<f64>> {
            let mut rng = SplitMix64::new(seed);
            let mut noise = || rng.below(1000) as f64 / 100.0;
            (0..20)
                .map(|_| (0..50).map(|place| f64::from(place) * 0.08 + noise()).collect())
                .collect()
        };
        let mean = |set: &[Vec<f64>], counts: &[u32], place: usize| -> f64 {
            set.iter().zip(counts).map(|(picture, &times)| f64::from(times) * picture[place]).sum()
        };
        let mut attenuated = 0;
        for seed in 0..10 {
            let (left, right) = (set(2 * seed), set(2 * seed + 1));
            let rho = |a: &[u32], b: &[u32]| {
                let of = |set: &[Vec<f64>], counts: &[u32]| -> Vec<f64> {
                    (0..50).map(|place| mean(set, counts, place)).collect()
                };
                crate::stats::spearman(&of(&left, a), &of(&right, b))
            };
            let value = rho(&[1; 20], &[1; 20]).unwrap();
            let resamples = Resamples::new(20, 400);
            let other = resamples.of_source(1);
            let draws: Vec<f64> =
                (0..400).filter_map(|draw| rho(&resamples.row(draw), &other.row(draw))).collect();
            let median = quantile(&sorted(draws.clone()), 0.5).unwrap();
            attenuated += usize::from(median < value);
            let (low, high) = correlation_interval(value, draws.clone()).unwrap();
            assert!(
                -1.0 <= low && low < value && value < high && high <= 1.0,
                "{low} {value} {high}"
            );
        }
        // Why the draws themselves will not do.
        assert_eq!(attenuated, 10);
    }

    #[test]
    fn no_interval_leaves_its_value_out() {
        for value in [-1.0, -0.99, 0.0, 0.5, 1.0] {
            for draws in [vec![0.1, 0.2, 0.3], vec![1.0; 3], vec![-1.0; 3], vec![-1.0, 0.0, 1.0]] {
                for (low, high) in
                    [interval(value, draws.clone()), correlation_interval(value, draws)]
                        .into_iter()
                        .flatten()
                {
                    assert!(low <= value && value <= high, "{low} {value} {high}");
                    assert!(-1.0 <= low && high <= 1.0);
                }
            }
        }
    }
}
