//! Splitting, stripping and replacing.

use crate::budget::Budget;
use crate::error::{Result, TemplateError};
use crate::lexer::is_space;
use crate::value::Value;

/// `text.replace(old, new, count)`; a negative count replaces all.
pub(crate) fn replace(
    text: &str,
    old: &str,
    new: &str,
    count: i64,
    budget: &mut Budget,
) -> Result<Value> {
    budget.work(text.len() + old.len())?;
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    let mut out = budget.builder();
    let mut from = 0;
    for (at, found) in text.match_indices(old).take(limit) {
        out.push(&text[from..at])?;
        out.push(new)?;
        from = at + found.len();
    }
    out.push(&text[from..])?;
    Ok(out.value())
}

/// Python's `splitlines`.
pub(crate) fn lines(text: &str, keep_ends: bool) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut from = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends = matches!(
            c,
            '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{1C}'
                ..='\u{1E}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        );
        if !ends {
            continue;
        }
        let mut end = at + c.len_utf8();
        if c == '\r' && chars.next_if(|(_, next)| *next == '\n').is_some() {
            end += 1;
        }
        lines.push(&text[from..if keep_ends { end } else { at }]);
        from = end;
    }
    if from < text.len() {
        lines.push(&text[from..]);
    }
    lines
}

/// Which ends of a string are cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    Left,
    Right,
    Both,
}

pub(super) fn strip<'s>(
    text: &'s str,
    chars: Option<&str>,
    ends: Ends,
    budget: &mut Budget,
) -> Result<&'s str> {
    // Every character is compared with each of those to be cut.
    let width = chars.map_or(1, |chars| chars.len().max(1));
    budget.work(text.len().saturating_mul(width))?;
    let cut = |c: char| chars.map_or_else(|| is_space(c), |chars| chars.contains(c));
    let mut text = text;
    if ends != Ends::Right {
        text = text.trim_start_matches(cut);
    }
    if ends != Ends::Left {
        text = text.trim_end_matches(cut);
    }
    Ok(text)
}

/// `split` and `rsplit`; a negative number of cuts means all.
pub(super) fn split<'s>(
    text: &'s str,
    separator: Option<&str>,
    cuts: i64,
    from_right: bool,
    budget: &mut Budget,
) -> Result<Vec<&'s str>> {
    budget.work(text.len())?;
    let limit = usize::try_from(cuts).unwrap_or(usize::MAX);
    let mut parts = match (separator, from_right) {
        (Some(""), _) => return Err(TemplateError::runtime("an empty separator")),
        (Some(separator), false) => {
            collect(text.splitn(limit.saturating_add(1), separator), budget)?
        }
        (Some(separator), true) => {
            collect(text.rsplitn(limit.saturating_add(1), separator), budget)?
        }
        (None, false) => words(text, limit, budget)?,
        (None, true) => words_from_right(text, limit, budget)?,
    };
    if from_right {
        parts.reverse();
    }
    Ok(parts)
}

fn collect<'s>(parts: impl Iterator<Item = &'s str>, budget: &mut Budget) -> Result<Vec<&'s str>> {
    let mut collected = Vec::new();
    for part in parts {
        budget.elements(1)?;
        collected.push(part);
    }
    Ok(collected)
}

fn words<'s>(text: &'s str, limit: usize, budget: &mut Budget) -> Result<Vec<&'s str>> {
    let mut words = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        budget.elements(1)?;
        let end = if words.len() == limit { None } else { rest.find(is_space) };
        let Some(end) = end else {
            // What is left over keeps its space.
            words.push(rest);
            break;
        };
        words.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(is_space);
    }
    Ok(words)
}

fn words_from_right<'s>(text: &'s str, limit: usize, budget: &mut Budget) -> Result<Vec<&'s str>> {
    let mut words = Vec::new();
    let mut rest = text.trim_end_matches(is_space);
    while !rest.is_empty() {
        budget.elements(1)?;
        let found = if words.len() == limit { None } else { rest.rfind(is_space) };
        let Some(at) = found else {
            words.push(rest);
            break;
        };
        let width = rest[at..].chars().next().map_or(1, char::len_utf8);
        words.push(&rest[at + width..]);
        rest = rest[..at].trim_end_matches(is_space);
    }
    Ok(words)
}
