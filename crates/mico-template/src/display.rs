//! Python's `str` and `repr` of values.

use std::fmt::Write as _;

use crate::budget::{Budget, Builder};
use crate::error::{Result, TemplateError};
use crate::value::{Value, ViewKind};

/// Python's `str(value)` as a string of its own.
pub(crate) fn to_text(value: &Value, budget: &mut Budget) -> Result<String> {
    let mut text = budget.builder();
    write_str(value, &mut text)?;
    Ok(text.finish())
}

/// The value itself if it is a string, else its `str`: jinja2's `soft_str`.
pub(crate) fn to_str_value(value: &Value, budget: &mut Budget) -> Result<Value> {
    match value {
        Value::Str(_) | Value::Markup(_) => Ok(value.clone()),
        other => {
            let mut text = budget.builder();
            write_str(other, &mut text)?;
            Ok(text.value())
        }
    }
}

pub(crate) fn write_str(value: &Value, out: &mut Builder<'_>) -> Result<()> {
    match value {
        Value::Undefined(_) => Ok(()),
        Value::Str(text) | Value::Markup(text) => out.push(text),
        other => write_repr(other, out),
    }
}

pub(crate) fn write_repr(value: &Value, out: &mut Builder<'_>) -> Result<()> {
    out.budget.steps(1)?;
    match value {
        Value::Undefined(_) => out.push("Undefined"),
        Value::None => out.push("None"),
        Value::Bool(true) => out.push("True"),
        Value::Bool(false) => out.push("False"),
        Value::Int(value) => out.push(&value.to_string()),
        Value::Float(value) => out.push(&float_repr(*value)),
        Value::Str(text) => write_quoted(text, out),
        Value::Markup(text) => {
            out.push("Markup(")?;
            write_quoted(text, out)?;
            out.push(")")
        }
        Value::List(sequence) => write_items(&sequence.items, "[", "]", out),
        Value::Tuple(sequence) if sequence.items.len() == 1 => {
            write_items(&sequence.items, "(", ",)", out)
        }
        Value::Tuple(sequence) => write_items(&sequence.items, "(", ")", out),
        Value::Dict(dict) => write_entries(&dict.entries, out),
        Value::Range(range) => {
            let (start, stop, step) = (range.start, range.stop, range.step);
            out.push(&match step {
                1 => format!("range({start}, {stop})"),
                _ => format!("range({start}, {stop}, {step})"),
            })
        }
        Value::View(kind, _) => write_view(*kind, value, out),
        other => Err(TemplateError::unsupported(format!("printing a '{}'", other.type_name()))),
    }
}

fn write_view(kind: ViewKind, view: &Value, out: &mut Builder<'_>) -> Result<()> {
    let items = view.elements(out.budget)?;
    let open = match kind {
        ViewKind::Keys => "dict_keys([",
        ViewKind::Values => "dict_values([",
        ViewKind::Items => "dict_items([",
    };
    write_items(&items, open, "])", out)
}

fn write_items(items: &[Value], open: &str, close: &str, out: &mut Builder<'_>) -> Result<()> {
    out.push(open)?;
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(", ")?;
        }
        write_repr(item, out)?;
    }
    out.push(close)
}

fn write_entries(entries: &[(Value, Value)], out: &mut Builder<'_>) -> Result<()> {
    out.push("{")?;
    for (index, (key, value)) in entries.iter().enumerate() {
        if index > 0 {
            out.push(", ")?;
        }
        write_repr(key, out)?;
        out.push(": ")?;
        write_repr(value, out)?;
    }
    out.push("}")
}

/// Python's quoting of a string.
fn write_quoted(text: &str, out: &mut Builder<'_>) -> Result<()> {
    // Other characters are looked up one by one.
    out.budget.work(if text.is_ascii() { text.len() } else { text.len().saturating_mul(4) })?;
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push_char(quote)?;
    let mut plain = 0;
    for (at, c) in text.char_indices() {
        let escaped = match c {
            '\\' => "\\\\".to_owned(),
            '\n' => "\\n".into(),
            '\r' => "\\r".into(),
            '\t' => "\\t".into(),
            c if c == quote => format!("\\{c}"),
            ' '..='~' => continue,
            c if is_printable(c) => continue,
            c => escape(c),
        };
        out.push(&text[plain..at])?;
        out.push(&escaped)?;
        plain = at + c.len_utf8();
    }
    out.push(&text[plain..])?;
    out.push_char(quote)
}

fn escape(c: char) -> String {
    let mut escaped = String::new();
    let code = c as u32;
    let _ = match code {
        0..=0xFF => write!(escaped, "\\x{code:02x}"),
        0x100..=0xFFFF => write!(escaped, "\\u{code:04x}"),
        _ => write!(escaped, "\\U{code:08x}"),
    };
    escaped
}

/// Python's `str.isprintable`. The library's own table is behind `escape_debug`, which treats
/// combining characters apart only at the beginning of a text.
fn is_printable(c: char) -> bool {
    let mut text = String::from("a");
    text.push(c);
    text.escape_debug().count() == 2
}

/// The shortest text that reads as the same float, in Python's form.
pub(crate) fn float_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{value}");
        return if plain.contains('.') { plain } else { plain + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}
