//! A classification of errors that is common to all crates of the workspace.

use std::fmt;

/// The category of an error, independent of the crate it comes from.
///
/// Every error type of the workspace has a `kind()`. A front end decides by the kind alone how to
/// react: the command line which exit status to return, a server which HTTP status. The enum is
/// exhaustive on purpose, so that each front end must handle every kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The call itself is wrong: an unknown name, a value out of range, contradictory arguments.
    /// The same call can never succeed.
    Invalid,
    /// Each part of the call is well formed, but it does not fit the model, the method, the budget or the
    /// other parts.
    Refused,
    /// A known feature that this build, model family or file format does not support.
    Unsupported,
    /// An input exceeds a stated limit on length, size or number.
    TooLarge,
    /// The caller cancelled the operation.
    Cancelled,
    /// A file or message has unexpected or damaged contents.
    Corrupt,
    /// The operating system or the network reported an error.
    Io,
    /// A bug in this program, never the caller's fault.
    Internal,
}

impl ErrorKind {
    /// Every kind, in the order of declaration.
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
