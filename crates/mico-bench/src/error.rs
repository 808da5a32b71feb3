//! What can go wrong in a benchmark.

use std::path::{Path, PathBuf};

use mico_util::ErrorKind;

/// The result of measuring.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a benchmark stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine failed, or knows nothing of what a condition asks for.
    #[error(transparent)]
    Engine(#[from] Box<mico_engine::Error>),
    /// Every pruned condition was refused.
    #[error("{condition}: {message}{}", more(*others))]
    AllRefused {
        /// The first of them.
        condition: String,
        /// Why.
        message: String,
        /// How many others there are.
        others: usize,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line of a journal is no record.
    #[error("{} line {line}: no record ({message})", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why.
        message: String,
    },
    /// A journal holds runs and was not to be continued.
    #[error("{} is not empty, accepted: --resume to continue, or another --out", path.display())]
    Occupied {
        /// The journal.
        path: PathBuf,
    },
    /// A journal holds runs that were measured differently.
    #[error("{} holds runs with {differences}, accepted: --resume with the same, or another --out", path.display())]
    Differs {
        /// The journal.
        path: PathBuf,
        /// What differs, with the values before and now.
        differences: String,
    },
    /// A file of qualities is not what an evaluation writes.
    #[error("{}: {message}", path.display())]
    Quality {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// Frames were asked for from a model that takes images.
    #[error("--frames {frames}, but the family {family} takes images")]
    Frames {
        /// How many.
        frames: usize,
        /// The model's family.
        family: &'static str,
    },
    /// The picture of noise could not be made.
    #[error(transparent)]
    Size(#[from] mico_vision::SizeError),
    /// The caller stopped the benchmark.
    #[error("stopped by the caller")]
    Cancelled,
    /// A breach of this program's own contracts.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Engine(error) => error.kind(),
            Self::AllRefused { .. } => ErrorKind::Refused,
            Self::Io { .. } => ErrorKind::Io,
            Self::Journal { .. } | Self::Quality { .. } => ErrorKind::Corrupt,
            Self::Occupied { .. } | Self::Differs { .. } | Self::Frames { .. } | Self::Size(_) => {
                ErrorKind::Invalid
            }
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Internal(_) => ErrorKind::Internal,
        }
    }

    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path: path.clone(), source }
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

fn more(others: usize) -> String {
    if others == 0 { String::new() } else { format!(" (and {others} more were refused)") }
}
