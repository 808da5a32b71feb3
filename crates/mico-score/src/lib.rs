//! What the paper's benchmarks ask and what counts as right.
//!
//! Pure: texts and numbers in, texts and numbers out. It reads no files and knows no model.

#![forbid(unsafe_code)]

mod aggregate;
mod grade;
mod judge;
mod metric;
mod prompt;
pub mod raw;
pub mod rules;
mod segment;
pub mod table;
pub mod text;
mod track;

pub use aggregate::{Acc, Suite};
pub use grade::Grade;
pub use judge::{Boxes, Judge, JudgeError, Predictions, Reader, RuleError, Rules};
pub use metric::{Marked, Metric, Prepared};
pub use prompt::{GroundingPrompt, PromptError, max_new_tokens, segments};
pub use segment::Segment;
pub use track::{Profile, Track, UnknownTrack};

/// An item's named values in their canonical names, as every reader delivers and every rule reads them.
pub type Fields = serde_json::Map<String, serde_json::Value>;
