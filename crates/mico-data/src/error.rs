//! Errors of whole datasets and of single rows.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use mico_score::Track;
use mico_util::text::{escaped, quoted};

use crate::Layout;

/// An error that makes a dataset or prediction file unusable as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be opened or read.
    #[error("{}: cannot be read: {reason}", shown(path))]
    Io {
        /// The file or folder that could not be read.
        path: PathBuf,
        /// The message of the operating system.
        reason: String,
    },
    /// No file or folder of any accepted name exists for the track.
    #[error("no data for {track} under {}: looked for {looked_for}", shown(root))]
    NotFound {
        /// The track that was requested.
        track: Track,
        /// The folder that was searched.
        root: PathBuf,
        /// The names that were searched for, separated by commas.
        looked_for: String,
    },
    /// The track is not published in the requested layout.
    #[error("{track} is not published as {layout}: accepted for it: {accepted}")]
    NoSuchLayout {
        /// The track that was requested.
        track: Track,
        /// The layout that was requested.
        layout: Layout,
        /// The layouts in which the track is published.
        accepted: String,
    },
    /// A required column is missing.
    #[error("{}: no column '{}', found: {found}", shown(path), quoted(name))]
    Column {
        /// The table that lacks the column.
        path: PathBuf,
        /// The name of the missing column.
        name: String,
        /// The columns that the table has, shortened to one line.
        found: String,
    },
    /// The content does not have the format that the file's name implies.
    #[error("{}: {reason}", shown(path))]
    Format {
        /// The file whose content is malformed.
        path: PathBuf,
        /// What is wrong with the file, as text for a message.
        reason: String,
    },
    /// The file type's decoder was left out of this build.
    #[error("{}: this build reads no {feature} files (cargo feature `{feature}`)", shown(path))]
    NotBuilt {
        /// The file that cannot be read by this build.
        path: PathBuf,
        /// The cargo feature that enables the decoder.
        feature: &'static str,
    },
    /// The prediction file has two predictions for one item.
    #[error("{}: two predictions for item '{id}'", shown(path))]
    Duplicate {
        /// The prediction file that holds both.
        path: PathBuf,
        /// The id of the item that occurs twice.
        id: String,
    },
}

impl Error {
    pub(crate) fn io(path: &Path, error: &std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), reason: excerpt(&error.to_string()) }
    }

    pub(crate) fn format(path: &Path, reason: impl Display) -> Self {
        Self::Format { path: path.to_owned(), reason: one_line(&reason.to_string(), 300) }
    }
}

/// A row that yields no sample, with its location and the reason. Reading continues with the next
/// row, unless the reason says that the rest of the file is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged {
    /// The file that holds the row.
    pub file: PathBuf,
    /// The row number from 1, not counting the header; 0 if the error concerns the whole file.
    pub row: u64,
    /// The row's own id, if it could be read.
    pub index: Option<String>,
    /// The number of rows lost, including this one; more than 1 if a column cannot be read any further.
    pub lost: u64,
    /// What is wrong with the row, as text for a message.
    pub reason: String,
}

impl Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: row {}", shown(&self.file), self.row)?;
        if let Some(index) = &self.index {
            write!(f, " (index {})", excerpt(index))?;
        }
        write!(f, ": {}", one_line(&self.reason, 300))
    }
}

impl std::error::Error for Damaged {}

/// A path for messages, on one line even if its name has control characters.
pub(crate) fn shown(path: &Path) -> String {
    one_line(&path.to_string_lossy(), 1000)
}

/// The start of a text from a file, on one line.
pub(crate) fn excerpt(text: &str) -> String {
    quoted(text)
}

fn one_line(text: &str, limit: usize) -> String {
    let line = escaped(text);
    match line.char_indices().nth(limit) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_stays_on_one_line_and_short() {
        let damaged = Damaged {
            file: "a\nb.tsv".into(),
            row: 3,
            index: Some("x".repeat(200)),
            lost: 1,
            reason: "bad\tcell".into(),
        };
        let text = damaged.to_string();
        assert!(text.starts_with("a\\nb.tsv: row 3 (index xxx"), "{text}");
        assert!(text.ends_with("…): bad\\tcell"), "{text}");
    }
}
