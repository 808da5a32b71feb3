//! The one error type, and how foreign text is quoted in it.

use std::fmt::{self, Write as _};

/// Characters of a quoted value that an error shows.
const QUOTED: usize = 80;

/// Why a template was refused or stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateErrorKind {
    /// The source is no template.
    Syntax,
    /// The source uses a part of the language that this interpreter leaves out.
    Unsupported {
        /// The tag, filter, test or function.
        what: String,
    },
    /// A bound of [`Limits`](crate::Limits) was about to be exceeded.
    Limit {
        /// The field of [`Limits`](crate::Limits), or `integer`, `range` and `arguments`, which are fixed.
        which: &'static str,
        /// The bound itself.
        limit: u64,
    },
    /// The template called `raise_exception`.
    Raised,
    /// An operation that Python would refuse as well.
    Runtime,
}

/// A template that cannot be compiled or rendered: a kind, a line, and a message of one line.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", .0)]
#[non_exhaustive]
pub struct TemplateError(Box<Details>);

#[derive(Debug, Clone)]
struct Details {
    kind: TemplateErrorKind,
    line: u32,
    message: String,
}

impl fmt::Display for Details {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.line > 0 { write!(f, " (line {})", self.line) } else { Ok(()) }
    }
}

impl TemplateError {
    fn new(kind: TemplateErrorKind, message: String) -> Self {
        Self(Box::new(Details { kind, line: 0, message }))
    }

    pub(crate) fn syntax(line: u32, message: impl Into<String>) -> Self {
        Self::new(TemplateErrorKind::Syntax, message.into()).at(line)
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        let what = what.into();
        let message = format!("{what} is not supported");
        Self::new(TemplateErrorKind::Unsupported { what }, message)
    }

    pub(crate) fn limit(which: &'static str, limit: u64) -> Self {
        let message = format!("takes more than the limit {which} = {limit} allows");
        Self::new(TemplateErrorKind::Limit { which, limit }, message)
    }

    pub(crate) fn raised(message: &str) -> Self {
        Self::new(TemplateErrorKind::Raised, clean(message))
    }

    pub(crate) fn runtime(message: impl Into<String>) -> Self {
        Self::new(TemplateErrorKind::Runtime, message.into())
    }

    /// Says where, unless a place closer to the cause did so already.
    pub(crate) fn at(mut self, line: u32) -> Self {
        if self.0.line == 0 {
            self.0.line = line;
        }
        self
    }

    /// Why it was refused.
    pub fn kind(&self) -> &TemplateErrorKind {
        &self.0.kind
    }

    /// Line of the source, from 1; 0 if the error belongs to no line.
    pub fn line(&self) -> usize {
        self.0.line as usize
    }

    /// What went wrong, in one line and without the line number.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

/// Results of this crate.
pub(crate) type Result<T, E = TemplateError> = std::result::Result<T, E>;

/// A foreign text in quotes: control characters escaped, cut at 80 characters.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from("'");
    quoted.push_str(&clean(text));
    quoted.push('\'');
    quoted
}

/// A foreign text on one line: control characters escaped, cut at 80 characters.
fn clean(text: &str) -> String {
    let mut cleaned = String::new();
    for (index, c) in text.chars().enumerate() {
        if index == QUOTED {
            cleaned.push_str("...");
            break;
        }
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}') {
            let _ = write!(cleaned, "{}", c.escape_unicode());
        } else {
            cleaned.push(c);
        }
    }
    cleaned
}
