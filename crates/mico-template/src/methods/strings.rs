//! Methods of strings.

use super::cutting::{self, Ends};
use super::padding::{self, Side};
use super::{bounds, casing, positional, unsupported};
use crate::budget::Budget;
use crate::error::{Result, TemplateError};
use crate::evaluate::{Args, Interpreter, flag, integer, text};
use crate::format::fields;
use crate::value::Value;

pub(super) fn call(
    interpreter: &mut Interpreter<'_>,
    object: &Value,
    name: &str,
    args: Args,
) -> Result<Value> {
    let string = object.as_str().unwrap_or_default();
    interpreter.budget.work(string.len())?;
    if let Some(answer) = casing::test(string, name) {
        args.none(name)?;
        return Ok(Value::Bool(answer));
    }
    match name {
        "format" => fields::format(interpreter, object, &args),
        "split" | "rsplit" => split(interpreter, object, name, args),
        "splitlines" => {
            let [keep] = args.bind(name, ["keepends"], 0)?;
            let lines = cutting::lines(string, flag(keep.as_ref(), false));
            list(interpreter, object, &lines)
        }
        "expandtabs" => {
            let [size] = args.bind(name, ["tabsize"], 0)?;
            padding::expand_tabs(interpreter, object, integer(size.as_ref(), 8)?)
        }
        "lower" | "upper" | "title" | "capitalize" | "swapcase" | "casefold" => {
            args.none(name)?;
            interpreter.budget.allocate(string.len().saturating_mul(3))?;
            let changed = match name {
                "lower" => casing::lower(string),
                "upper" => string.to_uppercase(),
                "title" => casing::title(string),
                "capitalize" => casing::capitalize(string),
                "swapcase" => casing::swap(string),
                _ => casing::fold(string),
            };
            like(interpreter, object, &changed)
        }
        _ => call_positional(interpreter, object, name, positional(name, args)?),
    }
}

/// The methods that take no arguments by name.
fn call_positional(
    interpreter: &mut Interpreter<'_>,
    object: &Value,
    name: &str,
    args: Args,
) -> Result<Value> {
    let string = object.as_str().unwrap_or_default();
    match name {
        "strip" | "lstrip" | "rstrip" => {
            let [chars] = args.bind(name, ["chars"], 0)?;
            let chars = chars.filter(|chars| !matches!(chars, Value::None));
            let chars = if chars.is_some() { Some(text(chars.as_ref(), "")?) } else { None };
            let ends = match name {
                "strip" => Ends::Both,
                "lstrip" => Ends::Left,
                _ => Ends::Right,
            };
            let stripped = cutting::strip(string, chars, ends, &mut interpreter.budget)?;
            like(interpreter, object, stripped)
        }
        "center" | "ljust" | "rjust" => {
            let [width, fill] = args.bind(name, ["width", "fillchar"], 1)?;
            let side = match name {
                "center" => Side::Both,
                "ljust" => Side::Right,
                _ => Side::Left,
            };
            let width = integer(width.as_ref(), 0)?;
            padding::pad(interpreter, object, width, text(fill.as_ref(), " ")?, side)
        }
        "zfill" => {
            let [width] = args.bind(name, ["width"], 1)?;
            padding::zeros(interpreter, object, integer(width.as_ref(), 0)?)
        }
        "startswith" | "endswith" => affix(interpreter, string, name, args),
        "find" | "rfind" | "index" | "rindex" | "count" => search(interpreter, string, name, args),
        "partition" | "rpartition" => partition(interpreter, object, name, args),
        "replace" => {
            let [old, new, count] = args.bind(name, ["old", "new", "count"], 2)?;
            let count = integer(count.as_ref(), -1)?;
            let (old, new) = (text(old.as_ref(), "")?, text(new.as_ref(), "")?);
            let replaced = cutting::replace(string, old, new, count, &mut interpreter.budget)?;
            Ok(Value::text_like(object, replaced))
        }
        "removeprefix" | "removesuffix" => {
            let [part] = args.bind(name, ["part"], 1)?;
            let part = text(part.as_ref(), "")?;
            let cut = if name == "removeprefix" {
                string.strip_prefix(part)
            } else {
                string.strip_suffix(part)
            };
            like(interpreter, object, cut.unwrap_or(string))
        }
        "join" => join(interpreter, object, args),
        other => Err(unsupported(object, other)),
    }
}

/// A new string, HTML if the one it comes from is.
fn like(interpreter: &mut Interpreter<'_>, object: &Value, string: &str) -> Result<Value> {
    let made = interpreter.budget.text(string)?;
    Ok(Value::text_like(object, made))
}

fn list(interpreter: &mut Interpreter<'_>, object: &Value, parts: &[&str]) -> Result<Value> {
    interpreter.budget.elements(parts.len())?;
    let mut items = Vec::with_capacity(parts.len());
    for part in parts {
        items.push(like(interpreter, object, part)?);
    }
    Value::list(items, &interpreter.budget)
}

fn split(
    interpreter: &mut Interpreter<'_>,
    object: &Value,
    name: &str,
    args: Args,
) -> Result<Value> {
    let [separator, cuts] = args.bind(name, ["sep", "maxsplit"], 0)?;
    let separator = separator.filter(|separator| !matches!(separator, Value::None));
    let separator = if separator.is_some() { Some(text(separator.as_ref(), "")?) } else { None };
    let cuts = integer(cuts.as_ref(), -1)?;
    let string = object.as_str().unwrap_or_default();
    let from_right = name == "rsplit";
    let parts = cutting::split(string, separator, cuts, from_right, &mut interpreter.budget)?;
    list(interpreter, object, &parts)
}

fn partition(
    interpreter: &mut Interpreter<'_>,
    object: &Value,
    name: &str,
    args: Args,
) -> Result<Value> {
    let [separator] = args.bind(name, ["sep"], 1)?;
    let separator = text(separator.as_ref(), "")?;
    let string = object.as_str().unwrap_or_default();
    if separator.is_empty() {
        return Err(TemplateError::runtime("an empty separator"));
    }
    let parts = if name == "partition" {
        string.split_once(separator).map_or([string, "", ""], |(a, b)| [a, separator, b])
    } else {
        string.rsplit_once(separator).map_or(["", "", string], |(a, b)| [a, separator, b])
    };
    let mut items = Vec::new();
    for part in parts {
        items.push(like(interpreter, object, part)?);
    }
    Value::tuple(items, &interpreter.budget)
}

/// The bytes between two indices of characters; none if the start lies behind the end.
fn section<'s>(
    string: &'s str,
    start: Option<&Value>,
    stop: Option<&Value>,
) -> Result<Option<(usize, &'s str)>> {
    let range = bounds(start, stop, string.chars().count())?;
    if range.start > range.end {
        return Ok(None);
    }
    let byte = |index: usize| string.char_indices().nth(index).map_or(string.len(), |(at, _)| at);
    Ok(Some((range.start, &string[byte(range.start)..byte(range.end)])))
}

fn affix(interpreter: &mut Interpreter<'_>, string: &str, name: &str, args: Args) -> Result<Value> {
    let [affix, start, stop] = args.bind(name, ["affix", "start", "end"], 1)?;
    let affix = affix.unwrap_or(Value::None);
    let Some((_, section)) = section(string, start.as_ref(), stop.as_ref())? else {
        return Ok(Value::Bool(false));
    };
    let matches = |affix: &str| {
        if name == "startswith" { section.starts_with(affix) } else { section.ends_with(affix) }
    };
    if let Value::Tuple(choices) = &affix {
        for choice in &choices.items {
            let Some(choice) = choice.as_str() else { return choice.refuse("is no string") };
            interpreter.budget.work(choice.len())?;
            if matches(choice) {
                return Ok(Value::Bool(true));
            }
        }
        return Ok(Value::Bool(false));
    }
    let Some(affix) = affix.as_str() else { return affix.refuse("is no string") };
    Ok(Value::Bool(matches(affix)))
}

fn search(
    interpreter: &mut Interpreter<'_>,
    string: &str,
    name: &str,
    args: Args,
) -> Result<Value> {
    let [part, start, stop] = args.bind(name, ["sub", "start", "end"], 1)?;
    let part = part.unwrap_or(Value::None);
    let Some(part) = part.as_str() else { return part.refuse("is no string") };
    let section = section(string, start.as_ref(), stop.as_ref())?;
    interpreter.budget.work(part.len())?;
    if name == "count" {
        let count = section.map_or(0, |(_, section)| section.matches(part).count());
        return Ok(Value::Int(count as i64));
    }
    let found = section.and_then(|(offset, section)| {
        let at = if name.starts_with('r') { section.rfind(part) } else { section.find(part) };
        at.map(|at| offset + section[..at].chars().count())
    });
    match found {
        Some(at) => Ok(Value::Int(at as i64)),
        None if name.ends_with("find") => Ok(Value::Int(-1)),
        None => Err(TemplateError::runtime("the part is not in the string")),
    }
}

fn join(interpreter: &mut Interpreter<'_>, object: &Value, args: Args) -> Result<Value> {
    let [items] = args.bind("join", ["iterable"], 1)?;
    let items = items.unwrap_or(Value::None).elements(&mut interpreter.budget)?;
    let budget: &mut Budget = &mut interpreter.budget;
    let escapes = matches!(object, Value::Markup(_));
    let mut joined = budget.builder();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            joined.push(object.as_str().unwrap_or_default())?;
        }
        match item.as_str() {
            Some(_) if escapes => crate::filters::html::write_escaped(item, &mut joined)?,
            Some(text) => joined.push(text)?,
            None => return item.refuse("cannot be joined to a string"),
        }
    }
    Ok(Value::text_like(object, joined.value()))
}
