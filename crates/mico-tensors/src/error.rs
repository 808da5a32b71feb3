//! The errors of reading a tensor file or a shard index.

use mico_util::text::quoted;

/// The result of reading a tensor file.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a file could not be read. The file's name is not included; the caller adds it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system reported an error while reading.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// The file is too short, or its header is malformed.
    #[error("{0}")]
    Header(String),
    /// A tensor's entry is inconsistent, overlaps another one, or is not of the requested kind.
    #[error("tensor `{name}` {reason}")]
    Tensor {
        /// The name of the tensor.
        name: String,
        /// What was found and what is accepted, as text for a message.
        reason: String,
    },
    /// A tensor's bytes lie beyond the end of the file, which is probably truncated.
    #[error("truncated: tensor `{name}` spans data bytes {begin} to {end}, there are {found}")]
    Truncated {
        /// The name of the tensor.
        name: String,
        /// The offset of its first byte, counted from the end of the header.
        begin: u64,
        /// The offset just after its last byte, counted from the end of the header.
        end: u64,
        /// The number of bytes after the header.
        found: u64,
    },
    /// The file has bytes that belong to no tensor although it must have none.
    #[error("{found} bytes of data, the header describes fewer: {described}")]
    Unused {
        /// The number of bytes after the header.
        found: u64,
        /// The number of bytes of all tensors together.
        described: u64,
    },
    /// A tensor would exceed the caller's memory limit.
    #[error("tensor `{name}` needs {needed} bytes, more than the memory limit of {limit} bytes")]
    Memory {
        /// The name of the tensor.
        name: String,
        /// The number of bytes that it takes after conversion.
        needed: u64,
        /// The number of bytes that the caller allows.
        limit: u64,
    },
    /// A shard index is malformed.
    #[error("{0}")]
    Index(String),
}

impl Error {
    pub(crate) fn tensor(name: &str, reason: impl Into<String>) -> Self {
        Self::Tensor { name: quoted(name), reason: reason.into() }
    }
}
