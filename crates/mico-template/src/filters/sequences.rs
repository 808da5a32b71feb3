//! Filters that take elements or make lists of them.

use crate::ast::Arithmetic;
use crate::error::{Result, TemplateError};
use crate::evaluate::{Args, Interpreter, flag, integer};
use crate::filters::order::Getter;
use crate::value::operators::arithmetic;
use crate::value::{Value, compare};

pub(super) fn attr(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let [name] = args.bind("attr", ["name"], 1)?;
    let name = name.unwrap_or(Value::None);
    if value.is_undefined() {
        return value.refuse("");
    }
    let Some(name) = name.as_str() else { return name.refuse("is no attribute's name") };
    Ok(interpreter.own_attribute(&value, name)?.unwrap_or_else(|| Value::undefined(name)))
}

pub(super) fn length(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    args.none("length")?;
    Ok(Value::Int(value.len(&mut interpreter.budget)? as i64))
}

pub(super) fn default(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    args: Args,
) -> Result<Value> {
    let [default, boolean] = args.bind("default", ["default_value", "boolean"], 0)?;
    if value.is_undefined() || (flag(boolean.as_ref(), false) && !compare::truth(&value)) {
        return default.map_or_else(|| interpreter.budget.text(""), Ok);
    }
    Ok(value)
}

/// The next element, without copying the others where that can be helped.
pub(super) fn first(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    args.none("first")?;
    let found = match &value {
        Value::List(sequence) | Value::Tuple(sequence) => sequence.items.first().cloned(),
        Value::Iterator(iterator) => {
            let at = iterator.next.get();
            let found = iterator.items.get(at).cloned();
            iterator.next.set((at + 1).min(iterator.items.len()));
            found
        }
        Value::Str(_) | Value::Markup(_) => {
            let character = interpreter.item(&value, &Value::Int(0))?;
            Some(character).filter(|character| !character.is_undefined())
        }
        other => other.elements(&mut interpreter.budget)?.into_iter().next(),
    };
    Ok(found.unwrap_or(Value::Undefined(None)))
}

pub(super) fn last(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    args.none("last")?;
    let found = match &value {
        Value::List(sequence) | Value::Tuple(sequence) => sequence.items.last().cloned(),
        Value::Iterator(_) => return value.refuse("has no last element"),
        Value::Str(_) | Value::Markup(_) => {
            let character = interpreter.item(&value, &Value::Int(-1))?;
            Some(character).filter(|character| !character.is_undefined())
        }
        other => other.elements(&mut interpreter.budget)?.pop(),
    };
    Ok(found.unwrap_or(Value::Undefined(None)))
}

pub(super) fn items(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    args.none("items")?;
    let pairs = match &value {
        Value::Undefined(_) => Vec::new(),
        Value::Dict(dict) => dict.pairs(&mut interpreter.budget)?,
        other => return other.refuse("is no mapping"),
    };
    Value::iterator(pairs, &interpreter.budget)
}

pub(super) fn list(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    args.none("list")?;
    let items = value.elements(&mut interpreter.budget)?;
    Value::list(items, &interpreter.budget)
}

pub(super) fn reverse(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    args: Args,
) -> Result<Value> {
    args.none("reverse")?;
    if let Some(text) = value.as_str() {
        interpreter.budget.work(text.len())?;
        interpreter.budget.allocate(text.len())?;
        let reversed: String = text.chars().rev().collect();
        let reversed = interpreter.budget.text(&reversed)?;
        return Ok(Value::text_like(&value, reversed));
    }
    let mut items = value.elements(&mut interpreter.budget)?;
    items.reverse();
    match value {
        // Python has no reversed generator, so that jinja2 makes a list.
        Value::Iterator(_) => Value::list(items, &interpreter.budget),
        _ => Value::iterator(items, &interpreter.budget),
    }
}

pub(super) fn batch(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let [count, fill] = args.bind("batch", ["linecount", "fill_with"], 1)?;
    let count = integer(count.as_ref(), 0)?;
    let items = value.elements(&mut interpreter.budget)?;
    let budget = &mut interpreter.budget;
    // A size that no batch reaches makes one batch of everything, after an empty one for zero.
    let size = usize::try_from(count).unwrap_or(usize::MAX);
    let mut batches = Vec::new();
    if size == 0 && !items.is_empty() {
        budget.elements(2)?;
        batches.push(Value::list(Vec::new(), budget)?);
    }
    let step = if size == 0 { usize::MAX } else { size };
    for chunk in items.chunks(step.min(items.len().max(1))) {
        budget.elements(chunk.len() + 1)?;
        let mut chunk = chunk.to_vec();
        if let Some(fill) = fill.as_ref().filter(|fill| !matches!(fill, Value::None))
            && count > 0
            && chunk.len() < size
        {
            budget.elements(size - chunk.len())?;
            chunk.resize(size, fill.clone());
        }
        batches.push(Value::list(chunk, budget)?);
    }
    Value::iterator(batches, budget)
}

pub(super) fn slice(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let [count, fill] = args.bind("slice", ["slices", "fill_with"], 1)?;
    let count = integer(count.as_ref(), 0)?;
    let items = value.elements(&mut interpreter.budget)?;
    if count == 0 {
        return Err(TemplateError::runtime("'slice' into no slices"));
    }
    let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    let budget = &mut interpreter.budget;
    budget.elements(count.saturating_mul(3).saturating_add(items.len()))?;
    let mut slices = Vec::new();
    let mut rest = &items[..];
    for index in 0..count {
        let extra = index < items.len() % count;
        let (taken, after) =
            rest.split_at((items.len() / count + usize::from(extra)).min(rest.len()));
        rest = after;
        let mut taken = taken.to_vec();
        if let Some(fill) = fill.as_ref().filter(|fill| !matches!(fill, Value::None) && !extra) {
            taken.push(fill.clone());
        }
        slices.push(Value::list(taken, budget)?);
    }
    Value::iterator(slices, budget)
}

pub(super) fn sum(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let [attribute, start] = args.bind("sum", ["attribute", "start"], 0)?;
    let getter = Getter::new(attribute, None, false);
    let mut total = start.unwrap_or(Value::Int(0));
    if total.as_str().is_some() {
        return total.refuse("cannot be summed");
    }
    for item in value.elements(&mut interpreter.budget)? {
        let item = getter.get(interpreter, &item)?;
        total = arithmetic(Arithmetic::Add, &total, &item, &mut interpreter.budget)?;
    }
    Ok(total)
}
