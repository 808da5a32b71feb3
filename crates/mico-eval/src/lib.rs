//! Quality under pruning, measured.
//!
//! A [`Source`] yields items (pictures, a question, the right answer) in tracks, each with its rules.
//! [`run()`] puts them to an engine under several [`Condition`]s and keeps a [`Record`] of each answer in
//! a [`Journal`] that survives interruptions. [`Summary`] turns records into the paper's Acc and Rel
//! with intervals, and compares settings on the same items. [`Evaluation`] is all of that in one call,
//! from [`Tasks`] to result files. [`calibrate()`] chooses the refinement block. Inference knows nothing of
//! scores, and scores nothing of engines.
//!
//! ```
//! use mico_eval::{Source, Split, TinySuite};
//! let suite = TinySuite::new(Split::Benchmark, 0, 3);
//! let items = suite.items()?.count();
//! assert_eq!(items, 3 * suite.tracks().len());
//! # Ok::<(), mico_eval::Error>(())
//! ```

#![forbid(unsafe_code)]

mod acc;
mod calibrate;
mod condition;
pub mod diagnose;
mod error;
mod evaluation;
mod file_error;
mod fingerprint;
pub mod html;
mod item;
mod journal;
mod kl;
mod manifest;
mod merge;
pub mod policy;
mod predictions;
mod record;
mod run;
pub mod scorer;
mod scoring;
mod shard;
mod source;
pub mod stats;
mod summary;
mod sweep;
mod tasks;
pub mod vtc;

pub use calibrate::{Calibration, CalibrationOptions, Candidate, calibrate, refinable_blocks};
pub use condition::Condition;
pub use error::{Error, Result};
pub use evaluation::{
    Conditions, Document, Evaluation, EvaluationOptions, EvaluationResult, RESULT_FILES,
};
pub use file_error::FileError;
pub use fingerprint::{ModelIdentity, fingerprint};
pub use item::{DamagedRow, Item, Visual};
pub use journal::{Journal, RECORDS, is_cut};
pub use manifest::{MANIFEST, Manifest, RefusedSetting, SourceEntry};
pub use merge::merge;
pub use mico_scenes::Split;
pub use predictions::{JoinedPredictions, join_predictions};
pub use record::{Record, RecordKey, RunKey, StageSeconds};
pub use run::{OverlayStore, PICTURES, Progress, Run, RunOutcome, run};
pub use scorer::Scorer;
pub use scoring::{Scoring, TrackSpec, Values};
pub use shard::Shard;
pub use source::{Benchmark, BenchmarkOptions, Items, Source, TinySuite};
pub use summary::columns_of as columns;
pub use summary::{
    Column, Comparison, Estimate, GradedAnswer, Incomplete, Row, Summary, TrackComparison,
    TrackItem, TrackScore, paper_table,
};
pub use sweep::{BUILTIN_SWEEPS, Entry, Layers, Sweep};
pub use tasks::{TaskSelection, Tasks, parse_track};
