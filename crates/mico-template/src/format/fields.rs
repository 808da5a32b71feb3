//! `'{} {name[0]!r:>5}'.format(...)`.

use super::spec;
use crate::display::{to_text, write_repr};
use crate::error::{Result, TemplateError, quote};
use crate::evaluate::{Args, Interpreter};
use crate::filters::html;
use crate::value::Value;

/// A field's specification may hold fields, but those no further ones.
const NESTING: usize = 2;

/// Numbers of the fields that have none: given one by one, and not beside given ones.
#[derive(Default)]
struct Numbering {
    next: usize,
    automatic: bool,
    manual: bool,
}

/// Python's `str.format`.
pub(crate) fn format(
    interpreter: &mut Interpreter<'_>,
    template: &Value,
    args: &Args,
) -> Result<Value> {
    let Some(text) = template.as_str() else { return template.refuse("is no format") };
    let mut numbering = Numbering::default();
    let escapes = matches!(template, Value::Markup(_));
    let mut out = String::new();
    expand(interpreter, text, args, &mut numbering, NESTING, escapes, &mut out)?;
    let formatted = interpreter.budget.text(&out)?;
    Ok(Value::text_like(template, formatted))
}

fn append(interpreter: &mut Interpreter<'_>, text: &str, out: &mut String) -> Result<()> {
    let limit = interpreter.budget.limits.value_bytes;
    if out.len().saturating_add(text.len()) > limit {
        return Err(TemplateError::limit("value_bytes", limit as u64));
    }
    interpreter.budget.allocate(text.len())?;
    out.push_str(text);
    Ok(())
}

fn expand(
    interpreter: &mut Interpreter<'_>,
    text: &str,
    args: &Args,
    numbering: &mut Numbering,
    nesting: usize,
    escapes: bool,
    out: &mut String,
) -> Result<()> {
    if nesting == 0 {
        return Err(TemplateError::runtime("fields in a format are nested too deep"));
    }
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        append(interpreter, &rest[..at], out)?;
        let brace = &rest[at..=at];
        let after = &rest[at + 1..];
        if let Some(after) = after.strip_prefix(brace) {
            append(interpreter, brace, out)?;
            rest = after;
            continue;
        }
        let Some((field, after)) = closing(after).filter(|_| brace == "{") else {
            return Err(TemplateError::runtime("a single brace in a format"));
        };
        rest = after;
        let formatted = one(interpreter, field, args, numbering, nesting, escapes)?;
        append(interpreter, &formatted, out)?;
    }
    append(interpreter, rest, out)
}

fn one(
    interpreter: &mut Interpreter<'_>,
    field: &str,
    args: &Args,
    numbering: &mut Numbering,
    nesting: usize,
    escapes: bool,
) -> Result<String> {
    interpreter.budget.work(field.len())?;
    let (name, conversion, specification) = parts(field);
    let mut value = look_up(interpreter, name, args, numbering)?;
    let budget = &mut interpreter.budget;
    match conversion {
        None => {}
        Some("s") => value = Value::Str(to_text(&value, budget)?.into()),
        Some("r") => {
            let mut text = budget.builder();
            write_repr(&value, &mut text)?;
            value = text.value();
        }
        Some(other) => {
            return Err(TemplateError::runtime(format!("{} is no conversion", quote(other))));
        }
    }
    let mut expanded = String::new();
    expand(interpreter, specification, args, numbering, nesting - 1, false, &mut expanded)
        .or_else(|error| if specification.is_empty() { Ok(()) } else { Err(error) })?;
    let mut text = interpreter.budget.builder();
    if escapes && expanded.is_empty() {
        html::write_escaped(&value, &mut text)?;
    } else {
        spec::write(&value, &expanded, &mut text)?;
    }
    Ok(text.finish())
}

/// The text up to the brace that closes a field, and what follows.
fn closing(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1;
    for (at, b) in text.bytes().enumerate() {
        depth += i32::from(b == b'{') - i32::from(b == b'}');
        if depth == 0 {
            return Some((&text[..at], &text[at + 1..]));
        }
    }
    None
}

/// Name, conversion and specification of a field.
fn parts(field: &str) -> (&str, Option<&str>, &str) {
    let mut bracket = false;
    let end = field.bytes().position(|b| {
        bracket = b == b'[' || (bracket && b != b']');
        !bracket && matches!(b, b'!' | b':')
    });
    let Some(end) = end else { return (field, None, "") };
    let (name, rest) = field.split_at(end);
    if let Some(specification) = rest.strip_prefix(':') {
        return (name, None, specification);
    }
    let rest = &rest[1..];
    match rest.split_once(':') {
        Some((conversion, specification)) => (name, Some(conversion), specification),
        None => (name, Some(rest), ""),
    }
}

fn look_up(
    interpreter: &mut Interpreter<'_>,
    name: &str,
    args: &Args,
    numbering: &mut Numbering,
) -> Result<Value> {
    let end = name.find(['.', '[']).unwrap_or(name.len());
    let (first, mut path) = name.split_at(end);
    let index = if first.is_empty() {
        numbering.automatic = true;
        numbering.next += 1;
        Some(numbering.next - 1)
    } else {
        let index = first.parse::<usize>().ok();
        numbering.manual |= index.is_some();
        index
    };
    if numbering.automatic && numbering.manual {
        return Err(TemplateError::runtime("a format mixes numbered fields and others"));
    }
    let found = match index {
        Some(index) => args.positional.get(index),
        None => args.named.iter().find(|(known, _)| **known == *first).map(|(_, value)| value),
    };
    let mut value = found.cloned().ok_or_else(|| {
        TemplateError::runtime(format!("no value for the field {}", quote(first)))
    })?;
    while !path.is_empty() {
        let bad = || TemplateError::runtime(format!("{} is no field", quote(name)));
        if let Some(rest) = path.strip_prefix('.') {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            value = interpreter.attribute(&value, &rest[..end])?;
            path = &rest[end..];
        } else {
            let rest = path.strip_prefix('[').ok_or_else(bad)?;
            let (key, rest) = rest.split_once(']').ok_or_else(bad)?;
            let key = match key.parse::<i64>() {
                Ok(index) => Value::Int(index),
                Err(_) => interpreter.budget.text(key)?,
            };
            value = interpreter.item(&value, &key)?;
            path = rest;
        }
    }
    Ok(value)
}
