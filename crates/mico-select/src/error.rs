//! The errors of selections and pruning plans. Messages name the tensor, setting or method at fault.

use mico_util::text::quoted;

use crate::signal::Signal;

/// The result type of this crate, with [`Error`] as its default error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a selection or a plan was refused. The message is one line that names the value at fault.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A signal the method reads was not given.
    #[error("missing tensor '{signal}': {reason}")]
    Missing {
        /// The signal that was not given.
        signal: Signal,
        /// Which method reads it, and what could be given instead.
        reason: String,
    },
    /// A signal has the wrong shape.
    #[error("tensor '{signal}' has shape {found}, expected {expected}")]
    Shape {
        /// The signal whose shape is wrong.
        signal: Signal,
        /// The shape it has, such as `[576,1024]`.
        found: String,
        /// The shape it should have.
        expected: String,
    },
    /// A raw buffer does not hold the matrix it is said to hold.
    #[error(
        "{rows} x {cols} rows with stride {stride} need {needed} values, the buffer holds {found}"
    )]
    Buffer {
        /// The number of rows the matrix was said to have.
        rows: usize,
        /// The number of columns the matrix was said to have.
        cols: usize,
        /// The distance between the starts of two rows, in values.
        stride: usize,
        /// The number of values the matrix would span, as text: it may exceed `usize`.
        needed: String,
        /// The number of values the buffer holds.
        found: usize,
    },
    /// A signal holds NaN or an infinity.
    #[error("tensor '{signal}' holds {value} at {place}, every value must be finite")]
    NotFinite {
        /// The signal that holds it.
        signal: Signal,
        /// The value found there: NaN or an infinity.
        value: f32,
        /// The index of the value, such as `[3]` or `[3,17]`.
        place: String,
    },
    /// A negative weight or attention value, with which coverage would not be monotone.
    #[error("tensor '{signal}' holds {value} at {place}, every value must be at least 0")]
    Negative {
        /// The signal that holds it.
        signal: Signal,
        /// The negative value found there.
        value: f32,
        /// The index of the value, such as `[3]` or `[3,17]`.
        place: String,
    },
    /// A budget, count or other number outside its range.
    #[error("{what} is {}, accepted: {accepted}", quoted(found))]
    OutOfRange {
        /// The name of the value, as the caller knows it.
        what: &'static str,
        /// The value that was given.
        found: String,
        /// The range or values that are accepted.
        accepted: String,
    },
    /// There is no method of that name.
    #[error("unknown method '{}', known: {known}", quoted(name))]
    UnknownMethod {
        /// The method name that was given.
        name: String,
        /// All known method names, separated by commas.
        known: String,
    },
    /// The method has no setting of that name.
    #[error("method '{}' has no setting '{}', known: {known}", quoted(method), quoted(key))]
    UnknownSetting {
        /// The name of the method.
        method: String,
        /// The setting key that was given.
        key: String,
        /// The method's setting keys, separated by commas, or `none`.
        known: String,
    },
    /// A setting's value cannot be parsed or is out of range.
    #[error("setting '{}' is '{}', accepted: {accepted}", quoted(key), quoted(value))]
    BadSetting {
        /// The key of the setting, as the method's documentation lists it.
        key: String,
        /// The value that was given.
        value: String,
        /// The range or words that are accepted.
        accepted: String,
    },
    /// The method is not defined for this input.
    #[error("method '{method}' is not defined here: {reason}")]
    Undefined {
        /// The name of the method.
        method: &'static str,
        /// What the method needs and the input lacks.
        reason: String,
    },
    /// The memory limit is below the least the selector can work with.
    #[error("memory limit of {limit} bytes is too small, at least {needed} bytes are needed")]
    Memory {
        /// The limit that was given, in bytes.
        limit: usize,
        /// The smallest limit with which the selection would run, in bytes.
        needed: usize,
    },
    /// A schedule the model family's policy refuses, because no token count meets the budget.
    #[error("schedule refused: {reason}")]
    Schedule {
        /// The arithmetic, with the numbers that lead out of range.
        reason: String,
    },
    /// A method that is not defined for the model, or whose schedule cannot meet the budget.
    #[error("method '{method}' is refused: {reason}")]
    Refused {
        /// The name of the method.
        method: &'static str,
        /// What the model lacks, or the arithmetic that fails.
        reason: String,
    },
    /// A pruner broke the contract of the [`Pruner`](crate::pruner::Pruner) trait: a bug in the
    /// pruner, not in the request.
    #[error("pruner '{method}': {message}")]
    Contract {
        /// The name of the pruner.
        method: &'static str,
        /// What it did, and what its plan or declaration says.
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
