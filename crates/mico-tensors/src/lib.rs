//! Safetensors files read without trusting them.
//!
//! A [`Header`] is read and checked once: its length is bounded, no name stands twice, every tensor has the
//! bytes its shape asks for, lies inside the file and shares them with no other. After that tensors are read
//! one at a time, with plain reads: a file that shrinks meanwhile is an error, where a memory map would be a
//! fatal signal, and no `unsafe` is needed. [`TensorFile`] converts tensors to the numbers callers work with,
//! under a limit on memory; [`ShardIndex`] says which of several files holds which tensor.
//!
//! The `safetensors` crate serves for the format's element types. Its own header reader wants the whole file
//! in memory, takes the last of two entries of one name, and its errors name no tensor.
//!
//! ```
//! use std::io::Cursor;
//! let header = br#"{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
//! let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
//! bytes.extend(header);
//! bytes.extend(1.5_f32.to_le_bytes());
//! let mut file = mico_tensors::TensorFile::open(Cursor::new(bytes))?;
//! assert_eq!(file.floats("x", 1000)?, (vec![1.5], vec![1]));
//! # Ok::<(), mico_tensors::Error>(())
//! ```

#![forbid(unsafe_code)]

mod error;
mod file;
mod header;
mod index;

pub use error::{Error, Result};
pub use file::TensorFile;
pub use header::{Header, TensorInfo};
pub use index::ShardIndex;
pub use safetensors::Dtype;

/// The name of the only weight file of a small checkpoint.
pub const SINGLE_FILE: &str = "model.safetensors";
/// The name of the file that lists the shards of a large checkpoint.
pub const INDEX_FILE: &str = "model.safetensors.index.json";
