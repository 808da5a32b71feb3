//! Filters that compare elements: sorting, grouping, extremes.

use std::cmp::Ordering;

use crate::budget::Budget;
use crate::error::{Result, TemplateError};
use crate::evaluate::{Args, Interpreter, flag, text};
use crate::methods::casing;
use crate::value::{Value, check_hashable, compare};

/// What of an element a filter looks at: `attribute='a.b.0'`, and whether case counts.
#[derive(Default)]
pub(crate) struct Getter {
    path: Vec<Value>,
    default: Option<Value>,
    ignore_case: bool,
}

impl Getter {
    pub(crate) fn new(
        attribute: Option<Value>,
        default: Option<Value>,
        ignore_case: bool,
    ) -> Getter {
        let path = match attribute {
            None | Some(Value::None) => Vec::new(),
            Some(attribute) => match attribute.as_str() {
                Some(text) => text.split('.').map(part).collect(),
                None => vec![attribute],
            },
        };
        let default = default.filter(|default| !matches!(default, Value::None));
        Getter { path, default, ignore_case }
    }

    pub(crate) fn get(&self, interpreter: &mut Interpreter<'_>, item: &Value) -> Result<Value> {
        let mut value = item.clone();
        for part in &self.path {
            value = interpreter.item(&value, part)?;
            if let Some(default) = self.default.as_ref().filter(|_| value.is_undefined()) {
                value = default.clone();
            }
        }
        match value.as_str() {
            Some(text) if self.ignore_case => {
                interpreter.budget.work(text.len())?;
                interpreter.budget.text(&casing::lower(text))
            }
            _ => Ok(value),
        }
    }
}

fn part(text: &str) -> Value {
    match text.parse::<i64>() {
        Ok(index) if text.bytes().all(|b| b.is_ascii_digit()) => Value::Int(index),
        _ => Value::Str(text.into()),
    }
}

/// A stable merge sort that only asks whether one key is less than another, as Python's does: an
/// order with holes (NaN) gives some order, and an error ends it.
pub(crate) fn sort_by_key<T: Clone>(
    mut items: Vec<(Value, T)>,
    reverse: bool,
    budget: &mut Budget,
) -> Result<Vec<T>> {
    if reverse {
        items.reverse();
    }
    let mut width = 1;
    while width < items.len() {
        let mut merged = Vec::with_capacity(items.len());
        for pair in items.chunks(2 * width) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge(left, right, &mut merged, budget)?;
        }
        items = merged;
        width *= 2;
    }
    if reverse {
        items.reverse();
    }
    Ok(items.into_iter().map(|(_, item)| item).collect())
}

fn merge<T: Clone>(
    mut left: &[(Value, T)],
    mut right: &[(Value, T)],
    merged: &mut Vec<(Value, T)>,
    budget: &mut Budget,
) -> Result<()> {
    while let ([first_left, rest_left @ ..], [first_right, rest_right @ ..]) = (left, right) {
        budget.steps(1)?;
        if compare::order(&first_right.0, &first_left.0, budget)? == Some(Ordering::Less) {
            merged.push(first_right.clone());
            right = rest_right;
        } else {
            merged.push(first_left.clone());
            left = rest_left;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    Ok(())
}

/// Elements with their keys, charged for both.
fn keyed(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    getters: &[Getter],
) -> Result<Vec<(Value, Value)>> {
    let items = value.elements(&mut interpreter.budget)?;
    interpreter.budget.elements(items.len().saturating_mul(4))?;
    let mut keyed = Vec::with_capacity(items.len());
    for item in items {
        let mut keys = Vec::with_capacity(getters.len());
        for getter in getters {
            keys.push(getter.get(interpreter, &item)?);
        }
        let key = match keys.pop() {
            Some(only) if keys.is_empty() => only,
            last => {
                interpreter.budget.elements(getters.len())?;
                keys.extend(last);
                Value::tuple(keys, &interpreter.budget)?
            }
        };
        keyed.push((key, item));
    }
    Ok(keyed)
}

pub(super) fn sort(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let names = ["reverse", "case_sensitive", "attribute"];
    let [reverse, case_sensitive, attribute] = args.bind("sort", names, 0)?;
    let ignore_case = !flag(case_sensitive.as_ref(), false);
    let mut getters = Vec::new();
    match attribute.as_ref().and_then(Value::as_str) {
        Some(several) => {
            for one in several.split(',') {
                let one = interpreter.budget.text(one)?;
                getters.push(Getter::new(Some(one), None, ignore_case));
            }
        }
        None => getters.push(Getter::new(attribute, None, ignore_case)),
    }
    let keyed = keyed(interpreter, &value, &getters)?;
    let reverse = flag(reverse.as_ref(), false);
    let sorted = sort_by_key(keyed, reverse, &mut interpreter.budget)?;
    Value::list(sorted, &interpreter.budget)
}

pub(super) fn dict_sort(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    args: Args,
) -> Result<Value> {
    let names = ["case_sensitive", "by", "reverse"];
    let [case_sensitive, by, reverse] = args.bind("dictsort", names, 0)?;
    let place = match text(by.as_ref(), "key")? {
        "key" => 0,
        "value" => 1,
        _ => return Err(TemplateError::runtime("'dictsort' sorts by 'key' or 'value'")),
    };
    let Value::Dict(dict) = &value else { return value.refuse("is no mapping") };
    let pairs = dict.pairs(&mut interpreter.budget)?;
    let pairs = Value::list(pairs, &interpreter.budget)?;
    let ignore_case = !flag(case_sensitive.as_ref(), false);
    let getter = Getter::new(Some(Value::Int(place)), None, ignore_case);
    let keyed = keyed(interpreter, &pairs, &[getter])?;
    let reverse = flag(reverse.as_ref(), false);
    let sorted = sort_by_key(keyed, reverse, &mut interpreter.budget)?;
    Value::list(sorted, &interpreter.budget)
}

pub(super) fn group_by(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    args: Args,
) -> Result<Value> {
    let names = ["attribute", "default", "case_sensitive"];
    let [attribute, default, case_sensitive] = args.bind("groupby", names, 1)?;
    let ignore_case = !flag(case_sensitive.as_ref(), false);
    let shown = Getter::new(attribute.clone(), default.clone(), false);
    let getter = Getter::new(attribute, default, ignore_case);
    let keyed = keyed(interpreter, &value, &[getter])?;
    let with_keys = keyed.into_iter().map(|(key, item)| (key.clone(), (key, item))).collect();
    let sorted = sort_by_key(with_keys, false, &mut interpreter.budget)?;
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for (key, item) in sorted {
        match groups.last_mut() {
            Some((last, items)) if compare::equal(last, &key, &mut interpreter.budget)? => {
                items.push(item);
            }
            _ => groups.push((key, vec![item])),
        }
    }
    interpreter.budget.elements(groups.len().saturating_mul(6))?;
    let mut made = Vec::with_capacity(groups.len());
    for (_, items) in groups {
        let key = match items.first() {
            Some(first) => shown.get(interpreter, first)?,
            None => Value::None,
        };
        let items = Value::list(items, &interpreter.budget)?;
        made.push(Value::group(vec![key, items], &interpreter.budget)?);
    }
    Value::list(made, &interpreter.budget)
}

pub(super) fn unique(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let [case_sensitive, attribute] = args.bind("unique", ["case_sensitive", "attribute"], 0)?;
    let getter = Getter::new(attribute, None, !flag(case_sensitive.as_ref(), false));
    let mut seen: Vec<Value> = Vec::new();
    let mut kept = Vec::new();
    for (key, item) in keyed(interpreter, &value, &[getter])? {
        check_hashable(&key, &mut interpreter.budget)?;
        let mut known = false;
        for other in &seen {
            known = known || compare::equal(other, &key, &mut interpreter.budget)?;
        }
        if !known {
            seen.push(key);
            kept.push(item);
        }
    }
    Value::iterator(kept, &interpreter.budget)
}

fn extreme(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    args: Args,
    wanted: Ordering,
) -> Result<Value> {
    let [case_sensitive, attribute] =
        args.bind("min and max", ["case_sensitive", "attribute"], 0)?;
    let getter = Getter::new(attribute, None, !flag(case_sensitive.as_ref(), false));
    let mut best: Option<(Value, Value)> = None;
    for (key, item) in keyed(interpreter, value, &[getter])? {
        let better = match &best {
            None => true,
            Some((known, _)) => {
                compare::order(&key, known, &mut interpreter.budget)? == Some(wanted)
            }
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(Value::Undefined(None), |(_, item)| item))
}

pub(super) fn min(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    extreme(i, &value, args, Ordering::Less)
}

pub(super) fn max(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    extreme(i, &value, args, Ordering::Greater)
}
