//! Single rules on JSON, by name: how scores made elsewhere are compared with ours.

use serde_json::Value;

/// What a rule is called and what it does.
pub(crate) struct Entry {
    /// The scorer's name.
    pub(crate) scorer: &'static str,
    /// `item`, `set` or `prompt`.
    pub(crate) kind: &'static str,
    /// The rule.
    pub(crate) rule: fn(&Value) -> Result<Value, RawError>,
}

/// Why a rule could not be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RawError {
    /// No rule has that name and kind.
    #[error("scorer '{scorer}' of kind '{kind}' is unknown")]
    Unknown {
        /// The name.
        scorer: String,
        /// The kind.
        kind: String,
    },
    /// A field is missing or of another type.
    #[error("field '{field}': {found}, accepted: {accepted}")]
    Field {
        /// The field.
        field: String,
        /// What is there.
        found: String,
        /// What would do.
        accepted: &'static str,
    },
}

/// Every rule; each module lists its own.
const TABLES: &[&[Entry]] = &[crate::prompt::RAW];

/// Applies the rule called `scorer` to `input`.
pub fn apply(scorer: &str, kind: &str, input: &Value) -> Result<Value, RawError> {
    let mut entries = TABLES.iter().copied().flatten();
    let found = entries.find(|entry| entry.scorer == scorer && entry.kind == kind);
    let entry = found
        .ok_or_else(|| RawError::Unknown { scorer: scorer.to_owned(), kind: kind.to_owned() })?;
    (entry.rule)(input)
}
