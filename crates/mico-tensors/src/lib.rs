//! A reader for safetensors files that does not trust their contents.
//!
//! A [`Header`] is read and checked once: its length is limited, no name occurs twice, and every
//! tensor has the number of bytes that its shape requires, lies inside the file and overlaps no
//! other. After that, tensors are read one at a time with ordinary reads: a file that shrinks
//! meanwhile causes an error, where a memory map would cause a fatal signal, and no `unsafe` is
//! needed. [`TensorFile`] converts tensors to `f32` or `i64` under a limit on memory;
//! [`ShardIndex`] tells which of several files holds which tensor.
//!
//! The `safetensors` crate provides the format's element types. Its header reader is not used
//! because it needs the whole file in memory, takes the last of two entries with one name, and
//! names no tensor in its errors.
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

/// The file name of a checkpoint that is stored in one file.
pub const SINGLE_FILE: &str = "model.safetensors";
/// The file name of the index of a checkpoint that is split into shards.
pub const INDEX_FILE: &str = "model.safetensors.index.json";
