//! What can go wrong in a check.

use std::path::PathBuf;

use mico_util::ErrorKind;

use super::source::Check;

/// The result of a check.
pub type Result<T> = std::result::Result<T, DiagnoseError>;

/// Why a check stopped. What is wrong with a single picture is [`super::Damaged`] instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiagnoseError {
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line of a file is not what it should be.
    #[error("{} line {line}: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// There is too little to go on.
    #[error("{check}: {found}, accepted: {accepted}")]
    TooFew {
        /// The check.
        check: Check,
        /// What there is.
        found: String,
        /// What would do.
        accepted: String,
    },
    /// A value is not among those accepted.
    #[error("{what} {found}, accepted: {accepted}")]
    OutOfRange {
        /// What was given.
        what: &'static str,
        /// The value.
        found: String,
        /// What would do.
        accepted: String,
    },
    /// The engine refused.
    #[error(transparent)]
    Engine(Box<mico_engine::Error>),
}

impl From<mico_engine::Error> for DiagnoseError {
    fn from(error: mico_engine::Error) -> Self {
        Self::Engine(Box::new(error))
    }
}

impl DiagnoseError {
    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { .. } => ErrorKind::Io,
            Self::Line { .. } => ErrorKind::Corrupt,
            Self::TooFew { .. } => ErrorKind::Refused,
            Self::OutOfRange { .. } => ErrorKind::Invalid,
            Self::Engine(error) => error.kind(),
        }
    }
}
