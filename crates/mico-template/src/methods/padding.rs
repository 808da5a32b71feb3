//! Filling strings up to a width.

use crate::error::{Result, TemplateError};
use crate::evaluate::Interpreter;
use crate::value::Value;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
    Both,
}

/// Fills a string with one character, on the side given, until it is as wide as wanted.
pub(crate) fn pad(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    width: i64,
    fill: &str,
    side: Side,
) -> Result<Value> {
    let Some(text) = value.as_str() else { return value.refuse("is no string") };
    if fill.chars().count() != 1 {
        return Err(TemplateError::runtime("a string is filled with one character"));
    }
    interpreter.budget.work(text.len())?;
    let width = usize::try_from(width.max(0)).unwrap_or(usize::MAX);
    let missing = width.saturating_sub(text.chars().count());
    let before = match side {
        Side::Left => missing,
        Side::Right => 0,
        // Python puts the odd one in front if the width is odd.
        Side::Both => missing / 2 + (missing & width & 1),
    };
    let mut out = interpreter.budget.builder();
    out.push_repeated(fill, before)?;
    out.push(text)?;
    out.push_repeated(fill, missing - before)?;
    Ok(Value::text_like(value, out.value()))
}

/// Zeros in front, behind a sign.
pub(super) fn zeros(interpreter: &mut Interpreter<'_>, value: &Value, width: i64) -> Result<Value> {
    let text = value.as_str().unwrap_or_default();
    interpreter.budget.work(text.len())?;
    let width = usize::try_from(width.max(0)).unwrap_or(usize::MAX);
    let missing = width.saturating_sub(text.chars().count());
    let sign = usize::from(text.starts_with(['+', '-']));
    let mut out = interpreter.budget.builder();
    out.push(&text[..sign])?;
    out.push_repeated("0", missing)?;
    out.push(&text[sign..])?;
    Ok(Value::text_like(value, out.value()))
}

/// Tabs as spaces up to the next multiple of a size.
pub(super) fn expand_tabs(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    size: i64,
) -> Result<Value> {
    let size = usize::try_from(size.max(0)).unwrap_or(usize::MAX);
    let mut out = interpreter.budget.builder();
    let mut column: usize = 0;
    for c in value.as_str().unwrap_or_default().chars() {
        match c {
            '\t' if size == 0 => {}
            '\t' => {
                let missing = size - column % size;
                out.push_repeated(" ", missing)?;
                column += missing;
            }
            '\n' | '\r' => {
                out.push_char(c)?;
                column = 0;
            }
            other => {
                out.push_char(other)?;
                column += 1;
            }
        }
    }
    Ok(Value::text_like(value, out.value()))
}
