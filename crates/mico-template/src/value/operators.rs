//! Arithmetic as Python does it, with integers of 64 bits.

use super::compare::Number;
use super::{Sequence, Value};
use crate::ast::Arithmetic;
use crate::budget::Budget;
use crate::error::{Result, TemplateError};
use crate::filters::html;
use crate::format::printf;

pub(crate) fn overflow() -> TemplateError {
    TemplateError::limit("integer", i64::MAX as u64)
}

fn zero() -> TemplateError {
    TemplateError::runtime("division by zero")
}

/// Whether an operator is done on anything but two numbers, which needs the interpreter's budget.
pub(crate) fn arithmetic(
    operator: Arithmetic,
    a: &Value,
    b: &Value,
    budget: &mut Budget,
) -> Result<Value> {
    if let (Some(a), Some(b)) = (Number::of(a), Number::of(b)) {
        return numbers(operator, a, b);
    }
    match operator {
        Arithmetic::Add => add(a, b, budget),
        Arithmetic::Multiply => match (a.as_int(), b.as_int()) {
            (None, Some(count)) => repeat(a, count, budget),
            (Some(count), None) => repeat(b, count, budget),
            _ => refuse(operator, a, b),
        },
        Arithmetic::Modulo if a.as_str().is_some() => printf::format(a, b, budget),
        _ => refuse(operator, a, b),
    }
}

fn refuse(operator: Arithmetic, a: &Value, b: &Value) -> Result<Value> {
    if a.is_undefined() {
        return a.refuse("");
    }
    if b.is_undefined() {
        return b.refuse("");
    }
    let sign = match operator {
        Arithmetic::Add => "+",
        Arithmetic::Subtract => "-",
        Arithmetic::Multiply => "*",
        Arithmetic::Divide => "/",
        Arithmetic::FloorDivide => "//",
        Arithmetic::Modulo => "%",
        Arithmetic::Power => "**",
    };
    let (a, b) = (a.type_name(), b.type_name());
    Err(TemplateError::runtime(format!("'{a}' {sign} '{b}' is no operation")))
}

fn add(a: &Value, b: &Value, budget: &mut Budget) -> Result<Value> {
    if let (Some(left), Some(right)) = (a.as_str(), b.as_str()) {
        // HTML stays HTML: the other side is escaped.
        let is_html = |value: &Value| matches!(value, Value::Markup(_));
        let mut text = budget.builder();
        for (side, part, other) in [(a, left, b), (b, right, a)] {
            if is_html(other) && !is_html(side) {
                html::push_escaped(part, &mut text)?;
            } else {
                text.push(part)?;
            }
        }
        let text = text.value();
        return Ok(Value::text_like(if is_html(a) { a } else { b }, text));
    }
    let join = |a: &Sequence, b: &Sequence, budget: &mut Budget| -> Result<Vec<Value>> {
        budget.elements(a.items.len().saturating_add(b.items.len()))?;
        Ok(a.items.iter().chain(&b.items).cloned().collect())
    };
    match (a, b) {
        (Value::List(a), Value::List(b)) => Value::list(join(a, b, budget)?, budget),
        (Value::Tuple(a), Value::Tuple(b)) => Value::tuple(join(a, b, budget)?, budget),
        _ => refuse(Arithmetic::Add, a, b),
    }
}

fn repeat(value: &Value, count: i64, budget: &mut Budget) -> Result<Value> {
    let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    match value {
        Value::Str(text) | Value::Markup(text) => {
            let mut repeated = budget.builder();
            repeated.push_repeated(text, count)?;
            let repeated = repeated.value();
            Ok(Value::text_like(value, repeated))
        }
        Value::List(sequence) | Value::Tuple(sequence) => {
            budget.elements(sequence.items.len().saturating_mul(count))?;
            let mut items = Vec::new();
            for _ in 0..if sequence.items.is_empty() { 0 } else { count } {
                items.extend(sequence.items.iter().cloned());
            }
            if matches!(value, Value::List(_)) {
                Value::list(items, budget)
            } else {
                Value::tuple(items, budget)
            }
        }
        other => refuse(Arithmetic::Multiply, other, &Value::Int(0)),
    }
}

fn numbers(operator: Arithmetic, a: Number, b: Number) -> Result<Value> {
    if let (Number::Int(a), Number::Int(b)) = (a, b) {
        return integers(operator, a, b);
    }
    let (a, b) = (a.as_float(), b.as_float());
    Ok(Value::Float(match operator {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide | Arithmetic::FloorDivide | Arithmetic::Modulo if b == 0.0 => {
            return Err(zero());
        }
        Arithmetic::Divide => a / b,
        Arithmetic::FloorDivide => floor_divide(a, b).0,
        Arithmetic::Modulo => floor_divide(a, b).1,
        Arithmetic::Power => return power(a, b),
    }))
}

/// Python's float division with remainder: the remainder has the divisor's sign.
fn floor_divide(a: f64, b: f64) -> (f64, f64) {
    let mut remainder = a % b;
    let mut quotient = (a - remainder) / b;
    if remainder == 0.0 {
        remainder = 0.0_f64.copysign(b);
    } else if (b < 0.0) != (remainder < 0.0) {
        remainder += b;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0.0_f64.copysign(a / b), remainder);
    }
    let floor = quotient.floor();
    (if quotient - floor > 0.5 { floor + 1.0 } else { floor }, remainder)
}

fn integers(operator: Arithmetic, a: i64, b: i64) -> Result<Value> {
    let result = match operator {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide | Arithmetic::FloorDivide | Arithmetic::Modulo if b == 0 => {
            return Err(zero());
        }
        Arithmetic::Divide => return Ok(Value::Float(a as f64 / b as f64)),
        Arithmetic::FloorDivide => a.checked_div(b).map(|quotient| {
            if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
        }),
        Arithmetic::Modulo => a.checked_rem(b).map(|remainder| {
            if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder }
        }),
        Arithmetic::Power if b < 0 => return power(a as f64, b as f64),
        Arithmetic::Power => match a {
            // These never overflow, whatever the exponent.
            0 => Some(i64::from(b == 0)),
            1 => Some(1),
            -1 => Some(if b % 2 == 0 { 1 } else { -1 }),
            _ => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        },
    };
    result.map(Value::Int).ok_or_else(overflow)
}

fn power(a: f64, b: f64) -> Result<Value> {
    if a == 0.0 && b < 0.0 {
        return Err(zero());
    }
    if a < 0.0 && a.is_finite() && b.is_finite() && b.fract() != 0.0 {
        return Err(TemplateError::unsupported("a complex number"));
    }
    let result = a.powf(b);
    if result.is_infinite() && a.is_finite() && b.is_finite() {
        return Err(TemplateError::runtime("the result of '**' is too large"));
    }
    Ok(Value::Float(result))
}

/// `-x` and `+x`.
pub(crate) fn signed(value: &Value, negative: bool) -> Result<Value> {
    match Number::of(value) {
        Some(Number::Int(value)) if negative => {
            value.checked_neg().map(Value::Int).ok_or_else(overflow)
        }
        Some(Number::Int(value)) => Ok(Value::Int(value)),
        Some(Number::Float(value)) => Ok(Value::Float(if negative { -value } else { value })),
        None => value.refuse("has no sign"),
    }
}
