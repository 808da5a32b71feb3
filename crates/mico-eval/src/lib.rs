//! Quality under pruning, measured.
//!
//! A [`Suite`] has items (a picture, a question, the right answer) in tracks, each with its
//! [`Scorer`]. [`run()`] puts them to an engine under several [`Setting`]s and keeps a [`Record`] of
//! each answer in a [`Journal`] that survives interruptions. [`Summary`] turns records into the paper's
//! Acc and Rel with intervals, and compares settings on the same items. [`calibrate()`] chooses the
//! refinement block. Inference knows nothing of scores, and scores nothing of engines.
//!
//! ```
//! use mico_eval::{Split, Suite, TinySuite};
//! let suite = TinySuite::new(Split::Benchmark, 0, 3);
//! assert_eq!(suite.items().len(), 3 * suite.tracks().len());
//! println!("{}", suite.items()[0].question);
//! ```

#![forbid(unsafe_code)]

pub mod aggregate;
mod calibrate;
pub mod diagnose;
pub mod drawing;
mod error;
mod fingerprint;
mod journal;
mod kl;
pub mod plot;
mod record;
mod report;
mod run;
pub mod scatter;
pub mod scorer;
mod setting;
pub mod stats;
mod task;
mod tiny;

pub use calibrate::{Calibration, CalibrationOptions, Candidate, calibrate};
pub use error::{Error, Result};
pub use fingerprint::fingerprint;
pub use journal::Journal;
pub use mico_scenes::Split;
pub use record::{Keys, Record, RecordKey};
pub use report::{Comparison, Estimate, Row, Summary, TrackScore};
pub use run::{Progress, Run, run};
pub use scorer::Scorer;
pub use setting::Setting;
pub use task::{Item, Suite, Track};
pub use tiny::TinySuite;
