//! Values at run time. Containers are immutable and know their height, so that no walk over a
//! value recurses further than the limit its making was checked against.

pub(crate) mod compare;
mod convert;
pub(crate) mod operators;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use crate::budget::Budget;
use crate::error::{Result, TemplateError, quote};
use crate::globals::Global;

pub(crate) use convert::from_json;

#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// Nothing of that name: printed as nothing, an error in almost every operation.
    Undefined(Option<Arc<str>>),
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Arc<str>),
    /// A string marked as HTML by `escape` or `safe`.
    Markup(Arc<str>),
    List(Rc<Sequence>),
    Tuple(Rc<Sequence>),
    Dict(Rc<Dict>),
    Range(Rc<Range>),
    View(ViewKind, Rc<Dict>),
    /// What Python would make a generator: read once.
    Iterator(Rc<Iterator>),
    /// A method taken from its object and not yet called.
    Method(Rc<(Value, Arc<str>)>),
    Global(Global),
    // Things with a state live in the interpreter, so that they can hold each other without
    // keeping each other alive.
    Namespace(usize),
    Macro(usize),
    Loop(usize),
    LoopMethod(usize, LoopMethod),
    Cycler(usize),
    Joiner(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopMethod {
    Cycle,
    Changed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ViewKind {
    Keys,
    Values,
    Items,
}

#[derive(Debug)]
pub(crate) struct Sequence {
    pub(crate) items: Vec<Value>,
    depth: usize,
    /// Names of the two fields of a group, which is a tuple otherwise.
    pub(crate) group: bool,
}

#[derive(Debug)]
pub(crate) struct Dict {
    pub(crate) entries: Vec<(Value, Value)>,
    depth: usize,
}

#[derive(Debug)]
pub(crate) struct Iterator {
    pub(crate) items: Vec<Value>,
    pub(crate) next: Cell<usize>,
    depth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: i64,
    pub(crate) stop: i64,
    pub(crate) step: i64,
}

impl Range {
    pub(crate) fn len(&self) -> usize {
        let (start, stop, step) =
            (i128::from(self.start), i128::from(self.stop), i128::from(self.step));
        let span = if step > 0 { stop - start } else { start - stop };
        let step = step.abs().max(1);
        usize::try_from((span.max(0) + step - 1) / step).unwrap_or(usize::MAX)
    }

    pub(crate) fn get(&self, index: usize) -> i64 {
        let value = i128::from(self.start) + i128::from(self.step) * index as i128;
        i64::try_from(value).unwrap_or(i64::MAX)
    }
}

fn checked_depth(budget: &Budget, below: usize) -> Result<usize> {
    if below + 1 > budget.limits.value_depth {
        return Err(TemplateError::limit("value_depth", budget.limits.value_depth as u64));
    }
    Ok(below + 1)
}

fn height<'v>(values: impl IntoIterator<Item = &'v Value>) -> usize {
    values.into_iter().map(Value::depth).max().unwrap_or(0)
}

impl Value {
    /// A list of elements that were charged by [`Budget::elements`].
    pub(crate) fn list(items: Vec<Value>, budget: &Budget) -> Result<Value> {
        let depth = checked_depth(budget, height(&items))?;
        Ok(Value::List(Rc::new(Sequence { items, depth, group: false })))
    }

    pub(crate) fn tuple(items: Vec<Value>, budget: &Budget) -> Result<Value> {
        let depth = checked_depth(budget, height(&items))?;
        Ok(Value::Tuple(Rc::new(Sequence { items, depth, group: false })))
    }

    /// A tuple whose two elements are also called `grouper` and `list`.
    pub(crate) fn group(items: Vec<Value>, budget: &Budget) -> Result<Value> {
        let depth = checked_depth(budget, height(&items))?;
        Ok(Value::Tuple(Rc::new(Sequence { items, depth, group: true })))
    }

    pub(crate) fn iterator(items: Vec<Value>, budget: &Budget) -> Result<Value> {
        let depth = checked_depth(budget, height(&items))?;
        Ok(Value::Iterator(Rc::new(Iterator { items, next: Cell::new(0), depth })))
    }

    /// A dict of entries whose keys differ.
    pub(crate) fn dict(entries: Vec<(Value, Value)>, budget: &Budget) -> Result<Value> {
        let depth = height(entries.iter().flat_map(|(key, value)| [key, value]));
        let depth = checked_depth(budget, depth)?;
        Ok(Value::Dict(Rc::new(Dict { entries, depth })))
    }

    pub(crate) fn method(object: Value, name: Arc<str>, budget: &mut Budget) -> Result<Value> {
        budget.elements(2)?;
        checked_depth(budget, object.depth())?;
        Ok(Value::Method(Rc::new((object, name))))
    }

    pub(crate) fn depth(&self) -> usize {
        match self {
            Value::List(sequence) | Value::Tuple(sequence) => sequence.depth,
            Value::Dict(dict) => dict.depth,
            Value::View(_, dict) => dict.depth + 1,
            Value::Iterator(iterator) => iterator.depth,
            Value::Method(bound) => bound.0.depth() + 1,
            _ => 0,
        }
    }

    pub(crate) fn undefined(name: &str) -> Value {
        Value::Undefined(Some(Arc::from(name)))
    }

    pub(crate) fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined(_))
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(text) | Value::Markup(text) => Some(text),
            _ => None,
        }
    }

    /// An integer as Python's index protocol gives it.
    pub(crate) fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            Value::Bool(value) => Some(i64::from(*value)),
            _ => None,
        }
    }

    /// Python's name of the type, for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::Undefined(_) => "Undefined",
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Str(_) => "str",
            Value::Markup(_) => "Markup",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::Dict(_) => "dict",
            Value::Range(_) => "range",
            Value::View(ViewKind::Keys, _) => "dict_keys",
            Value::View(ViewKind::Values, _) => "dict_values",
            Value::View(ViewKind::Items, _) => "dict_items",
            Value::Iterator(_) => "generator",
            Value::Method(_) | Value::LoopMethod(..) => "method",
            Value::Global(_) => "function",
            Value::Namespace(_) => "Namespace",
            Value::Macro(_) => "Macro",
            Value::Loop(_) => "LoopContext",
            Value::Cycler(_) => "Cycler",
            Value::Joiner(_) => "Joiner",
        }
    }

    /// The error of an operation that this value does not have.
    pub(crate) fn refuse<T>(&self, operation: &str) -> Result<T> {
        Err(match self {
            Value::Undefined(Some(name)) => {
                TemplateError::runtime(format!("{} is undefined", quote(name)))
            }
            Value::Undefined(None) => TemplateError::runtime("a value is undefined"),
            other => TemplateError::runtime(format!("'{}' {operation}", other.type_name())),
        })
    }

    /// The same string, marked as HTML or not as `like` is.
    pub(crate) fn text_like(like: &Value, text: Value) -> Value {
        match (like, text) {
            (Value::Markup(_), Value::Str(text)) => Value::Markup(text),
            (_, text) => text,
        }
    }

    /// Number of elements, as Python's `len`.
    pub(crate) fn len(&self, budget: &mut Budget) -> Result<usize> {
        Ok(match self {
            Value::Undefined(_) => 0,
            Value::Str(text) | Value::Markup(text) => {
                budget.work(text.len())?;
                text.chars().count()
            }
            Value::List(sequence) | Value::Tuple(sequence) => sequence.items.len(),
            Value::Dict(dict) | Value::View(_, dict) => dict.entries.len(),
            Value::Range(range) => range.len(),
            other => return other.refuse("has no length"),
        })
    }

    /// All elements, charged as a new list. Reads a generator to its end.
    pub(crate) fn elements(&self, budget: &mut Budget) -> Result<Vec<Value>> {
        if let Value::Str(text) | Value::Markup(text) = self {
            return characters(text, budget);
        }
        let count = match self {
            Value::Iterator(iterator) => iterator.items.len() - iterator.next.get(),
            other => other.len(budget).or_else(|_| other.refuse("is not iterable"))?,
        };
        budget.elements(count)?;
        Ok(match self {
            Value::List(sequence) | Value::Tuple(sequence) => sequence.items.clone(),
            Value::Dict(dict) | Value::View(ViewKind::Keys, dict) => {
                dict.entries.iter().map(|(key, _)| key.clone()).collect()
            }
            Value::View(ViewKind::Values, dict) => {
                dict.entries.iter().map(|(_, value)| value.clone()).collect()
            }
            Value::View(ViewKind::Items, dict) => dict.pairs(budget)?,
            Value::Range(range) => (0..count).map(|index| Value::Int(range.get(index))).collect(),
            Value::Iterator(iterator) => {
                let rest = iterator.items[iterator.next.get()..].to_vec();
                iterator.next.set(iterator.items.len());
                rest
            }
            _ => Vec::new(),
        })
    }
}

/// Each character as a string of its own.
fn characters(text: &str, budget: &mut Budget) -> Result<Vec<Value>> {
    budget.work(text.len())?;
    let count = text.chars().count();
    // A string takes a block of its own besides its place in the list.
    budget.elements(count.saturating_mul(2))?;
    budget.steps(count)?;
    Ok(text.chars().map(|c| Value::Str(Arc::from(c.encode_utf8(&mut [0; 4]) as &str))).collect())
}

impl Dict {
    pub(crate) fn pairs(&self, budget: &mut Budget) -> Result<Vec<Value>> {
        budget.elements(self.entries.len().saturating_mul(3))?;
        let pair =
            |(key, value): &(Value, Value)| Value::tuple(vec![key.clone(), value.clone()], budget);
        self.entries.iter().map(pair).collect()
    }

    pub(crate) fn get(&self, key: &Value, budget: &mut Budget) -> Result<Option<&Value>> {
        Ok(position(&self.entries, key, budget)?.map(|index| &self.entries[index].1))
    }

    pub(crate) fn get_str(&self, key: &str, budget: &mut Budget) -> Result<Option<&Value>> {
        budget.work(self.entries.len())?;
        let found = self.entries.iter().find(|(known, _)| known.as_str() == Some(key));
        Ok(found.map(|(_, value)| value))
    }
}

/// Where a key stands among entries; an error if it cannot be a key.
pub(crate) fn position(
    entries: &[(Value, Value)],
    key: &Value,
    budget: &mut Budget,
) -> Result<Option<usize>> {
    check_hashable(key, budget)?;
    for (index, (known, _)) in entries.iter().enumerate() {
        if compare::equal(known, key, budget)? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

/// Puts an entry into a dict in the making, in the place of one with the same key.
pub(crate) fn insert(
    entries: &mut Vec<(Value, Value)>,
    key: Value,
    value: Value,
    budget: &mut Budget,
) -> Result<()> {
    if let Some(index) = position(entries, &key, budget)? {
        entries[index].1 = value;
    } else {
        budget.elements(2)?;
        entries.push((key, value));
    }
    Ok(())
}

pub(crate) fn check_hashable(key: &Value, budget: &mut Budget) -> Result<()> {
    budget.steps(1)?;
    match key {
        Value::List(_) | Value::Dict(_) | Value::View(ViewKind::Keys | ViewKind::Items, _) => {
            key.refuse("cannot be a key")
        }
        Value::Tuple(tuple) => tuple.items.iter().try_for_each(|item| check_hashable(item, budget)),
        _ => Ok(()),
    }
}
