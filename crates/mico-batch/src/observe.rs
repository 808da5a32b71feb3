//! Counts and times for metrics, taken where the work is done. Open this to add one.

use std::time::Duration;

use crate::backend::{Backend, Finish};
use crate::error::{Failure, Refusal};

/// Is told of every number as it arises, for histograms and logs. Called on the scheduler's thread
/// (refusals: on the submitter's), so it must not block.
pub trait Observer: Send + Sync {
    /// Takes one observation.
    fn record(&self, observation: &Observation<'_>);
}

/// For callers that want no observations.
impl Observer for () {
    fn record(&self, _: &Observation<'_>) {}
}

/// One thing that was counted or timed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Observation<'a> {
    /// A request was not accepted.
    Refused(&'a Refusal),
    /// A request left the queue after this time.
    Admitted {
        /// From submission to admission.
        queued: Duration,
    },
    /// A slice of a prompt took this time.
    Slice {
        /// Inside [`Backend::advance`](crate::Backend::advance).
        took: Duration,
    },
    /// A decode step took this time.
    Step {
        /// Sequences that took part.
        rows: usize,
        /// Inside [`Backend::step`](crate::Backend::step).
        took: Duration,
    },
    /// An answer's first token was made.
    FirstToken {
        /// From submission to the token.
        after: Duration,
    },
    /// A further token of an answer was made.
    NextToken {
        /// From the token before it, whatever the scheduler did in between.
        gap: Duration,
    },
    /// A request ended.
    Ended {
        /// How it ended.
        reason: EndReason,
        /// From submission to the end.
        total: Duration,
    },
    /// A call of the backend or of a sink panicked.
    Panicked {
        /// The call.
        call: &'static str,
        /// What the panic said.
        message: &'a str,
    },
}

/// How a request ended, as metrics count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EndReason {
    /// Answered, by an end token or a stop string.
    Stop,
    /// Answered, up to the limit on new tokens.
    Length,
    /// Cancelled by its client, or because the client is gone or too slow.
    Cancelled,
    /// Out of time.
    TimedOut,
    /// Never admitted, or cancelled, because the scheduler was shut down.
    ShutDown,
    /// Failed in the engine.
    Error,
}

impl EndReason {
    /// Every reason, in the order of declaration.
    pub const ALL: [Self; 6] =
        [Self::Stop, Self::Length, Self::Cancelled, Self::TimedOut, Self::ShutDown, Self::Error];

    /// A stable name for metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timeout",
            Self::ShutDown => "shutdown",
            Self::Error => "error",
        }
    }

    pub(crate) fn of<B: Backend>(
        result: &Result<B::Outcome, Failure<B::Error>>,
        finish: Option<Finish>,
    ) -> Self {
        match result {
            Ok(_) if finish == Some(Finish::Length) => Self::Length,
            Ok(_) => Self::Stop,
            Err(Failure::Cancelled | Failure::SlowConsumer { .. }) => Self::Cancelled,
            Err(Failure::TimedOut { .. }) => Self::TimedOut,
            Err(Failure::Refused(_) | Failure::ShutDown) => Self::ShutDown,
            Err(Failure::Backend(_) | Failure::Internal { .. }) => Self::Error,
        }
    }
}

/// The state of a scheduler at one moment, and its counts since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Snapshot {
    /// Requests in the queue.
    pub waiting: usize,
    /// Requests admitted and not ended: prompts, running answers, and those that wait for their consumer.
    pub running: usize,
    /// Running requests whose consumer has no room.
    pub parked: usize,
    /// Bytes that the running requests keep until their end, as admission counted them.
    pub kept_bytes: u64,
    /// Bytes that the prompt in work takes beside those, as admission counted them.
    pub working_bytes: u64,
    /// Requests accepted.
    pub accepted: u64,
    /// Requests refused at submission.
    pub refused: u64,
    /// Slices of prompts worked off.
    pub slices: u64,
    /// Decode steps made.
    pub steps: u64,
    /// Rows of all decode steps: over `steps`, how many answers a step served.
    pub rows: u64,
    /// Tokens made.
    pub tokens: u64,
    /// Panics caught.
    pub panics: u64,
    /// How long ago the last call of the backend came back; zero if there is nothing to do. A number that
    /// grows far beyond a slice says that the backend hangs.
    pub stalled: Duration,
    /// Whether no further requests are accepted.
    pub draining: bool,
    pub(crate) ended: [u64; EndReason::ALL.len()],
}

impl Snapshot {
    /// Requests that ended in this way.
    pub fn ended(&self, reason: EndReason) -> u64 {
        self.ended[reason as usize]
    }
}

/// The mean time that a request is worked on and the mean number worked on at once, for the time after
/// which to try again. Both follow the last dozens of requests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServiceRate {
    seconds: f64,
    running: f64,
    count: u64,
}

impl ServiceRate {
    pub(crate) fn record(&mut self, service: Duration, running: usize) {
        self.count += 1;
        let weight = 1.0 / self.count.min(32) as f64;
        self.seconds += weight * (service.as_secs_f64() - self.seconds);
        self.running += weight * (running.max(1) as f64 - self.running);
    }

    /// `waiting` requests take turns on as many places as are usually taken, each for the mean service
    /// time; rounded up to whole seconds between 1 and 60.
    pub(crate) fn retry_after(&self, waiting: usize) -> Duration {
        let seconds = (waiting as f64 * self.seconds / self.running.max(1.0)).ceil();
        Duration::from_secs_f64(seconds.clamp(1.0, 60.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_try_again_is_the_queues_over_the_throughput() {
        let mut rate = ServiceRate::default();
        assert_eq!(rate.retry_after(256), Duration::from_secs(1));
        // Two seconds each, four at once: two requests a second.
        for _ in 0..100 {
            rate.record(Duration::from_secs(2), 4);
        }
        assert_eq!(rate.retry_after(7), Duration::from_secs(4));
        assert_eq!(rate.retry_after(0), Duration::from_secs(1));
        assert_eq!(rate.retry_after(10_000), Duration::from_mins(1));
    }

    #[test]
    fn reasons_are_numbered_as_they_are_listed() {
        for (index, reason) in EndReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, index);
        }
    }
}
