//! Equality, order and membership as Python has them, every element charged.

use std::cmp::Ordering;

use super::{Dict, Sequence, Value, ViewKind};
use crate::budget::Budget;
use crate::error::{Result, TemplateError};

/// A number that Python compares with other numbers.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    pub(crate) fn of(value: &Value) -> Option<Number> {
        match value {
            Value::Bool(value) => Some(Number::Int(i64::from(*value))),
            Value::Int(value) => Some(Number::Int(*value)),
            Value::Float(value) => Some(Number::Float(*value)),
            _ => None,
        }
    }

    pub(crate) fn as_float(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    fn compare(self, other: Number) -> Option<Ordering> {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
            (Number::Int(a), Number::Float(b)) => compare_mixed(a, b),
            (Number::Float(a), Number::Int(b)) => compare_mixed(b, a).map(Ordering::reverse),
            (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        }
    }
}

/// Compares exactly: not every integer is a float.
fn compare_mixed(int: i64, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float >= 9_223_372_036_854_775_808.0 {
        return Some(Ordering::Less);
    }
    if float < -9_223_372_036_854_775_808.0 {
        return Some(Ordering::Greater);
    }
    let whole = float.trunc();
    Some(
        int.cmp(&(whole as i64)).then_with(|| whole.partial_cmp(&float).unwrap_or(Ordering::Equal)),
    )
}

/// Python's truth of a value.
pub(crate) fn truth(value: &Value) -> bool {
    match value {
        Value::Undefined(_) | Value::None => false,
        Value::Bool(value) => *value,
        Value::Int(value) => *value != 0,
        Value::Float(value) => *value != 0.0,
        Value::Str(text) | Value::Markup(text) => !text.is_empty(),
        Value::List(sequence) | Value::Tuple(sequence) => !sequence.items.is_empty(),
        Value::Dict(dict) | Value::View(_, dict) => !dict.entries.is_empty(),
        Value::Range(range) => range.len() > 0,
        _ => true,
    }
}

pub(crate) fn equal(a: &Value, b: &Value, budget: &mut Budget) -> Result<bool> {
    budget.steps(1)?;
    if let (Some(a), Some(b)) = (Number::of(a), Number::of(b)) {
        return Ok(a.compare(b) == Some(Ordering::Equal));
    }
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        if a.len() != b.len() {
            return Ok(false);
        }
        budget.work(a.len())?;
        return Ok(a == b);
    }
    Ok(match (a, b) {
        (Value::Undefined(_), Value::Undefined(_)) | (Value::None, Value::None) => true,
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            equal_sequences(a, b, budget)?
        }
        (Value::Dict(a), Value::Dict(b)) => equal_dicts(a, b, budget)?,
        (Value::Range(a), Value::Range(b)) => {
            a.len() == b.len()
                && (a.len() == 0 || a.start == b.start && (a.len() == 1 || a.step == b.step))
        }
        (
            Value::View(kind @ (ViewKind::Keys | ViewKind::Items), _),
            Value::View(ViewKind::Keys | ViewKind::Items, _),
        ) => equal_views(*kind, a, b, budget)?,
        (Value::View(_, a), Value::View(_, b)) => std::rc::Rc::ptr_eq(a, b),
        (Value::Iterator(a), Value::Iterator(b)) => std::rc::Rc::ptr_eq(a, b),
        (Value::Method(a), Value::Method(b)) => std::rc::Rc::ptr_eq(a, b),
        (Value::Global(a), Value::Global(b)) => a == b,
        (Value::Namespace(a), Value::Namespace(b))
        | (Value::Macro(a), Value::Macro(b))
        | (Value::Loop(a), Value::Loop(b))
        | (Value::Cycler(a), Value::Cycler(b))
        | (Value::Joiner(a), Value::Joiner(b)) => a == b,
        _ => false,
    })
}

fn equal_sequences(a: &Sequence, b: &Sequence, budget: &mut Budget) -> Result<bool> {
    if a.items.len() != b.items.len() {
        return Ok(false);
    }
    for (a, b) in a.items.iter().zip(&b.items) {
        if !equal(a, b, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_dicts(a: &Dict, b: &Dict, budget: &mut Budget) -> Result<bool> {
    if a.entries.len() != b.entries.len() {
        return Ok(false);
    }
    for (key, value) in &a.entries {
        match b.get(key, budget)? {
            Some(other) if equal(value, other, budget)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Views of keys and items are compared as sets.
fn equal_views(kind: ViewKind, a: &Value, b: &Value, budget: &mut Budget) -> Result<bool> {
    let (Value::View(_, left), Value::View(other, right)) = (a, b) else { return Ok(false) };
    if left.entries.len() != right.entries.len() || kind != *other {
        return Ok(false);
    }
    if kind == ViewKind::Items {
        return equal_dicts(left, right, budget);
    }
    for (key, _) in &left.entries {
        if right.get(key, budget)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Python's `<`, `<=`, `>`, `>=` between values that have an order; none beside a NaN.
pub(crate) fn order(a: &Value, b: &Value, budget: &mut Budget) -> Result<Option<Ordering>> {
    budget.steps(1)?;
    if let (Some(a), Some(b)) = (Number::of(a), Number::of(b)) {
        return Ok(a.compare(b));
    }
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        budget.work(a.len().min(b.len()))?;
        return Ok(Some(a.cmp(b)));
    }
    match (a, b) {
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            for (a, b) in a.items.iter().zip(&b.items) {
                if !equal(a, b, budget)? {
                    return order(a, b, budget);
                }
            }
            Ok(Some(a.items.len().cmp(&b.items.len())))
        }
        (Value::Undefined(_), _) => a.refuse(""),
        (_, Value::Undefined(_)) => b.refuse(""),
        _ => Err(TemplateError::runtime(format!(
            "'{}' and '{}' have no order",
            a.type_name(),
            b.type_name()
        ))),
    }
}

/// Python's `in`.
pub(crate) fn contains(container: &Value, item: &Value, budget: &mut Budget) -> Result<bool> {
    match container {
        Value::Str(text) | Value::Markup(text) => {
            let Some(part) = item.as_str() else {
                return item.refuse("cannot be looked for in a string");
            };
            budget.work(text.len() + part.len())?;
            Ok(text.contains(part))
        }
        Value::Dict(dict) | Value::View(ViewKind::Keys, dict) => {
            Ok(dict.get(item, budget)?.is_some())
        }
        Value::Range(range) => {
            let Some(Number::Int(value)) = Number::of(item).map(whole) else { return Ok(false) };
            let offset = i128::from(value) - i128::from(range.start);
            let step = i128::from(range.step);
            Ok(offset % step == 0 && (0..range.len() as i128).contains(&(offset / step)))
        }
        Value::List(sequence) | Value::Tuple(sequence) => {
            for element in &sequence.items {
                if equal(element, item, budget)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Iterator(iterator) => {
            while let Some(element) = iterator.items.get(iterator.next.get()) {
                iterator.next.set(iterator.next.get() + 1);
                if equal(element, item, budget)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Undefined(_) => Ok(false),
        other => {
            for element in other.elements(budget)? {
                if equal(&element, item, budget)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}

/// A float that is a whole number, as that number.
fn whole(number: Number) -> Number {
    match number {
        Number::Float(value) if value.fract() == 0.0 && value.abs() < 9e18 => {
            Number::Int(value as i64)
        }
        other => other,
    }
}
