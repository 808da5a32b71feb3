//! The error of invalid processor parameters, and limits that every processor shares.

/// The largest side of a view, in pixels.
pub const MAX_VIEW_SIDE: u32 = 4096;
/// The most values one image may become: 1 GiB of f32.
pub const MAX_PIXEL_VALUES: u64 = 1 << 28;

/// A processor parameter, or an image, that a processor refuses.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{parameter} is {found}: accepted is {accepted}")]
pub struct ParamError {
    /// The name of the parameter at fault.
    pub parameter: &'static str,
    /// The value it has.
    pub found: String,
    /// The values that are accepted.
    pub accepted: String,
}

impl ParamError {
    pub(crate) fn new(
        parameter: &'static str,
        found: impl std::fmt::Display,
        accepted: impl Into<String>,
    ) -> Self {
        Self { parameter, found: format!("{found}"), accepted: accepted.into() }
    }
}
