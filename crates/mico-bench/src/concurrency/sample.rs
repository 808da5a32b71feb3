//! One turn of a level, as the journal keeps it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use mico_batch::{Observation, Observer};
use mico_util::quantile;
use serde::{Deserialize, Serialize};

use crate::memory::Allocated;

/// The times and memory of one counted turn.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct LevelSample {
    /// Wall time from the first client's first request to the last one's answer.
    pub(crate) seconds: f64,
    /// Requests that were answered: all.
    pub(crate) answered: usize,
    /// Tokens of all answers.
    pub(crate) tokens: usize,
    /// From the start of a request, preparation included, to its first token.
    pub(crate) first_token: Distribution,
    /// Between two tokens of an answer, whatever the scheduler did meanwhile.
    pub(crate) between_tokens: Distribution,
    /// From the start of a request, preparation included, to its answer.
    pub(crate) request: Distribution,
    pub(crate) steps: Steps,
    /// The most that admission counted at once.
    pub(crate) admitted: u64,
    /// The most memory the process held: during the turn, or since it began.
    pub(crate) peak_memory: u64,
    pub(crate) allocated: Option<Allocated>,
}

/// The values of one turn in three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Distribution {
    pub(crate) median: f64,
    pub(crate) p90: f64,
    pub(crate) longest: f64,
}

impl Distribution {
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |share| quantile(&values, share).unwrap_or(0.0);
        Self { median: at(0.5), p90: at(0.9), longest: at(1.0) }
    }
}

/// The decode steps of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Steps {
    pub(crate) count: usize,
    /// Answers that took part, summed over the steps.
    pub(crate) rows: usize,
    /// The median time inside one step.
    pub(crate) median: f64,
    /// The time inside all steps.
    pub(crate) seconds: f64,
}

/// Rows and seconds of every decode step, noted on the scheduler's thread.
#[derive(Debug, Default)]
pub(super) struct StepLog(Mutex<Vec<(usize, f64)>>);

impl StepLog {
    fn lock(&self) -> MutexGuard<'_, Vec<(usize, f64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn steps(&self) -> Steps {
        let log = self.lock();
        let took: Vec<f64> = log.iter().map(|(_, took)| *took).collect();
        Steps {
            count: log.len(),
            rows: log.iter().map(|(rows, _)| rows).sum(),
            seconds: took.iter().sum(),
            median: Distribution::of(took).median,
        }
    }
}

impl Observer for StepLog {
    fn record(&self, observation: &Observation<'_>) {
        if let Observation::Step { rows, took } = observation {
            self.lock().push((*rows, took.as_secs_f64()));
        }
    }
}
