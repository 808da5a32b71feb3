//! Numbers with intervals by drawing pictures again.

use mico_util::SplitMix64;
use rayon::prelude::*;
use serde::Serialize;

use crate::stats::{correlation_interval, interval};

/// Draws of an interval, as in the paper.
pub const DRAWS: usize = 1000;
/// Sets these draws apart from other random numbers.
const SEED: u64 = 0x6472_6177;

/// A number with its 95 % interval, by drawing pictures again. Nothing is known of what is null.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Measure {
    /// The estimate itself; null where it is not defined.
    pub value: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
}

impl Measure {
    /// A number with the interval of those of its draws that are defined.
    pub(super) fn new(value: Option<f64>, draws: impl IntoIterator<Item = Option<f64>>) -> Self {
        Self::within(value, draws, interval)
    }

    /// A correlation over positions, each of which stands for the same place in all pictures.
    pub(super) fn correlation(
        value: Option<f64>,
        draws: impl IntoIterator<Item = Option<f64>>,
    ) -> Self {
        Self::within(value, draws, correlation_interval)
    }

    fn within(
        value: Option<f64>,
        draws: impl IntoIterator<Item = Option<f64>>,
        interval: fn(f64, Vec<f64>) -> Option<(f64, f64)>,
    ) -> Self {
        let ends = value.and_then(|value| interval(value, draws.into_iter().flatten().collect()));
        Self { value, low: ends.map(|ends| ends.0), high: ends.map(|ends| ends.1) }
    }

    /// The mean of what pictures give, each with its sum and count; pictures that give nothing are
    /// drawn like the others.
    pub(super) fn mean(pictures: &[(f64, f64)]) -> Self {
        let mean = |weights: &[u16]| {
            let add = |(sum, count): (f64, f64), (own, &times): (&(f64, f64), &u16)| {
                (sum + f64::from(times) * own.0, count + f64::from(times) * own.1)
            };
            let (sum, count) = pictures.iter().zip(weights).fold((0.0, 0.0), add);
            (count > 0.0).then(|| sum / count)
        };
        Self::new(mean(&vec![1; pictures.len()]), draws(&[pictures.len()], |rows| mean(&rows[0])))
    }

    /// Whether the interval leaves a value out.
    pub(super) fn excludes(&self, value: f64) -> bool {
        matches!((self.low, self.high), (Some(low), Some(high)) if value < low || value > high)
    }
}

/// A statistic of every draw. Each of several sets of pictures is drawn by itself, with replacement;
/// the statistic is given how often each picture occurs. The same for every number of threads.
pub(super) fn draws<T: Send>(
    sets: &[usize],
    statistic: impl Fn(&[Vec<u16>]) -> T + Sync,
) -> Vec<T> {
    let one = |draw: usize| {
        let rows = sets.iter().enumerate().map(|(set, &pictures)| {
            let mut rng = SplitMix64::keyed(&[SEED, draw as u64, set as u64, pictures as u64]);
            let mut row = vec![0_u16; pictures];
            for _ in 0..pictures {
                let at = rng.below(pictures);
                row[at] = row[at].saturating_add(1);
            }
            row
        });
        statistic(&rows.collect::<Vec<_>>())
    };
    (0..DRAWS).into_par_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_mean_is_about_two_deviations_wide() {
        let pictures: Vec<(f64, f64)> = (0..400).map(|i| (f64::from(i % 2), 1.0)).collect();
        let found = Measure::mean(&pictures);
        // Standard error 0.025.
        assert_eq!(found.value, Some(0.5));
        assert!((found.low.unwrap() - 0.451).abs() < 0.01, "{found:?}");
        assert!((found.high.unwrap() - 0.549).abs() < 0.01, "{found:?}");
        assert!(found.excludes(0.6) && !found.excludes(0.5));
    }

    #[test]
    fn nothing_has_no_mean() {
        assert_eq!(Measure::mean(&[]), Measure::default());
        assert_eq!(Measure::mean(&[(0.0, 0.0)]), Measure::default());
        let found = Measure::mean(&[(0.0, 0.0), (3.0, 1.0)]);
        assert_eq!((found.value, found.low, found.high), (Some(3.0), Some(3.0), Some(3.0)));
    }
}
