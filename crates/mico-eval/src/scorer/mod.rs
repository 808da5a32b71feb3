//! What counts as right: pure rules on what was said and what is right.

mod cell;
mod exact;

use serde::{Deserialize, Serialize};

/// A scoring rule of the generated scenes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scorer {
    /// The same words, capitals aside.
    Exact,
    /// Column and row of a grid, each off by at most one.
    Cell,
}

impl Scorer {
    /// The rule's name, as manifests store it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Cell => "cell",
        }
    }

    /// Whether an answer is right.
    ///
    /// ```
    /// use mico_eval::Scorer;
    /// assert!(Scorer::Exact.right(" Top  left", "top left"));
    /// assert!(Scorer::Cell.right("4 5", "3 6") && !Scorer::Cell.right("4", "3 6"));
    /// ```
    pub fn right(self, said: &str, gold: &str) -> bool {
        match self {
            Self::Exact => exact::right(said, gold),
            Self::Cell => cell::right(said, gold),
        }
    }
}
