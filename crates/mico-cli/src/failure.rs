//! Errors of the command: one line, and whose fault it is.

use std::fmt;

use clap::error::{ContextKind, ContextValue};
use mico_engine::ErrorKind;
use mico_util::text::{MAX_QUOTED, quoted};

/// Exit status of work that failed.
pub const FAILED: u8 = 1;
/// Exit status of a call that cannot be right.
pub const MISUSED: u8 = 2;
/// Exit status of work that Ctrl-C stopped, as shells report it.
pub const INTERRUPTED: u8 = 130;

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

    /// Ctrl-C stopped the work: what is there of it, and how to go on.
    pub fn interrupted(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), status: INTERRUPTED }
    }

    /// An error of a library, by whose fault it is.
    pub fn of(kind: ErrorKind, message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), status: exit_status(kind) }
    }

    /// The exit status that the process ends with.
    pub fn status(&self) -> u8 {
        self.status
    }
}

/// The exit status for an error of a kind: a call that can never be right, or work that failed.
pub fn exit_status(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Invalid => MISUSED,
        ErrorKind::Refused
        | ErrorKind::Unsupported
        | ErrorKind::TooLarge
        | ErrorKind::Corrupt
        | ErrorKind::Io
        | ErrorKind::Internal => FAILED,
        ErrorKind::Cancelled => INTERRUPTED,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.message.split_whitespace();
        let line = words.collect::<Vec<_>>().join(" ");
        // Names from files must not steer the terminal.
        let line = line.replace(char::is_control, "\u{fffd}");
        // Being stopped is no error.
        let head = if self.status == INTERRUPTED { "" } else { "error: " };
        write!(f, "{head}{line}")
    }
}

impl From<mico_select::Error> for Failure {
    fn from(error: mico_select::Error) -> Self {
        mico_engine::Error::from(error).into()
    }
}

impl From<mico_engine::Error> for Failure {
    fn from(error: mico_engine::Error) -> Self {
        Self::of(error.kind(), error)
    }
}

#[cfg(feature = "eval")]
impl From<mico_eval::Error> for Failure {
    fn from(error: mico_eval::Error) -> Self {
        Self::of(error.kind(), error)
    }
}

impl From<clap::Error> for Failure {
    /// The first paragraph of clap's message and what it supposes was meant; the rest repeats the usage.
    fn from(error: clap::Error) -> Self {
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or(&text).trim_start_matches("error: ");
        let first = shortened(first.trim_end(), &error);
        match meant(&error) {
            Some(meant) => Self::misused(format!("{first}: {meant}")),
            None => Self::misused(first),
        }
    }
}

/// The parser's message with what was typed quoted as every message quotes: it repeats a value whole.
fn shortened(message: &str, error: &clap::Error) -> String {
    let typed =
        [ContextKind::InvalidValue, ContextKind::InvalidArg, ContextKind::InvalidSubcommand];
    typed.into_iter().filter_map(|kind| error.get(kind)).fold(message.to_owned(), |text, value| {
        match value {
            ContextValue::String(value) if value.chars().count() > MAX_QUOTED => {
                text.replace(value.as_str(), &quoted(value))
            }
            _ => text,
        }
    })
}

/// What clap supposes was meant.
fn meant(error: &clap::Error) -> Option<String> {
    let similar =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let names = similar.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(name) => Some(vec![name.clone()]),
        ContextValue::Strings(names) if !names.is_empty() => Some(names.clone()),
        _ => None,
    });
    if let Some(names) = names {
        let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        return Some(format!("did you mean {}?", names.join(" or ")));
    }
    match error.get(ContextKind::Suggested)? {
        ContextValue::StyledStrs(tips) => {
            let tips: Vec<String> = tips.iter().map(ToString::to_string).collect();
            Some(tips.join(", "))
        }
        _ => None,
    }
}
