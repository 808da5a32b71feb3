//! Filters on strings.

use crate::display::{to_str_value, to_text, write_str};
use crate::error::{Result, TemplateError};
use crate::evaluate::{Args, Interpreter, flag, integer, text};
use crate::filters::order::Getter;
use crate::format::printf;
use crate::json::{self, Indent, Style};
use crate::methods::{self, casing, cutting, padding};
use crate::value::Value;

/// A filter that is a method of the value's text.
fn method(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    name: &str,
    args: Args,
) -> Result<Value> {
    let text = to_str_value(value, &mut interpreter.budget)?;
    methods::call(interpreter, &text, name, args)
}

pub(super) fn capitalize(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    method(i, &value, "capitalize", args)
}

pub(super) fn lower(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    method(i, &value, "lower", args)
}

pub(super) fn upper(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    method(i, &value, "upper", args)
}

pub(super) fn trim(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let [chars] = args.bind("trim", ["chars"], 0)?;
    let args = Args { positional: chars.into_iter().collect(), named: Vec::new() };
    method(i, &value, "strip", args)
}

pub(super) fn center(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let [width] = args.bind("center", ["width"], 0)?;
    let width = integer(width.as_ref(), 80)?;
    let value = to_str_value(&value, &mut i.budget)?;
    padding::pad(i, &value, width, " ", padding::Side::Both)
}

pub(super) fn string(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    args.none("string")?;
    to_str_value(&value, &mut i.budget)
}

/// Jinja's own title case: words begin behind spaces, hyphens and opening brackets.
pub(super) fn title(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    args.none("title")?;
    let text = to_text(&value, &mut i.budget)?;
    i.budget.allocate(text.len().saturating_mul(3))?;
    let begins = |c: char| crate::lexer::is_space(c) || matches!(c, '-' | '(' | '{' | '[' | '<');
    let mut titled = String::new();
    let mut word = String::new();
    for c in text.chars() {
        if begins(c) {
            titled.push_str(&casing::upper_first(&word));
            word.clear();
            titled.push(c);
        } else {
            word.push(c);
        }
    }
    titled.push_str(&casing::upper_first(&word));
    i.budget.text(&titled)
}

pub(super) fn word_count(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    args.none("wordcount")?;
    let text = to_text(&value, &mut i.budget)?;
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    Ok(Value::Int(words.filter(|word| !word.is_empty()).count() as i64))
}

pub(super) fn replace(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let [old, new, count] = args.bind("replace", ["old", "new", "count"], 2)?;
    let count = count.filter(|count| !matches!(count, Value::None));
    let count = integer(count.as_ref(), -1)?;
    let whole = to_text(&value, &mut i.budget)?;
    let old = to_text(&old.unwrap_or(Value::None), &mut i.budget)?;
    let new = to_text(&new.unwrap_or(Value::None), &mut i.budget)?;
    cutting::replace(&whole, &old, &new, count, &mut i.budget)
}

pub(super) fn format(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    if !args.positional.is_empty() && !args.named.is_empty() {
        return Err(TemplateError::runtime("'format' takes values with or without names"));
    }
    let value = to_str_value(&value, &mut i.budget)?;
    let values = if args.named.is_empty() {
        Value::tuple(args.positional, &i.budget)?
    } else {
        let entries = args.named.into_iter().map(|(name, value)| (Value::Str(name), value));
        Value::dict(entries.collect(), &i.budget)?
    };
    printf::format(&value, &values, &mut i.budget)
}

pub(super) fn join(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let [separator, attribute] = args.bind("join", ["d", "attribute"], 0)?;
    let getter = Getter::new(attribute, None, false);
    let separator = match separator {
        Some(separator) => to_text(&separator, &mut i.budget)?,
        None => String::new(),
    };
    let mut items = value.elements(&mut i.budget)?;
    for item in &mut items {
        *item = getter.get(i, item)?;
    }
    let mut joined = i.budget.builder();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            joined.push(&separator)?;
        }
        write_str(item, &mut joined)?;
    }
    Ok(joined.value())
}

pub(super) fn indent(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let [width, first, blank] = args.bind("indent", ["width", "first", "blank"], 0)?;
    let Some(text) = value.as_str() else { return value.refuse("is no string") };
    let (unit, count) = match width.as_ref().and_then(Value::as_str) {
        Some(unit) => (unit, 1),
        None => (" ", usize::try_from(integer(width.as_ref(), 4)?.max(0)).unwrap_or(usize::MAX)),
    };
    i.budget.work(text.len())?;
    let lines = cutting::lines(text, false);
    i.budget.elements(lines.len())?;
    let mut out = i.budget.builder();
    if flag(first.as_ref(), false) {
        out.push_repeated(unit, count)?;
    }
    // One line more than `splitlines` gives if the text does not end a line: jinja2 adds a newline.
    let ends_line = lines.last().is_some_and(|line| !text.ends_with(line) || line.is_empty());
    let all =
        lines.iter().copied().chain(if lines.is_empty() || ends_line { Some("") } else { None });
    for (index, line) in all.enumerate() {
        if index > 0 {
            out.push("\n")?;
            if !line.is_empty() || flag(blank.as_ref(), false) {
                out.push_repeated(unit, count)?;
            }
        }
        out.push(line)?;
    }
    let indented = out.value();
    Ok(Value::text_like(&value, indented))
}

pub(super) fn truncate(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let names = ["length", "killwords", "end", "leeway"];
    let [length, kill_words, end, leeway] = args.bind("truncate", names, 0)?;
    let length = integer(length.as_ref(), 255)?;
    let leeway = integer(leeway.filter(|value| !matches!(value, Value::None)).as_ref(), 5)?;
    let end = text(end.as_ref(), "...")?;
    let end_length = end.chars().count() as i64;
    if length < end_length || leeway < 0 {
        return Err(TemplateError::runtime("'truncate' to less than its ending"));
    }
    if value.len(&mut i.budget)? as i64 <= length.saturating_add(leeway) {
        return Ok(value);
    }
    let Some(whole) = value.as_str() else { return value.refuse("is no string") };
    let kept = usize::try_from(length - end_length).unwrap_or(0);
    let cut = whole.char_indices().nth(kept).map_or(whole.len(), |(at, _)| at);
    let mut kept = &whole[..cut];
    if !flag(kill_words.as_ref(), false) {
        kept = kept.rsplit_once(' ').map_or(kept, |(before, _)| before);
    }
    let mut out = i.budget.builder();
    out.push(kept)?;
    out.push(end)?;
    let cut = out.value();
    Ok(Value::text_like(&value, cut))
}

pub(super) fn to_json(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let names = ["ensure_ascii", "indent", "separators", "sort_keys"];
    let [ascii, indent, separators, sort] = args.bind("tojson", names, 0)?;
    let indent = match indent {
        None | Some(Value::None) => None,
        Some(indent) => Some(if let Some(text) = indent.as_str() {
            Indent::Text(text.to_owned())
        } else {
            let width = integer(Some(&indent), 0)?.max(0);
            Indent::Spaces(usize::try_from(width).unwrap_or(usize::MAX))
        }),
    };
    let mut item_separator = if indent.is_some() { "," } else { ", " }.to_owned();
    let mut key_separator = ": ".to_owned();
    if let Some(separators) = separators.filter(|value| !matches!(value, Value::None)) {
        let given = separators.elements(&mut i.budget)?;
        let [Some(item), Some(key)] =
            [given.first(), given.get(1)].map(|s| s.and_then(Value::as_str))
        else {
            return Err(TemplateError::runtime("'separators' must be two strings"));
        };
        (item_separator, key_separator) = (item.to_owned(), key.to_owned());
    }
    let sort = flag(sort.as_ref(), false);
    let style =
        Style { ascii: flag(ascii.as_ref(), false), indent, item_separator, key_separator, sort };
    let mut out = i.budget.builder();
    json::write(&value, &style, 0, &mut out)?;
    Ok(out.value())
}
