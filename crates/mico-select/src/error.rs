//! Everything that can be wrong with a selection or a pruning plan.

use crate::signal::Signal;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a selection could not be made. The message is one line that names the culprit.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A signal the method reads was not given.
    #[error("missing tensor '{signal}': {reason}")]
    Missing {
        /// The absent signal.
        signal: Signal,
        /// Who wants it and what would do instead.
        reason: String,
    },
    /// A signal has the wrong shape.
    #[error("tensor '{signal}' has shape {found}, expected {expected}")]
    Shape {
        /// The signal at fault.
        signal: Signal,
        /// Its shape.
        found: String,
        /// What is accepted.
        expected: String,
    },
    /// A raw buffer does not hold the matrix it is said to hold.
    #[error(
        "{rows} x {cols} rows with stride {stride} need {needed} values, the buffer holds {found}"
    )]
    Buffer {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        cols: usize,
        /// Distance between the starts of two rows.
        stride: usize,
        /// Values that would be read.
        needed: String,
        /// Values there are.
        found: usize,
    },
    /// NaN or an infinity.
    #[error("tensor '{signal}' holds {value} at {place}, every value must be finite")]
    NotFinite {
        /// The signal at fault.
        signal: Signal,
        /// The value found.
        value: f32,
        /// Its index.
        place: String,
    },
    /// A negative weight or attention where the objective needs none.
    #[error("tensor '{signal}' holds {value} at {place}, every value must be at least 0")]
    Negative {
        /// The signal at fault.
        signal: Signal,
        /// The value found.
        value: f32,
        /// Its index.
        place: String,
    },
    /// A budget or count outside its range.
    #[error("{what} is {found}, accepted: {accepted}")]
    OutOfRange {
        /// The name of the value.
        what: &'static str,
        /// What was given.
        found: String,
        /// What is accepted.
        accepted: String,
    },
    /// No method of that name.
    #[error("unknown method '{name}', known: {known}")]
    UnknownMethod {
        /// The name given.
        name: String,
        /// All known names.
        known: String,
    },
    /// A method has no such setting.
    #[error("method '{method}' has no setting '{key}', known: {known}")]
    UnknownSetting {
        /// The method asked.
        method: String,
        /// The key given.
        key: String,
        /// All its keys.
        known: String,
    },
    /// A setting's value cannot be read or is out of range.
    #[error("setting '{key}' is '{value}', accepted: {accepted}")]
    BadSetting {
        /// The key.
        key: String,
        /// The value given.
        value: String,
        /// What is accepted.
        accepted: String,
    },
    /// The method is not defined for this input.
    #[error("method '{method}' is not defined here: {reason}")]
    Undefined {
        /// The method.
        method: &'static str,
        /// Why.
        reason: String,
    },
    /// The working memory does not hold even the least the selector needs.
    #[error("memory limit of {limit} bytes is too small, at least {needed} bytes are needed")]
    Memory {
        /// The limit given.
        limit: usize,
        /// The least that would do.
        needed: usize,
    },
    /// A schedule that its model family refuses.
    #[error("schedule refused: {reason}")]
    Schedule {
        /// The arithmetic that does not come out.
        reason: String,
    },
    /// A method that the model gives no ground for, or whose schedule cannot meet the budget.
    #[error("method '{method}' is refused: {reason}")]
    Refused {
        /// The method.
        method: &'static str,
        /// Why.
        reason: String,
    },
    /// A pruner that broke its contract: never the fault of whoever asked for it.
    #[error("pruner '{method}': {message}")]
    Contract {
        /// The pruner.
        method: &'static str,
        /// What it did, and what was agreed.
        message: String,
    },
}

impl Error {
    pub(crate) fn range(
        what: &'static str,
        found: impl std::fmt::Display,
        accepted: impl Into<String>,
    ) -> Self {
        Self::OutOfRange { what, found: found.to_string(), accepted: accepted.into() }
    }
}
