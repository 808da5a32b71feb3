//! Filters on numbers.

use crate::ast::Arithmetic;
use crate::error::{Result, TemplateError};
use crate::evaluate::{Args, Interpreter, flag, integer, text};
use crate::format::numbers::checked_precision;
use crate::lexer::is_space;
use crate::value::Value;
use crate::value::compare::Number;
use crate::value::operators::{arithmetic, overflow};

pub(super) fn abs(_: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    args.none("abs")?;
    match Number::of(&value) {
        Some(Number::Int(number)) => number.checked_abs().map(Value::Int).ok_or_else(overflow),
        Some(Number::Float(number)) => Ok(Value::Float(number.abs())),
        None => value.refuse("is no number"),
    }
}

/// Python's `int(text, base)`.
pub(crate) fn parse_int(text: &str, base: i64) -> Result<Option<i64>> {
    let text = text.trim_matches(is_space);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.get(..2).unwrap_or_default().to_ascii_lowercase();
    let prefix = match &*lower {
        "0x" => 16,
        "0o" => 8,
        "0b" => 2,
        _ => 0,
    };
    let (mut radix, mut digits) = (base, digits);
    if prefix != 0 && (base == prefix || base == 0) {
        (radix, digits) = (prefix, &digits[2..]);
        digits = digits.strip_prefix('_').unwrap_or(digits);
    } else if base == 0 {
        radix = 10;
    }
    let Some(radix) = u32::try_from(radix).ok().filter(|radix| (2..=36).contains(radix)) else {
        return Ok(None);
    };
    let clean = digits.replace('_', "");
    let well_formed = !clean.is_empty()
        && !digits.starts_with('_')
        && !digits.ends_with('_')
        && !digits.contains("__")
        && clean.chars().all(|c| c.is_digit(radix));
    if !well_formed {
        return Ok(None);
    }
    let signed = if negative { format!("-{clean}") } else { clean };
    i64::from_str_radix(&signed, radix).map(Some).map_err(|_| overflow())
}

/// Python's `float(text)`.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_space);
    if text.contains('_') {
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let parts: Vec<&str> = text.split('_').collect();
        let joined = parts
            .windows(2)
            .all(|pair| digit(pair[0].chars().last()) && digit(pair[1].chars().next()));
        return if joined { parts.concat().parse().ok() } else { None };
    }
    text.parse().ok()
}

fn whole(number: f64) -> Result<Value> {
    if number.abs() < 9.2e18 { Ok(Value::Int(number.trunc() as i64)) } else { Err(overflow()) }
}

pub(super) fn int(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let [default, base] = args.bind("int", ["default", "base"], 0)?;
    let base = integer(base.as_ref(), 10)?;
    if let Some(text) = value.as_str() {
        interpreter.budget.work(text.len())?;
        if let Some(number) = parse_int(text, base)? {
            return Ok(Value::Int(number));
        }
        if let Some(number) = parse_float(text).filter(|number| number.is_finite()) {
            return whole(number);
        }
        return Ok(default.unwrap_or(Value::Int(0)));
    }
    match Number::of(&value) {
        Some(Number::Int(number)) => Ok(Value::Int(number)),
        Some(Number::Float(number)) if number.is_infinite() => {
            Err(TemplateError::runtime("infinity is no integer"))
        }
        Some(Number::Float(number)) if number.is_finite() => whole(number),
        // Like jinja2, which asks for the number of an undefined value and gets an error.
        None if value.is_undefined() => value.refuse(""),
        _ => Ok(default.unwrap_or(Value::Int(0))),
    }
}

pub(super) fn float(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let [default] = args.bind("float", ["default"], 0)?;
    if value.is_undefined() {
        return value.refuse("");
    }
    let number = match value.as_str() {
        Some(text) => {
            interpreter.budget.work(text.len())?;
            parse_float(text)
        }
        None => Number::of(&value).map(Number::as_float),
    };
    Ok(number.map_or_else(|| default.unwrap_or(Value::Float(0.0)), Value::Float))
}

pub(super) fn round(interpreter: &mut Interpreter<'_>, value: Value, args: Args) -> Result<Value> {
    let [precision, method] = args.bind("round", ["precision", "method"], 0)?;
    let precision = integer(precision.as_ref(), 0)?;
    let method = text(method.as_ref(), "common")?;
    if !matches!(method, "common" | "ceil" | "floor") {
        return Err(TemplateError::runtime("'round' knows 'common', 'ceil' and 'floor'"));
    }
    let Some(number) = Number::of(&value) else { return value.refuse("is no number") };
    let digits = usize::try_from(precision.unsigned_abs()).unwrap_or(usize::MAX);
    let digits = checked_precision(digits, &mut interpreter.budget)?;
    if method == "common" {
        return match number {
            Number::Int(number) if precision >= 0 => Ok(Value::Int(number)),
            Number::Int(number) => round_integer(number, digits),
            Number::Float(number) => Ok(Value::Float(round_float(number, precision, digits))),
        };
    }
    let budget = &mut interpreter.budget;
    let power = arithmetic(Arithmetic::Power, &Value::Int(10), &Value::Int(precision), budget)?;
    let scaled = arithmetic(Arithmetic::Multiply, &value, &power, budget)?;
    let Some(scaled) = Number::of(&scaled) else { return Ok(Value::None) };
    let rounded = match scaled {
        Number::Int(number) => Value::Int(number),
        Number::Float(number) => {
            whole(if method == "ceil" { number.ceil() } else { number.floor() })?
        }
    };
    arithmetic(Arithmetic::Divide, &rounded, &power, budget)
}

fn round_float(number: f64, precision: i64, digits: usize) -> f64 {
    if !number.is_finite() {
        return number;
    }
    if precision >= 0 {
        return format!("{number:.digits$}").parse().unwrap_or(number);
    }
    let scale = 10_f64.powi(i32::try_from(digits).unwrap_or(i32::MAX));
    let rounded = (number / scale).round_ties_even() * scale;
    if rounded.is_finite() { rounded } else { 0.0_f64.copysign(number) }
}

/// Half to even, as Python rounds integers to tens, hundreds and so on.
fn round_integer(number: i64, digits: usize) -> Result<Value> {
    let Some(scale) = u32::try_from(digits).ok().and_then(|digits| 10_i128.checked_pow(digits))
    else {
        return Ok(Value::Int(0));
    };
    let number = i128::from(number);
    let below = number.div_euclid(scale);
    let rest = number.rem_euclid(scale) * 2;
    let up = rest > scale || (rest == scale && below % 2 != 0);
    let rounded = (below + i128::from(up)) * scale;
    i64::try_from(rounded).map(Value::Int).map_err(|_| overflow())
}

pub(super) fn file_size(
    interpreter: &mut Interpreter<'_>,
    value: Value,
    args: Args,
) -> Result<Value> {
    let [binary] = args.bind("filesizeformat", ["binary"], 0)?;
    let number = match value.as_str() {
        Some(text) => parse_float(text),
        None => Number::of(&value).map(Number::as_float),
    };
    let Some(bytes) = number else { return value.refuse("is no number") };
    let binary = flag(binary.as_ref(), false);
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    let text = if bytes == 1.0 {
        "1 Byte".to_owned()
    } else if bytes < base {
        format!("{} Bytes", bytes.trunc())
    } else {
        let units = "KMGTPEZY";
        let mut index = 0;
        let mut unit = base * base;
        while bytes >= unit && index + 1 < units.len() {
            index += 1;
            unit *= base;
        }
        let letter = if binary || index > 0 { &units[index..=index] } else { "k" };
        format!("{:.1} {letter}{}", base * bytes / unit, if binary { "iB" } else { "B" })
    };
    interpreter.budget.text(&text)
}
