//! Attributes, items and slices, with jinja2's way from one to the other.

use std::sync::Arc;

use super::Interpreter;
use crate::error::{Result, TemplateError};
use crate::methods;
use crate::value::{LoopMethod, Value};

impl Interpreter<'_> {
    /// `value.name`: the attribute, else the item of that name, else undefined.
    pub(crate) fn attribute(&mut self, value: &Value, name: &str) -> Result<Value> {
        if value.is_undefined() {
            return value.refuse("");
        }
        if let Some(found) = self.own_attribute(value, name)? {
            return Ok(found);
        }
        if let Value::Dict(dict) = value
            && let Some(found) = dict.get_str(name, &mut self.budget)?
        {
            return Ok(found.clone());
        }
        self.budget.allocate(name.len())?;
        Ok(Value::undefined(name))
    }

    /// What Python's `getattr` finds and the sandbox lets through.
    pub(crate) fn own_attribute(&mut self, value: &Value, name: &str) -> Result<Option<Value>> {
        let found = match value {
            Value::Namespace(index) => {
                let entries = self.namespaces.get(*index).map_or(&[][..], Vec::as_slice);
                self.budget.work(entries.len())?;
                let entry = entries.iter().find(|(known, _)| known.as_str() == Some(name));
                entry.map(|(_, value)| value.clone())
            }
            Value::Loop(index) => self.loop_attribute(*index, name),
            Value::Tuple(tuple) if tuple.group && matches!(name, "grouper" | "list") => {
                tuple.items.get(usize::from(name == "list")).cloned()
            }
            Value::Macro(index) if name == "name" => {
                self.macros.get(*index).map(|made| Value::Str(made.declaration.name.clone()))
            }
            Value::Cycler(index) if name == "current" => {
                self.cyclers.get(*index).and_then(|(items, next)| items.get(*next)).cloned()
            }
            _ => None,
        };
        if found.is_some() {
            return Ok(found);
        }
        match methods::find(value, name) {
            methods::Found::Method => {
                Value::method(value.clone(), Arc::from(name), &mut self.budget).map(Some)
            }
            methods::Found::Unsafe => Ok(Some(Value::undefined(name))),
            methods::Found::No => Ok(None),
        }
    }

    fn loop_attribute(&self, index: usize, name: &str) -> Option<Value> {
        let state = self.loops.get(index)?;
        let length = state.items.len();
        let at = state.index;
        let int = |value: usize| Some(Value::Int(value as i64));
        let neighbor =
            |found: Option<&Value>| Some(found.cloned().unwrap_or_else(|| Value::undefined(name)));
        match name {
            "index" => int(at + 1),
            "index0" => int(at),
            "revindex" => int(length.saturating_sub(at)),
            "revindex0" => int(length.saturating_sub(at + 1)),
            "first" => Some(Value::Bool(at == 0)),
            "last" => Some(Value::Bool(at + 1 >= length)),
            "length" => int(length),
            "depth" => int(state.depth + 1),
            "depth0" => int(state.depth),
            "previtem" => neighbor(at.checked_sub(1).and_then(|at| state.items.get(at))),
            "nextitem" => neighbor(state.items.get(at + 1)),
            "cycle" => Some(Value::LoopMethod(index, LoopMethod::Cycle)),
            "changed" => Some(Value::LoopMethod(index, LoopMethod::Changed)),
            _ => None,
        }
    }

    /// `value[item]`: the item, else the attribute of that name, else undefined.
    pub(crate) fn item(&mut self, value: &Value, item: &Value) -> Result<Value> {
        let found = match value {
            Value::Undefined(_) => return value.refuse(""),
            // What cannot be a key is in no dict.
            Value::Dict(dict) => match dict.get(item, &mut self.budget) {
                Ok(found) => found.cloned(),
                Err(error) if *error.kind() == crate::TemplateErrorKind::Runtime => None,
                Err(error) => return Err(error),
            },
            Value::List(sequence) | Value::Tuple(sequence) => item
                .as_int()
                .and_then(|index| place(index, sequence.items.len()))
                .map(|index| sequence.items[index].clone()),
            Value::Range(range) => item
                .as_int()
                .and_then(|index| place(index, range.len()))
                .map(|index| Value::Int(range.get(index))),
            Value::Str(_) | Value::Markup(_) => match item.as_int() {
                Some(index) => self.character(value, index)?,
                None => None,
            },
            _ => None,
        };
        if let Some(found) = found {
            return Ok(found);
        }
        if let Some(name) = item.as_str() {
            if let Some(found) = self.own_attribute(value, name)? {
                return Ok(found);
            }
            self.budget.allocate(name.len())?;
            return Ok(Value::undefined(name));
        }
        Ok(Value::Undefined(None))
    }

    fn character(&mut self, value: &Value, index: i64) -> Result<Option<Value>> {
        let text = value.as_str().unwrap_or_default();
        let c = if let Ok(index) = usize::try_from(index) {
            self.budget.work(text.len().min(index.saturating_mul(4)))?;
            text.chars().nth(index)
        } else {
            let back = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
            self.budget.work(text.len().min(back.saturating_mul(4)))?;
            text.chars().rev().nth(back - 1)
        };
        let Some(c) = c else { return Ok(None) };
        let c = self.budget.text(c.encode_utf8(&mut [0; 4]))?;
        Ok(Some(Value::text_like(value, c)))
    }

    /// `value[start:stop:step]`.
    pub(super) fn slice(&mut self, value: &Value, bounds: [Option<i64>; 3]) -> Result<Value> {
        if bounds[2] == Some(0) {
            return Err(TemplateError::runtime("the step of a slice is zero"));
        }
        match value {
            Value::Str(text) | Value::Markup(text) => {
                self.budget.work(text.len())?;
                let length = text.chars().count();
                let (start, count, step) = slice_indices(bounds, length);
                let sliced = if step == 1 {
                    let from = byte_of(text, start);
                    let to = from + byte_of(&text[from..], count);
                    self.budget.text(&text[from..to])?
                } else {
                    self.budget.allocate(text.len().saturating_mul(5))?;
                    let chars: Vec<char> = text.chars().collect();
                    let picked: String =
                        picked(start, count, step).filter_map(|at| chars.get(at)).collect();
                    self.budget.text(&picked)?
                };
                Ok(Value::text_like(value, sliced))
            }
            Value::List(sequence) | Value::Tuple(sequence) => {
                let (start, count, step) = slice_indices(bounds, sequence.items.len());
                self.budget.elements(count)?;
                let items = picked(start, count, step)
                    .filter_map(|at| sequence.items.get(at).cloned())
                    .collect();
                if matches!(value, Value::List(_)) {
                    Value::list(items, &self.budget)
                } else {
                    Value::tuple(items, &self.budget)
                }
            }
            Value::Range(_) => Err(TemplateError::unsupported("a slice of a range")),
            other => other.refuse("cannot be sliced"),
        }
    }
}

/// The place of a Python index, which may count from the end.
fn place(index: i64, length: usize) -> Option<usize> {
    let index = if index < 0 { index.checked_add(i64::try_from(length).ok()?)? } else { index };
    usize::try_from(index).ok().filter(|index| *index < length)
}

fn byte_of(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

fn picked(start: usize, count: usize, step: i64) -> impl Iterator<Item = usize> {
    (0..count).map(move |index| {
        let at = start as i128 + i128::from(step) * index as i128;
        usize::try_from(at).unwrap_or(usize::MAX)
    })
}

/// First place, number of places and step of a slice: Python's `slice.indices`.
fn slice_indices([start, stop, step]: [Option<i64>; 3], length: usize) -> (usize, usize, i64) {
    let step = step.unwrap_or(1);
    let length = length as i128;
    let (lowest, highest) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let bound = |value: Option<i64>, default: i128| match value {
        None => default,
        Some(value) => {
            let value = i128::from(value);
            (if value < 0 { value + length } else { value }).clamp(lowest, highest)
        }
    };
    let (first, last) = if step > 0 { (lowest, highest) } else { (highest, lowest) };
    let (start, stop) = (bound(start, first), bound(stop, last));
    let wide = i128::from(step);
    let span = if step > 0 { stop - start } else { start - stop };
    let count = (span.max(0) + wide.abs() - 1) / wide.abs();
    (usize::try_from(start.max(0)).unwrap_or(0), usize::try_from(count).unwrap_or(0), step)
}
