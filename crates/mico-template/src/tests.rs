//! Jinja's tests: what may follow `is`.

use crate::ast::{Arithmetic, Comparison};
use crate::display::to_text;
use crate::error::Result;
use crate::evaluate::{Args, Interpreter};
use crate::filters;
use crate::methods::casing;
use crate::value::{Value, compare, operators};

pub(crate) type TestFn = fn(&mut Interpreter<'_>, &Value, Args) -> Result<bool>;

/// The test of a name.
pub(crate) fn find(name: &str) -> Option<TestFn> {
    Some(match name {
        "defined" => |_, value, args| plain(args, !value.is_undefined()),
        "undefined" => |_, value, args| plain(args, value.is_undefined()),
        "none" => |_, value, args| plain(args, matches!(value, Value::None)),
        "boolean" => |_, value, args| plain(args, matches!(value, Value::Bool(_))),
        "true" => |_, value, args| plain(args, matches!(value, Value::Bool(true))),
        "false" => |_, value, args| plain(args, matches!(value, Value::Bool(false))),
        "integer" => |_, value, args| plain(args, matches!(value, Value::Int(_))),
        "float" => |_, value, args| plain(args, matches!(value, Value::Float(_))),
        "number" => |_, value, args| plain(args, compare::Number::of(value).is_some()),
        "string" => |_, value, args| plain(args, value.as_str().is_some()),
        "mapping" => |_, value, args| plain(args, matches!(value, Value::Dict(_))),
        "escaped" => |_, value, args| plain(args, matches!(value, Value::Markup(_))),
        "sequence" => |_, value, args| plain(args, is_sequence(value)),
        "iterable" => |_, value, args| plain(args, is_iterable(value)),
        "callable" => |_, value, args| plain(args, is_callable(value)),
        "lower" => |interpreter, value, args| cased(interpreter, value, args, false),
        "upper" => |interpreter, value, args| cased(interpreter, value, args, true),
        "odd" => |_, value, args| remainder(value, &Value::Int(2), args, 1),
        "even" => |_, value, args| remainder(value, &Value::Int(2), args, 0),
        "divisibleby" => divisible,
        "filter" => |_, value, args| {
            plain(args, value.as_str().is_some_and(|name| filters::find(name).is_some()))
        },
        "test" => {
            |_, value, args| plain(args, value.as_str().is_some_and(|name| find(name).is_some()))
        }
        "sameas" => same,
        "in" => |interpreter, value, args| against(interpreter, value, args, Comparison::In),
        _ => return find_comparison(name),
    })
}

fn find_comparison(name: &str) -> Option<TestFn> {
    Some(match name {
        "eq" | "==" | "equalto" => {
            |interpreter, value, args| against(interpreter, value, args, Comparison::Equal)
        }
        "ne" | "!=" => {
            |interpreter, value, args| against(interpreter, value, args, Comparison::NotEqual)
        }
        "lt" | "<" | "lessthan" => {
            |interpreter, value, args| against(interpreter, value, args, Comparison::Less)
        }
        "le" | "<=" => {
            |interpreter, value, args| against(interpreter, value, args, Comparison::LessOrEqual)
        }
        "gt" | ">" | "greaterthan" => {
            |interpreter, value, args| against(interpreter, value, args, Comparison::Greater)
        }
        "ge" | ">=" => {
            |interpreter, value, args| against(interpreter, value, args, Comparison::GreaterOrEqual)
        }
        _ => return None,
    })
}

/// The answer of a test that takes no arguments.
fn plain(args: Args, answer: bool) -> Result<bool> {
    args.none("a test")?;
    Ok(answer)
}

fn is_sequence(value: &Value) -> bool {
    matches!(
        value,
        Value::Undefined(_)
            | Value::Str(_)
            | Value::Markup(_)
            | Value::List(_)
            | Value::Tuple(_)
            | Value::Dict(_)
            | Value::Range(_)
    )
}

fn is_iterable(value: &Value) -> bool {
    is_sequence(value) || matches!(value, Value::View(..) | Value::Iterator(_) | Value::Loop(_))
}

fn is_callable(value: &Value) -> bool {
    matches!(
        value,
        Value::Undefined(_)
            | Value::Method(_)
            | Value::Global(_)
            | Value::Macro(_)
            | Value::Loop(_)
            | Value::LoopMethod(..)
            | Value::Joiner(_)
    )
}

fn cased(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    args: Args,
    upper: bool,
) -> Result<bool> {
    args.none("a test")?;
    let text = to_text(value, &mut interpreter.budget)?;
    Ok(casing::is_cased(&text, upper))
}

fn remainder(value: &Value, divisor: &Value, args: Args, wanted: i64) -> Result<bool> {
    args.none("a test")?;
    if compare::Number::of(value).is_none() {
        return value.refuse("is no number");
    }
    // Two numbers cost nothing.
    let mut budget = crate::budget::Budget::new(crate::Limits::default());
    let rest = operators::arithmetic(Arithmetic::Modulo, value, divisor, &mut budget)?;
    compare::equal(&rest, &Value::Int(wanted), &mut budget)
}

fn divisible(_: &mut Interpreter<'_>, value: &Value, args: Args) -> Result<bool> {
    let [divisor] = args.bind("divisibleby", ["num"], 1)?;
    let divisor = divisor.unwrap_or(Value::None);
    if compare::Number::of(&divisor).is_none() {
        return divisor.refuse("is no number");
    }
    remainder(value, &divisor, Args::default(), 0)
}

fn against(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    args: Args,
    comparison: Comparison,
) -> Result<bool> {
    let [other] = args.bind("a test", ["other"], 1)?;
    interpreter.holds(comparison, value, &other.unwrap_or(Value::None))
}

/// Python's `is`. Whether equal numbers and strings are the same object depends on Python's own
/// caches; they count as the same here.
fn same(interpreter: &mut Interpreter<'_>, value: &Value, args: Args) -> Result<bool> {
    let [other] = args.bind("sameas", ["other"], 1)?;
    let other = other.unwrap_or(Value::None);
    Ok(match (value, &other) {
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            std::rc::Rc::ptr_eq(a, b)
        }
        (Value::Dict(a), Value::Dict(b)) => std::rc::Rc::ptr_eq(a, b),
        (Value::Undefined(_), _) => false,
        (a, b) => a.type_name() == b.type_name() && compare::equal(a, b, &mut interpreter.budget)?,
    })
}
