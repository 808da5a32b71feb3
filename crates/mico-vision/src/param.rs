//! Parameters of a processor that cannot be worked with, and limits every processor shares.

/// Largest side of a view.
pub const MAX_VIEW_SIDE: u32 = 4096;
/// Most numbers one image may become: 1 GiB of f32.
pub const MAX_PIXEL_VALUES: u64 = 1 << 28;

/// A processor parameter, or an image, that cannot be worked with.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{parameter} is {found}: accepted is {accepted}")]
pub struct ParamError {
    /// The parameter at fault.
    pub parameter: &'static str,
    /// Its value.
    pub found: String,
    /// What would be accepted.
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
