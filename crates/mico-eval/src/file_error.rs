//! What can go wrong with the files that measurements are kept in, the same for every kind of measurement.

use std::path::{Path, PathBuf};

use mico_util::ErrorKind;
use mico_util::text::brief;

/// Why a journal, or another file of a measurement, cannot be read, written or continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system refused to read or write the file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder that was to be read or written.
        path: PathBuf,
        /// The reason that the operating system gave.
        source: std::io::Error,
    },
    /// A line does not hold what the file's format asks for.
    #[error("{} line {line}: {}", path.display(), brief(message))]
    Line {
        /// The file that the line stands in.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is wrong with the line.
        message: String,
    },
    /// A journal already holds records and the caller did not ask to resume from them.
    #[error("{} is not empty, accepted: --resume to continue, or another --out", path.display())]
    Occupied {
        /// The journal that is left as it was.
        path: PathBuf,
    },
    /// Another process holds the lock of a journal, so that writing would mix the records of both.
    #[error("{} is being written by another process", path.display())]
    Busy {
        /// The journal that the other process writes.
        path: PathBuf,
    },
}

impl FileError {
    /// Whose fault it is: the file system's, the file's, or the caller's.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { .. } | Self::Busy { .. } => ErrorKind::Io,
            Self::Line { .. } => ErrorKind::Corrupt,
            Self::Occupied { .. } => ErrorKind::Invalid,
        }
    }

    /// Names the file in an error of the operating system.
    pub fn io(path: &Path) -> impl Fn(std::io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path: path.clone(), source }
    }

    /// A line of a journal that could not be read as a record.
    pub fn no_record(path: &Path, line: usize, reason: impl std::fmt::Display) -> Self {
        Self::Line { path: path.to_path_buf(), line, message: format!("no record ({reason})") }
    }
}
