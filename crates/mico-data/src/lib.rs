//! Benchmark files as people have them on disk, read as a stream.
//!
//! Rows come one at a time; what is in memory at once does not grow with the file. A damaged row is an
//! error that names file and row, and the rows after it still come.

#![forbid(unsafe_code)]

mod sample;

pub use sample::{Sample, Visual};

mod stub;
pub use stub::*;
