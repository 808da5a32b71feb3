//! One number over several tracks.

use std::collections::BTreeMap;

use mico_score::{Acc, Suite, Track};

use crate::scoring::{Scoring, TrackSpec};

/// How tracks become one number.
#[derive(Debug)]
pub(crate) enum Mean {
    /// The mean of all tracks of the generated scenes.
    Scenes,
    /// The paper's Acc: which benchmark each track is, and which are needed.
    Benchmarks {
        /// The benchmark of each column of the table; `None` for a column of generated scenes.
        columns: Vec<Option<Track>>,
        /// What enters the mean.
        needed: Vec<Track>,
    },
}

impl Mean {
    /// The paper's Acc of the tracks' family; the mean of all tracks of the generated scenes.
    pub(crate) fn of<'a>(specs: impl Iterator<Item = &'a TrackSpec>) -> Self {
        let specs: Vec<&TrackSpec> = specs.collect();
        let profile = specs.iter().find_map(|spec| match spec.scoring {
            Scoring::Benchmark { profile, .. } => Some(profile),
            Scoring::Scenes { .. } => None,
        });
        let Some(profile) = profile else { return Self::Scenes };
        let columns = specs.iter().map(|spec| spec.benchmark()).collect();
        Self::Benchmarks { columns, needed: Suite::of(profile).tracks().to_vec() }
    }

    /// The mean of whatever tracks there are.
    pub(crate) fn any<'a>(specs: impl Iterator<Item = &'a TrackSpec>) -> Self {
        let columns: Vec<Option<Track>> = specs.map(TrackSpec::benchmark).collect();
        let needed: Vec<Track> = columns.iter().copied().flatten().collect();
        if needed.is_empty() { Self::Scenes } else { Self::Benchmarks { columns, needed } }
    }

    /// Tracks without which there is no mean.
    pub(crate) fn missing(&self) -> Vec<String> {
        match self {
            Self::Scenes => Vec::new(),
            Self::Benchmarks { columns, needed } => {
                let absent = needed.iter().filter(|track| !columns.contains(&Some(**track)));
                absent.map(|track| track.name().to_owned()).collect()
            }
        }
    }

    /// The mean; `None` if a track is missing or has no value.
    pub(crate) fn acc(&self, values: &[Option<f64>]) -> Option<f64> {
        match self {
            Self::Scenes => {
                let sum: f64 = values.iter().copied().sum::<Option<f64>>()?;
                (!values.is_empty()).then(|| sum / values.len() as f64)
            }
            Self::Benchmarks { columns, needed } => {
                let known = columns.iter().zip(values);
                let known: BTreeMap<Track, f64> =
                    known.filter_map(|(track, value)| Some(((*track)?, (*value)?))).collect();
                Acc::over(needed, &known).value
            }
        }
    }
}
