//! What can go wrong in a check.

use mico_util::ErrorKind;

use super::source::Check;
use crate::file_error::FileError;

/// The result of a check.
pub type Result<T> = std::result::Result<T, DiagnoseError>;

/// Why a check stopped. What is wrong with a single picture is [`super::DamagedImage`] instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiagnoseError {
    /// A file of the folder with pictures and annotations cannot be read, or a line of it cannot be understood.
    #[error(transparent)]
    File(#[from] FileError),
    /// There are fewer pictures, objects or questions than the check's statistics need.
    #[error("{check}: {found}, accepted: {accepted}")]
    TooFew {
        /// The check that cannot be run on so little.
        check: Check,
        /// What the source offers instead.
        found: String,
        /// The least that the check needs.
        accepted: String,
    },
    /// An option of the caller is outside of the values it can have.
    #[error("{what} {found}, accepted: {accepted}")]
    OutOfRange {
        /// The name of the option.
        what: &'static str,
        /// The value as the caller gave it.
        found: String,
        /// The values that the option can have.
        accepted: String,
    },
    /// The engine failed for a reason that is not a single picture's.
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
            Self::File(error) => error.kind(),
            Self::TooFew { .. } => ErrorKind::Refused,
            Self::OutOfRange { .. } => ErrorKind::Invalid,
            Self::Engine(error) => error.kind(),
        }
    }
}
