//! Every way a tensor file can be bad.

/// The result of reading a tensor file.
pub type Result<T> = std::result::Result<T, Error>;

/// What is wrong with a file. The file's name is the caller's to add.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading failed.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// Too short, or a header that cannot be one.
    #[error("{0}")]
    Header(String),
    /// A tensor's entry contradicts itself or another one, or is not what was asked for.
    #[error("tensor `{name}` {reason}")]
    Tensor {
        /// The tensor.
        name: String,
        /// What was found and what is accepted.
        reason: String,
    },
    /// A tensor's bytes lie beyond the end of the file.
    #[error("truncated: tensor `{name}` spans data bytes {begin} to {end}, there are {found}")]
    Truncated {
        /// The tensor.
        name: String,
        /// Where its bytes begin, counted from the end of the header.
        begin: u64,
        /// Where they end.
        end: u64,
        /// Bytes after the header.
        found: u64,
    },
    /// Bytes that belong to no tensor, where every byte must.
    #[error("{found} bytes of data, the header describes fewer: {described}")]
    Unused {
        /// Bytes after the header.
        found: u64,
        /// Bytes of all tensors together.
        described: u64,
    },
    /// A tensor would not fit into the memory allowed.
    #[error("tensor `{name}` needs {needed} bytes, more than the memory limit of {limit} bytes")]
    Memory {
        /// The tensor.
        name: String,
        /// Bytes it takes once converted.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// An index of shards that cannot be one.
    #[error("{0}")]
    Index(String),
}

impl Error {
    pub(crate) fn tensor(name: &str, reason: impl Into<String>) -> Self {
        Self::Tensor { name: one_line(name), reason: reason.into() }
    }
}

/// At most a line of a text that came from outside.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().take(120).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
