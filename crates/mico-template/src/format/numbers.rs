//! Digits of numbers, as C and Python write them.

use crate::budget::Budget;
use crate::error::{Result, TemplateError};

/// A precision that is worth its digits.
pub(crate) fn checked_precision(precision: usize, budget: &mut Budget) -> Result<usize> {
    let limit = budget.limits.precision;
    if precision > limit {
        return Err(TemplateError::limit("precision", limit as u64));
    }
    // Digits of a float are worked out one by one.
    budget.steps(precision)?;
    Ok(precision)
}

/// A float without its sign by one of `e`, `f`, `g` (or their capitals).
pub(crate) fn float_digits(value: f64, kind: char, precision: usize, alternate: bool) -> String {
    let value = value.abs();
    let mut text = if value.is_nan() {
        "nan".to_owned()
    } else if value.is_infinite() {
        "inf".into()
    } else {
        match kind.to_ascii_lowercase() {
            'e' => exponential(value, precision, alternate),
            'f' => {
                let text = format!("{value:.precision$}");
                if alternate && precision == 0 { text + "." } else { text }
            }
            _ => general(value, precision.max(1), alternate),
        }
    };
    if kind.is_ascii_uppercase() {
        text.make_ascii_uppercase();
    }
    text
}

fn exponential(value: f64, precision: usize, alternate: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if alternate && precision == 0 { "." } else { "" };
    format!("{mantissa}{point}{}", exponent_suffix(exponent.parse().unwrap_or(0)))
}

fn exponent_suffix(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.abs())
}

fn general(value: f64, precision: usize, alternate: bool) -> String {
    let digits = precision - 1;
    let text = format!("{value:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| -> String {
        if alternate || !text.contains('.') {
            return text.to_owned();
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if exponent < -4 || i64::from(exponent) >= precision as i64 {
        return trim(mantissa) + &exponent_suffix(exponent);
    }
    let places = (digits as i64 - i64::from(exponent)).max(0) as usize;
    trim(&format!("{value:.places$}"))
}

/// An integer without its sign in one of the bases `b`, `o`, `d`, `x`, `X`.
pub(crate) fn integer_digits(value: i64, kind: char) -> String {
    let value = value.unsigned_abs();
    match kind {
        'b' => format!("{value:b}"),
        'o' => format!("{value:o}"),
        'x' => format!("{value:x}"),
        'X' => format!("{value:X}"),
        _ => value.to_string(),
    }
}
