//! Errors of the command: one line, and whose fault it is.

use std::fmt;

/// Exit status of work that failed.
pub const FAILED: u8 = 1;
/// Exit status of a call that cannot be right.
pub const MISUSED: u8 = 2;

/// Why the command stops.
#[derive(Debug)]
pub struct Failure {
    message: String,
    status: u8,
}

impl Failure {
    /// The work failed: an unreadable file, a bad tensor.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), status: FAILED }
    }

    /// The call itself is wrong: an unknown name, a value out of range.
    pub fn misused(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), status: MISUSED }
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        self.status
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.message.split_whitespace();
        let line = words.collect::<Vec<_>>().join(" ");
        // Names from files must not steer the terminal.
        let line = line.replace(char::is_control, "\u{fffd}");
        write!(f, "error: {line}")
    }
}

impl From<mico_select::Error> for Failure {
    fn from(error: mico_select::Error) -> Self {
        use mico_select::Error as E;
        match error {
            E::UnknownMethod { .. } | E::UnknownSetting { .. } | E::BadSetting { .. } => {
                Self::misused(error)
            }
            _ => Self::failed(error),
        }
    }
}

impl From<mico_engine::Error> for Failure {
    fn from(error: mico_engine::Error) -> Self {
        use mico_engine::Error as E;
        use mico_select::Error as S;
        match error {
            E::OutOfRange { .. }
            | E::Unknown { .. }
            | E::Select(
                S::OutOfRange { .. }
                | S::UnknownMethod { .. }
                | S::UnknownSetting { .. }
                | S::BadSetting { .. },
            ) => Self::misused(error),
            _ => Self::failed(error),
        }
    }
}

#[cfg(feature = "eval")]
impl From<mico_eval::Error> for Failure {
    fn from(error: mico_eval::Error) -> Self {
        match error {
            mico_eval::Error::Engine(error) => Self::from(*error),
            mico_eval::Error::Item { item, source } => {
                let cause = Self::from(*source);
                Self { message: format!("item {item}: {}", cause.message), ..cause }
            }
            mico_eval::Error::OutOfRange { .. }
            | mico_eval::Error::Occupied { .. }
            | mico_eval::Error::Sweep { .. } => Self::misused(error),
            _ => Self::failed(error),
        }
    }
}

impl From<clap::Error> for Failure {
    /// The first paragraph of clap's message; the rest repeats the usage.
    fn from(error: clap::Error) -> Self {
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or(&text);
        Self::misused(first.trim_start_matches("error: "))
    }
}
