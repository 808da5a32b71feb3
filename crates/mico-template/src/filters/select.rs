//! `map`, `select`, `reject` and their like.

use crate::error::{Result, TemplateError, quote};
use crate::evaluate::{Args, Interpreter};
use crate::filters::order::Getter;
use crate::tests;
use crate::value::{Value, compare};

/// Arguments that are given again for every element.
fn again(args: &Args, interpreter: &mut Interpreter<'_>) -> Result<Args> {
    interpreter.budget.elements(args.positional.len() + 2 * args.named.len())?;
    Ok(Args { positional: args.positional.clone(), named: args.named.clone() })
}

/// Takes the first positional argument away.
fn shift(args: &mut Args) -> Option<Value> {
    if args.positional.is_empty() { None } else { Some(args.positional.remove(0)) }
}

pub(super) fn map(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    mut args: Args,
) -> Result<Value> {
    let by_attribute =
        args.positional.is_empty() && args.named.iter().any(|(name, _)| **name == *"attribute");
    let mut mapped = Vec::new();
    // Nothing to do needs no filter, and what counts as false need not be a sequence.
    if !compare::truth(&value) {
        return Value::iterator(mapped, &interpreter.budget);
    }
    if by_attribute {
        let [attribute, default] = args.bind("map", ["attribute", "default"], 0)?;
        let getter = Getter::new(attribute, default, false);
        for item in value.elements(&mut interpreter.budget)? {
            mapped.push(getter.get(interpreter, &item)?);
        }
        return Value::iterator(mapped, &interpreter.budget);
    }
    let Some(name) = shift(&mut args) else {
        return Err(TemplateError::runtime("'map' needs a filter"));
    };
    let Some(name) = name.as_str() else { return name.refuse("is no filter's name") };
    for item in value.elements(&mut interpreter.budget)? {
        let args = again(&args, interpreter)?;
        mapped.push(super::run(interpreter, name, item, args)?);
    }
    Value::iterator(mapped, &interpreter.budget)
}

/// The elements of which a test says what is wanted.
fn choose(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    mut args: Args,
    getter: &Getter,
    wanted: bool,
) -> Result<Value> {
    if !compare::truth(value) {
        return Value::iterator(Vec::new(), &interpreter.budget);
    }
    let test = match shift(&mut args) {
        None => None,
        Some(name) => {
            let Some(name) = name.as_str() else { return name.refuse("is no test's name") };
            let test = tests::find(name);
            let unknown = || TemplateError::runtime(format!("no test is named {}", quote(name)));
            Some(test.ok_or_else(unknown)?)
        }
    };
    let mut chosen = Vec::new();
    for item in value.elements(&mut interpreter.budget)? {
        let tested = getter.get(interpreter, &item)?;
        let holds = match test {
            None => compare::truth(&tested),
            Some(test) => {
                let args = again(&args, interpreter)?;
                test(interpreter, &tested, args)?
            }
        };
        if holds == wanted {
            chosen.push(item);
        }
    }
    Value::iterator(chosen, &interpreter.budget)
}

pub(super) fn select(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    choose(i, &value, args, &Getter::default(), true)
}

pub(super) fn reject(i: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    choose(i, &value, args, &Getter::default(), false)
}

fn attribute(args: &mut Args) -> Result<Getter> {
    let attribute =
        shift(args).ok_or_else(|| TemplateError::runtime("the name of an attribute is missing"))?;
    Ok(Getter::new(Some(attribute), None, false))
}

pub(super) fn select_attr(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    mut args: Args,
) -> Result<Value> {
    let getter = attribute(&mut args)?;
    choose(interpreter, &value, args, &getter, true)
}

pub(super) fn reject_attr(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    mut args: Args,
) -> Result<Value> {
    let getter = attribute(&mut args)?;
    choose(interpreter, &value, args, &getter, false)
}
