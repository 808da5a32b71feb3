//! Prompts and scoring rules of the paper's benchmarks, as the public toolkits (LLaVA's scripts,
//! VLMEvalKit and lmms-eval) define them.
//!
//! Everything here is a pure function of texts and numbers: the crate reads no files and runs no model.

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

/// The named values of one item (question, options, gold answer, ...), under the same names for
/// every dataset.
pub type Fields = serde_json::Map<String, serde_json::Value>;
