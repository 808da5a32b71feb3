//! Python list literals, as tables of benchmarks carry them in a cell.

pub(crate) use mico_score::text::literal::{parse, texts};

/// Whether a cell is meant as a list literal.
pub(crate) fn looks_like_list(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('[') && text.ends_with(']')
}
