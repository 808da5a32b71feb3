//! The functions every template knows.

use std::sync::Arc;

use crate::Functions;
use crate::error::{Result, TemplateError};
use crate::evaluate::{Args, Interpreter};
use crate::limits::Limits;
use crate::value::{Range, Value, insert};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Global {
    Range,
    Dict,
    Namespace,
    Cycler,
    Joiner,
    Lipsum,
    RaiseException,
    StrftimeNow,
}

impl Global {
    pub(crate) fn find(name: &str, functions: &Functions<'_>) -> Option<Global> {
        Some(match name {
            "range" => Global::Range,
            "dict" => Global::Dict,
            "namespace" => Global::Namespace,
            "cycler" => Global::Cycler,
            "joiner" => Global::Joiner,
            "lipsum" => Global::Lipsum,
            "raise_exception" => Global::RaiseException,
            "strftime_now" if functions.strftime_now.is_some() => Global::StrftimeNow,
            _ => return None,
        })
    }
}

pub(crate) fn call(interpreter: &mut Interpreter<'_>, global: Global, args: Args) -> Result<Value> {
    match global {
        Global::Range => range(&args),
        Global::Dict => {
            let entries = entries(interpreter, args)?;
            Value::dict(entries, &interpreter.budget)
        }
        Global::Namespace => {
            let entries = entries(interpreter, args)?;
            interpreter.new_namespace(entries)
        }
        Global::Cycler => {
            if args.positional.is_empty() || !args.named.is_empty() {
                return Err(TemplateError::runtime("'cycler' needs items"));
            }
            interpreter.new_cycler(args.positional)
        }
        Global::Joiner => {
            let [separator] = args.bind("joiner", ["sep"], 0)?;
            let separator = match separator {
                Some(separator) => separator,
                None => interpreter.budget.text(", ")?,
            };
            interpreter.new_joiner(separator)
        }
        Global::Lipsum => Err(TemplateError::unsupported("the function 'lipsum'")),
        Global::RaiseException => {
            let [message] = args.bind("raise_exception", ["message"], 1)?;
            interpreter.raise(&message.unwrap_or(Value::None))
        }
        Global::StrftimeNow => {
            let [format] = args.bind("strftime_now", ["format"], 1)?;
            let format = format.unwrap_or(Value::None);
            let Some(format) = format.as_str() else { return format.refuse("is no format") };
            let now = interpreter.functions().strftime_now.map(|now| now(format));
            interpreter.budget.text(&now.unwrap_or_default())
        }
    }
}

fn range(args: &Args) -> Result<Value> {
    if !args.named.is_empty() {
        return Err(TemplateError::runtime("'range' takes no named arguments"));
    }
    let mut numbers = [0; 3];
    let count = args.positional.len();
    if !(1..=3).contains(&count) {
        return Err(TemplateError::runtime("'range' takes one to three integers"));
    }
    for (number, value) in numbers.iter_mut().zip(&args.positional) {
        match value.as_int() {
            Some(value) => *number = value,
            None => return value.refuse("is no integer"),
        }
    }
    let range = match (count, numbers) {
        (1, [stop, ..]) => Range { start: 0, stop, step: 1 },
        (2, [start, stop, _]) => Range { start, stop, step: 1 },
        (_, [start, stop, step]) => Range { start, stop, step },
    };
    if range.step == 0 {
        return Err(TemplateError::runtime("the step of 'range' is zero"));
    }
    if range.len() as u64 > Limits::RANGE as u64 {
        return Err(TemplateError::limit("range", Limits::RANGE as u64));
    }
    Ok(Value::Range(range.into()))
}

/// The entries of `dict(...)`: a mapping or pairs, then names.
fn entries(interpreter: &mut Interpreter<'_>, args: Args) -> Result<Vec<(Value, Value)>> {
    let budget = &mut interpreter.budget;
    let mut entries = Vec::new();
    if args.positional.len() > 1 {
        return Err(TemplateError::runtime("'dict' takes at most one argument without a name"));
    }
    match args.positional.first() {
        None | Some(Value::Undefined(_)) => {}
        Some(Value::Dict(dict)) => {
            budget.elements(dict.entries.len().saturating_mul(2))?;
            entries.clone_from(&dict.entries);
        }
        Some(other) => {
            for pair in other.elements(budget)? {
                let mut pair = pair.elements(budget)?.into_iter();
                match (pair.next(), pair.next(), pair.next()) {
                    (Some(key), Some(value), None) => {
                        insert(&mut entries, key, value, budget)?;
                    }
                    _ => return Err(TemplateError::runtime("'dict' needs pairs")),
                }
            }
        }
    }
    for (name, value) in args.named {
        insert(&mut entries, Value::Str(Arc::clone(&name)), value, budget)?;
    }
    Ok(entries)
}
