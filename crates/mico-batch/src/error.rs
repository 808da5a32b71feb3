//! Why a request is not accepted, and why an accepted one is not answered.

use std::time::Duration;

use mico_util::ErrorKind;

use crate::backend::BackendError;

/// Why a request was not accepted. Nothing was done for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The request alone needs more memory than all requests together may take, so waiting is of no use.
    #[error("the request needs {needed} bytes of memory, accepted: at most {limit}")]
    TooLarge {
        /// What it would take at its peak.
        needed: u64,
        /// [`Limits::memory_bytes`](crate::Limits::memory_bytes).
        limit: u64,
    },
    /// As many requests are waiting as may wait.
    #[error("{waiting} requests are waiting, try again in {} s", retry_after.as_secs())]
    Overloaded {
        /// Requests in the queue, all that [`Limits::queue`](crate::Limits::queue) admits.
        waiting: usize,
        /// When there is likely to be room: 1 to 60 whole seconds.
        retry_after: Duration,
    },
    /// The scheduler is shutting down.
    #[error("shutting down, no further requests are accepted")]
    Draining,
    /// The backend panicked when it was asked for the request's memory.
    #[error("internal error in {call} (please report): {message}")]
    Internal {
        /// The call that panicked.
        call: &'static str,
        /// What the panic said.
        message: String,
    },
}

impl Refusal {
    /// The category by which a front end decides how to react.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::TooLarge { .. } => ErrorKind::TooLarge,
            Self::Overloaded { .. } | Self::Draining => ErrorKind::Refused,
            Self::Internal { .. } => ErrorKind::Internal,
        }
    }

    /// A stable name for metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "too_large",
            Self::Overloaded { .. } => "overloaded",
            Self::Draining => "draining",
            Self::Internal { .. } => "internal",
        }
    }
}

/// Why a request ended without an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure<E: BackendError> {
    /// The engine reported an error.
    #[error(transparent)]
    Backend(E),
    /// The ticket was cancelled or dropped, or the consumer is gone.
    #[error("cancelled")]
    Cancelled,
    /// The time that the request was given ran out while it waited or was worked on.
    #[error("not answered within {} s", limit.as_secs_f64())]
    TimedOut {
        /// The time it was given at submission.
        limit: Duration,
    },
    /// The consumer took no event for too long.
    #[error("cancelled: the reader took nothing for {} s", patience.as_secs_f64())]
    SlowConsumer {
        /// [`Limits::patience`](crate::Limits::patience).
        patience: Duration,
    },
    /// The scheduler was shut down before the request was admitted, or, in
    /// [`run_all`](crate::run_all), the request could not be accepted.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The scheduler was shut down while the request was worked on.
    #[error("cancelled: shutting down")]
    ShutDown,
    /// A call of the backend panicked or broke its contract.
    #[error("internal error in {call} (please report): {message}")]
    Internal {
        /// The call at fault.
        call: &'static str,
        /// What the panic said, or what the contract asks for.
        message: String,
    },
}

impl<E: BackendError> Failure<E> {
    /// The category by which a front end decides how to react.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Backend(error) => error.kind(),
            Self::Cancelled
            | Self::TimedOut { .. }
            | Self::SlowConsumer { .. }
            | Self::ShutDown => ErrorKind::Cancelled,
            Self::Refused(refusal) => refusal.kind(),
            Self::Internal { .. } => ErrorKind::Internal,
        }
    }
}
