//! The score a rule gives to one answer; every judge in the crate returns it.

use serde::{Deserialize, Serialize};

/// The score of one answer and what the rule extracted from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// The score, from 0 (wrong) to 1 (right); rules such as ANLS give values in between.
    pub score: f64,
    /// What the rule extracted from the answer; `None` if it could not be parsed. Such an answer is
    /// wrong and stays in the denominator.
    pub reading: Option<String>,
}
