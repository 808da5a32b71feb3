//! What a rule says of one answer.

use serde::{Deserialize, Serialize};

/// One answer, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// From 0 (wrong) to 1 (right).
    pub score: f64,
    /// What the rule read out of the answer; `None` if it found nothing it could read. Such an answer
    /// is wrong and stays in the denominator.
    pub reading: Option<String>,
}
