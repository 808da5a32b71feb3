//! Benchmark files as people have them on disk, read as a stream.
//!
//! Rows come one at a time; what is in memory at once does not grow with the file. A damaged row is an
//! error that names file and row, and the rows after it still come.

#![forbid(unsafe_code)]

mod coco;
mod dataset;
mod error;
mod fields;
mod ids;
mod json;
pub mod literal;
mod llava;
mod missing;
mod names;
mod predictions;
mod sample;
mod samples;
mod shards;
mod tsv;

pub use dataset::{Dataset, Layout, open, open_as};
pub use error::{Damaged, Error};
pub use predictions::{Form, Prediction, Predictions, predictions};
pub use sample::{Sample, Visual};
pub use samples::Samples;
