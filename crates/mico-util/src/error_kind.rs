//! Whose fault an error is.

use std::fmt;

/// What kind of thing went wrong, whatever the crate it went wrong in.
///
/// Every error type of the workspace has a `kind()`. A front end decides by the kind alone what to do
/// about an error: the command line which exit status to return, a server which HTTP status. The list
/// is closed on purpose, so that each front end has to say something about every kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The call itself is wrong: an unknown name, a value out of range, parts that contradict each
    /// other. The same call can never succeed.
    Invalid,
    /// The call is well formed, but this model, method or budget gives no ground for it.
    Refused,
    /// Something that exists elsewhere and that this build, family or format does not have.
    Unsupported,
    /// Longer, larger or more than a stated limit.
    TooLarge,
    /// The caller stopped the work.
    Cancelled,
    /// A file or message whose contents are not what they should be.
    Corrupt,
    /// The operating system or the network failed.
    Io,
    /// A breach of this program's own contracts: never the caller's fault.
    Internal,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Invalid,
        Self::Refused,
        Self::Unsupported,
        Self::TooLarge,
        Self::Cancelled,
        Self::Corrupt,
        Self::Io,
        Self::Internal,
    ];

    /// A stable name for logs and messages between programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Refused => "refused",
            Self::Unsupported => "unsupported",
            Self::TooLarge => "too_large",
            Self::Cancelled => "cancelled",
            Self::Corrupt => "corrupt",
            Self::Io => "io",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        let mut names = ErrorKind::ALL.map(ErrorKind::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorKind::ALL.len());
    }
}
