//! What can be wrong with a dataset, and with one row of it.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use mico_score::Track;

use crate::Layout;

/// The longest piece of foreign text quoted in a message, in characters.
const EXCERPT: usize = 80;

/// A dataset or prediction file that cannot be used at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refuses.
    #[error("{}: cannot be read: {reason}", shown(path))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// None of the names a track goes by is there.
    #[error("no data for {track} under {}: looked for {looked_for}", shown(root))]
    NotFound {
        /// The track asked for.
        track: Track,
        /// Where it was looked for.
        root: PathBuf,
        /// Every name tried.
        looked_for: String,
    },
    /// The track is not published that way.
    #[error("{track} is not published as {layout}: accepted for it: {accepted}")]
    NoSuchLayout {
        /// The track asked for.
        track: Track,
        /// The layout asked for.
        layout: Layout,
        /// Layouts that exist for it.
        accepted: String,
    },
    /// A column the track cannot do without.
    #[error("{}: no column '{name}', found: {found}", shown(path))]
    Column {
        /// The file.
        path: PathBuf,
        /// The column wanted.
        name: String,
        /// The columns there.
        found: String,
    },
    /// The content is not what the name promises.
    #[error("{}: {reason}", shown(path))]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A kind of file whose decoder was left out of this build.
    #[error("{}: this build reads no {feature} files (cargo feature `{feature}`)", shown(path))]
    NotBuilt {
        /// The file.
        path: PathBuf,
        /// The feature that would read it.
        feature: &'static str,
    },
    /// Two predictions for one item.
    #[error("{}: two predictions for item '{id}'", shown(path))]
    Duplicate {
        /// The file.
        path: PathBuf,
        /// The item.
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

/// A row that gives no sample: where it is and why. The rows after it still come, unless the reason says
/// that the file ends there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged {
    /// The file.
    pub file: PathBuf,
    /// The row, counted from 1, the header not counted; 0 when the file as a whole is meant.
    pub row: u64,
    /// The row's own name, where it could be read.
    pub index: Option<String>,
    /// How many rows are lost with it, itself included: more than one where a column cannot be read on.
    pub lost: u64,
    /// What is wrong.
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

/// A path on one line, whatever its name holds.
pub(crate) fn shown(path: &Path) -> String {
    one_line(&path.to_string_lossy(), 1000)
}

/// The beginning of a foreign text, on one line.
pub(crate) fn excerpt(text: &str) -> String {
    one_line(text, EXCERPT)
}

fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    for (number, character) in text.chars().enumerate() {
        if number == limit {
            line.push('…');
            break;
        }
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
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
