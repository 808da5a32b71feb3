//! Methods of Python's strings, dicts, lists and tuples.

pub(crate) mod casing;
pub(crate) mod cutting;
pub(crate) mod padding;
mod strings;

use crate::error::{Result, TemplateError, quote};
use crate::evaluate::{Args, Interpreter, integer};
use crate::value::{Value, ViewKind, compare};

/// What Python's `getattr` and the immutable sandbox say about a method's name.
pub(crate) enum Found {
    Method,
    /// It exists and the sandbox hides it.
    Unsafe,
    No,
}

const STRING: [&str; 46] = [
    "capitalize",
    "casefold",
    "center",
    "count",
    "encode",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "maketrans",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "translate",
    "upper",
];
const DICT: [&str; 6] = ["copy", "fromkeys", "get", "items", "keys", "values"];
const DICT_UNSAFE: [&str; 5] = ["clear", "pop", "popitem", "setdefault", "update"];
const LIST_UNSAFE: [&str; 8] =
    ["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"];

/// Whether a value has a method of that name.
pub(crate) fn find(value: &Value, name: &str) -> Found {
    let (methods, hidden): (&[&str], &[&str]) = match value {
        Value::Str(_) | Value::Markup(_) if name == "zfill" => return Found::Method,
        Value::Str(_) | Value::Markup(_) => (&STRING, &[]),
        Value::Dict(_) => (&DICT, &DICT_UNSAFE),
        Value::List(_) => (&["copy", "count", "index"], &LIST_UNSAFE),
        Value::Tuple(_) | Value::Range(_) => (&["count", "index"], &[]),
        Value::Cycler(_) => (&["next", "reset"], &[]),
        _ => (&[], &[]),
    };
    if methods.contains(&name) {
        Found::Method
    } else if hidden.contains(&name) {
        Found::Unsafe
    } else {
        Found::No
    }
}

pub(crate) fn call(
    interpreter: &mut Interpreter<'_>,
    object: &Value,
    name: &str,
    args: Args,
) -> Result<Value> {
    match object {
        Value::Str(_) | Value::Markup(_) => strings::call(interpreter, object, name, args),
        Value::Dict(_) => dict(interpreter, object, name, args),
        Value::List(_) | Value::Tuple(_) | Value::Range(_) => {
            sequence(interpreter, object, name, args)
        }
        Value::Cycler(index) => {
            args.none(name)?;
            interpreter.advance_cycler(*index, name == "reset")
        }
        other => other.refuse("has no methods"),
    }
}

fn unsupported(object: &Value, name: &str) -> TemplateError {
    TemplateError::unsupported(format!("the method {} of '{}'", quote(name), object.type_name()))
}

/// Python's own methods of these types take no arguments by name.
fn positional(name: &str, args: Args) -> Result<Args> {
    if args.named.is_empty() {
        return Ok(args);
    }
    Err(TemplateError::runtime(format!("{} takes no arguments by name", quote(name))))
}

fn dict(
    interpreter: &mut Interpreter<'_>,
    object: &Value,
    name: &str,
    args: Args,
) -> Result<Value> {
    let Value::Dict(dict) = object else { return object.refuse("is no mapping") };
    let args = positional(name, args)?;
    let view = match name {
        "get" => {
            let [key, default] = args.bind("get", ["key", "default"], 1)?;
            let key = key.unwrap_or(Value::None);
            let found = dict.get(&key, &mut interpreter.budget)?.cloned();
            return Ok(found.or(default).unwrap_or(Value::None));
        }
        "keys" => ViewKind::Keys,
        "values" => ViewKind::Values,
        "items" => ViewKind::Items,
        "copy" => {
            args.none(name)?;
            return Ok(object.clone());
        }
        other => return Err(unsupported(object, other)),
    };
    args.none(name)?;
    Ok(Value::View(view, dict.clone()))
}

fn sequence(
    interpreter: &mut Interpreter<'_>,
    object: &Value,
    name: &str,
    args: Args,
) -> Result<Value> {
    let args = positional(name, args)?;
    if name == "copy" {
        args.none(name)?;
        return Ok(object.clone());
    }
    let items = object.elements(&mut interpreter.budget)?;
    if name == "count" {
        let [wanted] = args.bind(name, ["value"], 1)?;
        let wanted = wanted.unwrap_or(Value::None);
        let mut count = 0;
        for item in &items {
            count += i64::from(compare::equal(item, &wanted, &mut interpreter.budget)?);
        }
        return Ok(Value::Int(count));
    }
    let [wanted, start, stop] = args.bind(name, ["value", "start", "stop"], 1)?;
    let wanted = wanted.unwrap_or(Value::None);
    let range = bounds(start.as_ref(), stop.as_ref(), items.len())?;
    for (index, item) in items.iter().enumerate() {
        if range.contains(&index) && compare::equal(item, &wanted, &mut interpreter.budget)? {
            return Ok(Value::Int(index as i64));
        }
    }
    Err(TemplateError::runtime("the value is not in the list"))
}

/// The places between two Python indices, which may count from the end.
fn bounds(
    start: Option<&Value>,
    stop: Option<&Value>,
    length: usize,
) -> Result<std::ops::Range<usize>> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let place = |value: Option<&Value>, default: i64| -> Result<usize> {
        let value = value.filter(|value| !matches!(value, Value::None));
        let index = integer(value, default)?;
        let index = if index < 0 { index.saturating_add(length) } else { index };
        Ok(usize::try_from(index.clamp(0, length)).unwrap_or(0))
    };
    // A start behind the end finds nothing, not even an empty text.
    let behind = integer(start.filter(|value| !matches!(value, Value::None)), 0)? > length;
    let start = place(start, 0)?;
    let stop = place(stop, length)?;
    Ok(if behind { std::ops::Range { start: usize::MAX, end: 0 } } else { start..stop })
}
