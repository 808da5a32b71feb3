//! What can go wrong in a benchmark.

use std::path::PathBuf;

use mico_batch::{Failure, Refusal};
use mico_eval::FileError;
use mico_util::ErrorKind;
use mico_util::text::brief;

/// The result of measuring.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a benchmark stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine failed, or knows nothing of what a condition asks for.
    #[error(transparent)]
    Engine(#[from] Box<mico_engine::Error>),
    /// The engine refused every condition that prunes, so that there is nothing to compare.
    #[error("{condition}: {message}{}", more(*others))]
    AllRefused {
        /// The label of the first refused condition.
        condition: String,
        /// The engine's reason to refuse that condition.
        message: String,
        /// The number of further conditions that were refused.
        others: usize,
    },
    /// The journal, or the file of qualities, cannot be read, written or continued.
    #[error(transparent)]
    File(#[from] FileError),
    /// A journal to be resumed holds runs of another machine, model or configuration, whose times cannot
    /// be put beside new ones.
    #[error("{} holds runs with {differences}, accepted: --resume with the same, or another --out", path.display())]
    Differs {
        /// The journal that was to be resumed.
        path: PathBuf,
        /// What differs, with the values before and now.
        differences: String,
    },
    /// A file of qualities is not a summary as `mico eval` writes it.
    #[error("{}: {}", path.display(), brief(message))]
    Quality {
        /// The file that was to be read.
        path: PathBuf,
        /// What the file lacks to be such a summary.
        message: String,
    },
    /// Frames were asked for from a model that takes images.
    #[error("--frames {frames}, but the family {family} takes images")]
    Frames {
        /// The number of frames that was asked for.
        frames: usize,
        /// The name of the model's family.
        family: &'static str,
    },
    /// An image of noise cannot have the size that was asked for.
    #[error(transparent)]
    Size(#[from] mico_vision::SizeError),
    /// More clients or requests were asked for than there may be, or none.
    #[error("concurrency: {given} {what}, accepted: 1 to {most}")]
    Concurrency {
        /// `clients` or `requests`.
        what: &'static str,
        /// The number that was asked for.
        given: usize,
        /// The largest that is accepted.
        most: usize,
    },
    /// The scheduler did not answer a client's request.
    #[error("{message}")]
    Scheduler {
        /// The scheduler's reason.
        message: String,
        /// Whose fault the scheduler says it is.
        kind: ErrorKind,
    },
    /// The caller's observer broke off the benchmark; finished runs are in the journal.
    #[error("stopped by the caller")]
    Cancelled,
    /// The program broke one of its own contracts: a defect here, not in what the caller gave.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Engine(error) => error.kind(),
            Self::AllRefused { .. } => ErrorKind::Refused,
            Self::File(error) => error.kind(),
            Self::Quality { .. } => ErrorKind::Corrupt,
            Self::Differs { .. }
            | Self::Frames { .. }
            | Self::Size(_)
            | Self::Concurrency { .. } => ErrorKind::Invalid,
            Self::Scheduler { kind, .. } => *kind,
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Internal(_) => ErrorKind::Internal,
        }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::Internal(message.into())
    }
}

impl From<mico_engine::Error> for Error {
    fn from(error: mico_engine::Error) -> Self {
        Self::Engine(Box::new(error))
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Scheduler { message: refusal.to_string(), kind: refusal.kind() }
    }
}

impl From<Failure<mico_engine::Error>> for Error {
    fn from(failure: Failure<mico_engine::Error>) -> Self {
        match failure {
            Failure::Backend(error) => error.into(),
            other => Self::Scheduler { message: other.to_string(), kind: other.kind() },
        }
    }
}

fn more(others: usize) -> String {
    if others == 0 { String::new() } else { format!(" (and {others} more were refused)") }
}
