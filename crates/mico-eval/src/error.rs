//! What can go wrong while measuring.

use std::path::PathBuf;

use mico_util::ErrorKind;
use mico_util::text::{brief, quoted};

use crate::file_error::FileError;
use crate::item::Item;

/// The result of measuring.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a measurement stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A journal, manifest or result file cannot be read, written or continued.
    #[error(transparent)]
    File(#[from] FileError),
    /// A record could not be written before, so that no further one may follow it in the journal. The
    /// thread that met the failure has reported its cause.
    #[error("a record could not be written")]
    Halted,
    /// Two records have the same key and different answers, so that one of them cannot be right.
    #[error(
        "{} {}: two records of the same model, prompt and setting differ",
        quoted(track),
        quoted(item)
    )]
    Conflict {
        /// The name of the track that the item belongs to.
        track: String,
        /// The id of the item that was answered twice.
        item: String,
    },
    /// A folder of results or sample logs is incomplete, or is not of the same run as the others.
    #[error("{}: {reason}", path.display())]
    Incompatible {
        /// The folder or file that cannot be used.
        path: PathBuf,
        /// What it lacks, or in what it differs from the others.
        reason: String,
    },
    /// A run came to its end and has lost records since, so that its tables would be of something else.
    #[error("{reason}")]
    MissingRecords {
        /// The first setting that lacks some, how many, and which is the first.
        reason: String,
    },
    /// An item cannot be scored: its fields lack what the rule reads, or a calibration cannot ask its
    /// first item at all.
    #[error("{item}: {reason}")]
    Score {
        /// The names of track and item.
        item: String,
        /// What stands in the way of a score.
        reason: String,
    },
    /// A benchmark's files are missing, or are not in a layout that can be read.
    #[error(transparent)]
    Data(#[from] mico_data::Error),
    /// An item lacks a field that its benchmark's prompt is made of.
    #[error("{item}: {source}")]
    Prompt {
        /// The names of track and item.
        item: String,
        /// The field that is missing or wrong.
        source: mico_score::PromptError,
    },
    /// A sweep file cannot be read, or describes no sweep.
    #[error("{name}: {}", brief(message))]
    Sweep {
        /// The file's path, or the name of a built-in sweep.
        name: String,
        /// The line and what is wrong there.
        message: String,
    },
    /// The engine failed on an item for a reason that is not the item's own, so that the run stops.
    #[error("item {item}: {source}")]
    Item {
        /// The id of the item that was being asked.
        item: String,
        /// The engine's own error.
        source: Box<mico_engine::Error>,
    },
    /// The pixels of a generated scene do not fill its size, a defect of the generator.
    #[error("picture {number}: {source}")]
    Picture {
        /// The scene's number within its split.
        number: u64,
        /// In what size and pixels differ.
        source: mico_vision::SizeError,
    },
    /// The engine failed apart from any single item, such as on a setting that it does not accept.
    #[error(transparent)]
    Engine(#[from] Box<mico_engine::Error>),
    /// The call contradicts itself, or asks for nothing.
    #[error("{message}")]
    Invalid {
        /// What is wrong, and what would be accepted.
        message: String,
    },
    /// The engine refuses every setting that prunes, so that there is nothing to compare.
    #[error("{reason}")]
    Refused {
        /// Why the first of those settings is refused.
        reason: String,
    },
    /// A source yields no item that can be asked.
    #[error("{origin} has no item to ask{reason}")]
    Empty {
        /// The name of the source.
        origin: String,
        /// What is wrong with its first row, if it has one.
        reason: String,
    },
    /// An option of the caller is outside of the values it can have.
    #[error("{what} {}, accepted: {accepted}", quoted(found))]
    OutOfRange {
        /// The name of the option.
        what: &'static str,
        /// The value as the caller gave it.
        found: String,
        /// The values that the option can have.
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
            Self::File(error) => error.kind(),
            Self::Sweep { .. } | Self::Invalid { .. } | Self::OutOfRange { .. } => {
                ErrorKind::Invalid
            }
            Self::Refused { .. } => ErrorKind::Refused,
            Self::Halted => ErrorKind::Io,
            Self::Conflict { .. }
            | Self::Incompatible { .. }
            | Self::MissingRecords { .. }
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
}
