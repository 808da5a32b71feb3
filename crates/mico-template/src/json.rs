//! `tojson` as transformers defines it: Python's `json.dumps`.

use std::fmt::Write as _;

use crate::budget::Builder;
use crate::display::float_repr;
use crate::error::{Result, TemplateError};
use crate::filters::order::sort_by_key;
use crate::value::Value;

/// The options of `json.dumps`.
pub(crate) struct Style {
    pub(crate) ascii: bool,
    /// What a level is indented by; none for one line.
    pub(crate) indent: Option<Indent>,
    pub(crate) item_separator: String,
    pub(crate) key_separator: String,
    pub(crate) sort: bool,
}

pub(crate) enum Indent {
    Spaces(usize),
    Text(String),
}

pub(crate) fn write(
    value: &Value,
    style: &Style,
    level: usize,
    out: &mut Builder<'_>,
) -> Result<()> {
    out.budget.steps(1)?;
    match value {
        Value::None => out.push("null"),
        Value::Bool(true) => out.push("true"),
        Value::Bool(false) => out.push("false"),
        Value::Int(value) => out.push(&value.to_string()),
        Value::Float(value) => out.push(&float(*value)),
        Value::Str(text) | Value::Markup(text) => write_string(text, style.ascii, out),
        Value::List(sequence) | Value::Tuple(sequence) => {
            write_list(&sequence.items, style, level, out)
        }
        Value::Dict(dict) => write_dict(&dict.entries, style, level, out),
        other => other.refuse("cannot be written as JSON"),
    }
}

fn float(value: f64) -> String {
    if value.is_nan() {
        "NaN".into()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity".into() } else { "-Infinity".into() }
    } else {
        float_repr(value)
    }
}

fn new_line(style: &Style, level: usize, out: &mut Builder<'_>) -> Result<()> {
    match &style.indent {
        None => Ok(()),
        Some(Indent::Spaces(width)) => {
            out.push("\n")?;
            out.push_repeated(" ", width.saturating_mul(level))
        }
        Some(Indent::Text(text)) => {
            out.push("\n")?;
            out.push_repeated(text, level)
        }
    }
}

fn write_list(items: &[Value], style: &Style, level: usize, out: &mut Builder<'_>) -> Result<()> {
    if items.is_empty() {
        return out.push("[]");
    }
    out.push("[")?;
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(&style.item_separator)?;
        }
        new_line(style, level + 1, out)?;
        write(item, style, level + 1, out)?;
    }
    new_line(style, level, out)?;
    out.push("]")
}

fn write_dict(
    entries: &[(Value, Value)],
    style: &Style,
    level: usize,
    out: &mut Builder<'_>,
) -> Result<()> {
    if entries.is_empty() {
        return out.push("{}");
    }
    let sorted;
    let mut entries = entries;
    if style.sort {
        out.budget.elements(entries.len().saturating_mul(4))?;
        let keyed = entries.iter().map(|entry| (entry.0.clone(), entry.clone())).collect();
        sorted = sort_by_key(keyed, false, out.budget)?;
        entries = &sorted;
    }
    out.push("{")?;
    for (index, (key, value)) in entries.iter().enumerate() {
        if index > 0 {
            out.push(&style.item_separator)?;
        }
        new_line(style, level + 1, out)?;
        write_key(key, style, out)?;
        out.push(&style.key_separator)?;
        write(value, style, level + 1, out)?;
    }
    new_line(style, level, out)?;
    out.push("}")
}

fn write_key(key: &Value, style: &Style, out: &mut Builder<'_>) -> Result<()> {
    let text = match key {
        Value::Str(text) | Value::Markup(text) => return write_string(text, style.ascii, out),
        Value::None => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => float(*value),
        other => {
            return Err(TemplateError::runtime(format!(
                "'{}' cannot be a key in JSON",
                other.type_name()
            )));
        }
    };
    write_string(&text, style.ascii, out)
}

fn write_string(text: &str, ascii: bool, out: &mut Builder<'_>) -> Result<()> {
    out.budget.work(text.len())?;
    out.push("\"")?;
    let mut plain = 0;
    for (at, c) in text.char_indices() {
        let mut escaped = String::new();
        match c {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            '\u{8}' => escaped.push_str("\\b"),
            '\u{C}' => escaped.push_str("\\f"),
            c if (c as u32) < 0x20 || (ascii && !(' '..='~').contains(&c)) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(escaped, "\\u{unit:04x}");
                }
            }
            _ => continue,
        }
        out.push(&text[plain..at])?;
        out.push(&escaped)?;
        plain = at + c.len_utf8();
    }
    out.push(&text[plain..])?;
    out.push("\"")
}
