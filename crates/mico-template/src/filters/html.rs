//! Filters for HTML and addresses.

use std::fmt::Write as _;

use crate::budget::Builder;
use crate::display::{to_text, write_str};
use crate::error::{Result, TemplateError, quote};
use crate::evaluate::{Args, Interpreter, flag};
use crate::value::Value;

/// Appends a text with HTML's signs escaped, as markupsafe does it.
pub(crate) fn push_escaped(text: &str, out: &mut Builder<'_>) -> Result<()> {
    let mut plain = 0;
    for (at, c) in text.char_indices() {
        let escaped = match c {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '\'' => "&#39;",
            '"' => "&#34;",
            _ => continue,
        };
        out.push(&text[plain..at])?;
        out.push(escaped)?;
        plain = at + 1;
    }
    out.push(&text[plain..])
}

/// Appends the `str` of a value, escaped unless it is HTML already.
pub(crate) fn write_escaped(value: &Value, out: &mut Builder<'_>) -> Result<()> {
    match value {
        Value::Markup(text) => out.push(text),
        Value::Str(text) => push_escaped(text, out),
        other => {
            let mut text = out.budget.builder();
            write_str(other, &mut text)?;
            let text = text.finish();
            push_escaped(&text, out)
        }
    }
}

fn markup(value: Value) -> Value {
    match value {
        Value::Str(text) => Value::Markup(text),
        other => other,
    }
}

pub(super) fn escape(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    args.none("escape")?;
    let mut out = interpreter.budget.builder();
    write_escaped(&value, &mut out)?;
    Ok(markup(out.value()))
}

pub(super) fn force_escape(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    args: Args,
) -> Result<Value> {
    args.none("forceescape")?;
    let text = to_text(&value, &mut interpreter.budget)?;
    let mut out = interpreter.budget.builder();
    push_escaped(&text, &mut out)?;
    Ok(markup(out.value()))
}

pub(super) fn safe(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    args.none("safe")?;
    let text = to_text(&value, &mut interpreter.budget)?;
    interpreter.budget.text(&text).map(markup)
}

fn push_quoted(text: &str, in_query: bool, out: &mut Builder<'_>) -> Result<()> {
    for b in text.bytes() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => {
                out.push_char(char::from(b))?;
            }
            b'/' if !in_query => out.push("/")?,
            b' ' if in_query => out.push("+")?,
            other => {
                let mut code = String::new();
                let _ = write!(code, "%{other:02X}");
                out.push(&code)?;
            }
        }
    }
    Ok(())
}

pub(super) fn url_encode(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    args: Args,
) -> Result<Value> {
    args.none("urlencode")?;
    let budget = &mut interpreter.budget;
    let pairs = match &value {
        Value::Dict(dict) => dict.pairs(budget)?,
        Value::List(_)
        | Value::Tuple(_)
        | Value::Range(_)
        | Value::View(..)
        | Value::Iterator(_) => value.elements(budget)?,
        other => {
            let text = to_text(other, budget)?;
            let mut out = budget.builder();
            push_quoted(&text, false, &mut out)?;
            return Ok(out.value());
        }
    };
    let mut texts = Vec::new();
    for pair in pairs {
        let pair = pair.elements(budget)?;
        let [key, value] = &pair[..] else {
            return Err(TemplateError::runtime("'urlencode' needs pairs"));
        };
        budget.elements(2)?;
        texts.push((to_text(key, budget)?, to_text(value, budget)?));
    }
    let mut out = budget.builder();
    for (index, (key, value)) in texts.iter().enumerate() {
        if index > 0 {
            out.push("&")?;
        }
        push_quoted(key, true, &mut out)?;
        out.push("=")?;
        push_quoted(value, true, &mut out)?;
    }
    Ok(out.value())
}

pub(super) fn xml_attributes(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    args: Args,
) -> Result<Value> {
    let [space] = args.bind("xmlattr", ["autospace"], 0)?;
    let Value::Dict(dict) = &value else { return value.refuse("is no mapping") };
    let mut out = interpreter.budget.builder();
    for (key, value) in &dict.entries {
        if matches!(value, Value::None | Value::Undefined(_)) {
            continue;
        }
        let Some(name) = key.as_str() else { return key.refuse("is no attribute's name") };
        if name.contains(['/', '>', '=', ' ', '\t', '\n', '\r', '\u{B}', '\u{C}']) {
            let message = format!("{} is no attribute's name", quote(name));
            return Err(TemplateError::runtime(message));
        }
        if out.len() > 0 || flag(space.as_ref(), true) {
            out.push(" ")?;
        }
        write_escaped(key, &mut out)?;
        out.push("=\"")?;
        write_escaped(value, &mut out)?;
        out.push("\"")?;
    }
    Ok(out.value())
}
