//! `'%s' % value`.

use super::numbers::{checked_precision, float_digits, integer_digits};
use crate::budget::{Budget, Builder};
use crate::display::{write_repr, write_str};
use crate::error::{Result, TemplateError, quote};
use crate::filters::html;
use crate::value::Value;
use crate::value::compare::Number;

// The flags of C's printf, one by one.
#[allow(clippy::struct_excessive_bools)]
#[derive(Default)]
struct Directive {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

/// Where the values of the directives come from.
struct Source<'v> {
    values: &'v Value,
    next: usize,
    /// A value was asked for by its key.
    keyed: bool,
}

impl Source<'_> {
    fn next(&mut self) -> Result<Value> {
        let value = match self.values {
            Value::Tuple(tuple) => tuple.items.get(self.next).cloned(),
            other => (self.next == 0).then(|| other.clone()),
        };
        self.next += 1;
        value.ok_or_else(|| TemplateError::runtime("not enough values for the format"))
    }

    fn by_key(&mut self, key: &str, budget: &mut Budget) -> Result<Value> {
        self.keyed = true;
        let Value::Dict(dict) = self.values else {
            return Err(TemplateError::runtime("the format needs a dict"));
        };
        dict.get_str(key, budget)?
            .cloned()
            .ok_or_else(|| TemplateError::runtime(format!("no value for the key {}", quote(key))))
    }

    /// Whether a value was left over, which Python refuses.
    fn is_unused(&self) -> bool {
        match self.values {
            Value::Tuple(tuple) => self.next < tuple.items.len(),
            Value::Dict(_) | Value::List(_) | Value::Undefined(_) | Value::Range(_) => false,
            _ => self.next == 0,
        }
    }
}

/// Formats a string with a value, or with a tuple or dict of them.
pub(crate) fn format(template: &Value, values: &Value, budget: &mut Budget) -> Result<Value> {
    let Some(text) = template.as_str() else { return template.refuse("is no format") };
    let escapes = matches!(template, Value::Markup(_));
    budget.work(text.len())?;
    let mut source = Source { values, next: 0, keyed: false };
    let mut out = budget.builder();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push(&rest[..at])?;
        rest = directive(&rest[at + 1..], &mut source, escapes, &mut out)?;
    }
    out.push(rest)?;
    if !source.keyed && source.is_unused() {
        return Err(TemplateError::runtime("not all values were used by the format"));
    }
    Ok(Value::text_like(template, out.value()))
}

/// Writes one directive and returns what follows it.
fn directive<'t>(
    text: &'t str,
    source: &mut Source<'_>,
    escapes: bool,
    out: &mut Builder<'_>,
) -> Result<&'t str> {
    let incomplete = || TemplateError::runtime("the format ends within a directive");
    let mut rest = text;
    let mut keyed = None;
    if let Some(after) = rest.strip_prefix('(') {
        let (key, after) = closing(after).ok_or_else(incomplete)?;
        keyed = Some(source.by_key(key, out.budget)?);
        rest = after;
    }
    let mut directive = Directive::default();
    loop {
        match rest.as_bytes().first() {
            Some(b'-') => directive.left = true,
            Some(b'+') => directive.plus = true,
            Some(b' ') => directive.space = true,
            Some(b'#') => directive.alternate = true,
            Some(b'0') => directive.zero = true,
            _ => break,
        }
        rest = &rest[1..];
    }
    let (width, after) = amount(rest, source, out.budget)?;
    rest = after;
    directive.width = width.unwrap_or(0).unsigned_abs() as usize;
    directive.left |= width.is_some_and(|width| width < 0);
    if let Some(after) = rest.strip_prefix('.') {
        let (precision, after) = amount(after, source, out.budget)?;
        directive.precision = Some(usize::try_from(precision.unwrap_or(0)).unwrap_or(0));
        rest = after;
    }
    rest = rest.strip_prefix(['h', 'l', 'L']).unwrap_or(rest);
    let kind = rest.chars().next().ok_or_else(incomplete)?;
    if kind == '%' {
        out.push("%")?;
    } else {
        let value = match keyed {
            Some(value) => value,
            None => source.next()?,
        };
        convert(kind, &value, &directive, escapes, out)?;
    }
    Ok(&rest[kind.len_utf8()..])
}

/// A key in parentheses, which may hold balanced ones.
fn closing(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1;
    for (at, b) in text.bytes().enumerate() {
        depth += i32::from(b == b'(') - i32::from(b == b')');
        if depth == 0 {
            return Some((&text[..at], &text[at + 1..]));
        }
    }
    None
}

/// A width or precision: digits, or `*` for the next value.
fn amount<'t>(
    text: &'t str,
    source: &mut Source<'_>,
    budget: &Budget,
) -> Result<(Option<i64>, &'t str)> {
    let limit = budget.limits.value_bytes as u64;
    let too_wide = || TemplateError::limit("value_bytes", limit);
    let (value, rest) = if let Some(rest) = text.strip_prefix('*') {
        let value = source.next()?;
        let Some(value) = value.as_int() else { return value.refuse("is no width") };
        (value, rest)
    } else {
        let length = text.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return Ok((None, text));
        }
        (text[..length].parse().map_err(|_| too_wide())?, &text[length..])
    };
    if value.unsigned_abs() > limit {
        return Err(too_wide());
    }
    Ok((Some(value), rest))
}

fn convert(
    kind: char,
    value: &Value,
    directive: &Directive,
    escapes: bool,
    out: &mut Builder<'_>,
) -> Result<()> {
    match kind {
        's' | 'r' | 'a' | 'c' => {
            let mut text = out.budget.builder();
            match kind {
                's' if escapes && !matches!(value, Value::Markup(_)) => {
                    html::write_escaped(value, &mut text)?;
                }
                's' => write_str(value, &mut text)?,
                'c' => character(value, &mut text)?,
                'a' => return Err(TemplateError::unsupported("the directive '%a'")),
                _ => write_repr(value, &mut text)?,
            }
            let text = text.finish();
            out.budget.work(text.len())?;
            let end = directive
                .precision
                .filter(|_| kind != 'c')
                .and_then(|precision| text.char_indices().nth(precision).map(|(at, _)| at));
            pad("", &text[..end.unwrap_or(text.len())], directive, false, out)
        }
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' => integer(kind, value, directive, out),
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
            let Some(number) = Number::of(value) else { return value.refuse("is no number") };
            let precision = checked_precision(directive.precision.unwrap_or(6), out.budget)?;
            let number = number.as_float();
            let digits = float_digits(number, kind, precision, directive.alternate);
            let sign = sign(number.is_sign_negative() && !number.is_nan(), directive);
            pad(sign, &digits, directive, number.is_finite(), out)
        }
        other => {
            let other = other.to_string();
            Err(TemplateError::runtime(format!("{} is no directive", quote(&other))))
        }
    }
}

fn character(value: &Value, text: &mut Builder<'_>) -> Result<()> {
    let mut chars = value.as_str().unwrap_or_default().chars();
    let c = match (value.as_int(), chars.next(), chars.next()) {
        (Some(code), ..) => u32::try_from(code).ok().and_then(char::from_u32),
        (None, Some(c), None) => Some(c),
        _ => None,
    };
    text.push_char(c.ok_or_else(|| TemplateError::runtime("'%c' needs one character"))?)
}

fn integer(kind: char, value: &Value, directive: &Directive, out: &mut Builder<'_>) -> Result<()> {
    let number = match Number::of(value) {
        Some(Number::Int(number)) => number,
        Some(Number::Float(number)) if matches!(kind, 'd' | 'i' | 'u') => {
            if !number.is_finite() || number.abs() >= 9.2e18 {
                return Err(crate::value::operators::overflow());
            }
            number.trunc() as i64
        }
        _ => return value.refuse("is no integer"),
    };
    let mut digits = integer_digits(number, kind);
    if let Some(precision) = directive.precision {
        let precision = checked_precision(precision, out.budget)?;
        digits = format!("{digits:0>precision$}");
    }
    let mut prefix = sign(number < 0, directive).to_owned();
    if directive.alternate && matches!(kind, 'x' | 'X' | 'o') {
        prefix.push('0');
        prefix.push(kind);
    }
    pad(&prefix, &digits, directive, true, out)
}

fn sign(negative: bool, directive: &Directive) -> &'static str {
    match (negative, directive.plus, directive.space) {
        (true, ..) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        _ => "",
    }
}

/// Fills up to the width; zeros go between sign and digits.
fn pad(
    prefix: &str,
    text: &str,
    directive: &Directive,
    numeric: bool,
    out: &mut Builder<'_>,
) -> Result<()> {
    out.budget.work(text.len())?;
    let missing = directive.width.saturating_sub(prefix.len() + text.chars().count());
    let zeros = directive.zero && numeric && !directive.left;
    if !directive.left && !zeros {
        out.push_repeated(" ", missing)?;
    }
    out.push(prefix)?;
    if zeros {
        out.push_repeated("0", missing)?;
    }
    out.push(text)?;
    if directive.left { out.push_repeated(" ", missing) } else { Ok(()) }
}
