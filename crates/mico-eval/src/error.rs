//! What can go wrong while measuring.

use std::path::{Path, PathBuf};

use mico_util::ErrorKind;

use crate::item::Item;

/// The result of measuring.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a measurement stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
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
    /// A journal holds records and was not to be continued.
    #[error("{} is not empty, accepted: --resume to continue, or another --out", path.display())]
    Occupied {
        /// The journal.
        path: PathBuf,
    },
    /// A journal is being written by another process.
    #[error("{} is being written by another process", path.display())]
    Busy {
        /// The journal.
        path: PathBuf,
    },
    /// Records cannot be written any more.
    #[error("a record could not be written")]
    Halted,
    /// Two records of the same key say different things.
    #[error("{track} {item}: two records of the same model, prompt and setting differ")]
    Conflict {
        /// The track.
        track: String,
        /// The item.
        item: String,
    },
    /// Results that do not belong together.
    #[error("{}: {reason}", path.display())]
    Apart {
        /// The folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// An answer could not be judged.
    #[error("{item}: {reason}")]
    Score {
        /// The track and item.
        item: String,
        /// Why.
        reason: String,
    },
    /// Benchmark files could not be read.
    #[error(transparent)]
    Data(#[from] mico_data::Error),
    /// A prompt could not be made.
    #[error("{item}: {source}")]
    Prompt {
        /// The track and item.
        item: String,
        /// Why.
        source: mico_score::PromptError,
    },
    /// A file that describes a sweep is wrong.
    #[error("{name}: {message}")]
    Sweep {
        /// The file.
        name: String,
        /// Why.
        message: String,
    },
    /// The engine could not answer an item.
    #[error("item {item}: {source}")]
    Item {
        /// The item.
        item: String,
        /// Why.
        source: Box<mico_engine::Error>,
    },
    /// A picture of a suite could not be made.
    #[error("picture {number}: {source}")]
    Picture {
        /// Its number.
        number: u64,
        /// Why.
        source: mico_vision::SizeError,
    },
    /// A setting cannot be.
    #[error(transparent)]
    Engine(#[from] Box<mico_engine::Error>),
    /// The call contradicts itself, or asks for nothing.
    #[error("{message}")]
    Invalid {
        /// What is wrong, and what would do.
        message: String,
    },
    /// No setting that prunes can be run.
    #[error("{reason}")]
    Refused {
        /// Why the first cannot.
        reason: String,
    },
    /// A source has nothing to ask.
    #[error("{origin} has no item to ask{reason}")]
    Empty {
        /// The source.
        origin: String,
        /// What is wrong with its first row, if it has one.
        reason: String,
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
}

impl From<mico_engine::Error> for Error {
    fn from(error: mico_engine::Error) -> Self {
        Self::Engine(Box::new(error))
    }
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Engine(source) | Self::Item { source, .. } => source.kind(),
            Self::Occupied { .. }
            | Self::Sweep { .. }
            | Self::Invalid { .. }
            | Self::OutOfRange { .. } => ErrorKind::Invalid,
            Self::Refused { .. } => ErrorKind::Refused,
            Self::Io { .. } | Self::Busy { .. } | Self::Halted => ErrorKind::Io,
            Self::Journal { .. }
            | Self::Conflict { .. }
            | Self::Apart { .. }
            | Self::Score { .. }
            | Self::Data(_)
            | Self::Prompt { .. }
            | Self::Empty { .. } => ErrorKind::Corrupt,
            Self::Picture { .. } => ErrorKind::Internal,
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid { message: message.into() }
    }

    pub(crate) fn item(item: &Item) -> impl Fn(mico_engine::Error) -> Self {
        let item = item.id.clone();
        move |source| Self::Item { item: item.clone(), source: Box::new(source) }
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }
}
