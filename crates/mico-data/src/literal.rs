//! Python list literals, which benchmark tables store in single cells.

pub(crate) use mico_score::text::literal::{parse, texts};

/// Whether a cell is meant as a list literal, that is, enclosed in square brackets.
pub(crate) fn looks_like_list(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('[') && text.ends_with(']')
}
