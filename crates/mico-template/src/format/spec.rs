//! The format specification of `str.format`: `[[fill]align][sign][#][0][width][,][.precision][type]`.

use super::numbers::{checked_precision, float_digits, integer_digits};
use crate::budget::Builder;
use crate::display::{float_repr, write_str};
use crate::error::{Result, TemplateError, quote};
use crate::value::Value;

struct Spec {
    fill: char,
    align: Option<char>,
    sign: Option<char>,
    alternate: bool,
    zero: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
}

fn bad(spec: &str) -> TemplateError {
    TemplateError::runtime(format!("{} is no format specification", quote(spec)))
}

impl Spec {
    fn parse(spec: &str, limit: usize) -> Result<Spec> {
        let mut rest = spec;
        let is_align = |c: char| matches!(c, '<' | '>' | '^' | '=');
        let mut chars = rest.chars();
        let (first, second) = (chars.next(), chars.next());
        let (mut fill, mut align) = (None, None);
        if let (Some(first), Some(second)) = (first, second)
            && is_align(second)
        {
            (fill, align) = (Some(first), Some(second));
            rest = &rest[first.len_utf8() + 1..];
        } else if let Some(first) = first.filter(|c| is_align(*c)) {
            align = Some(first);
            rest = &rest[1..];
        }
        let mut take = |set: &[char]| -> Option<char> {
            let found = rest.chars().next().filter(|c| set.contains(c))?;
            rest = &rest[found.len_utf8()..];
            Some(found)
        };
        let sign = take(&['+', '-', ' ']);
        let alternate = take(&['#']).is_some();
        let zero = take(&['0']).is_some();
        let (width, after) = number(rest, limit)?;
        rest = after;
        let grouping = rest.chars().next().filter(|c| matches!(c, ',' | '_'));
        rest = &rest[usize::from(grouping.is_some())..];
        let mut precision = None;
        if let Some(after) = rest.strip_prefix('.') {
            let (digits, after) = number(after, limit)?;
            precision = Some(digits.ok_or_else(|| bad(spec))?);
            rest = after;
        }
        let mut chars = rest.chars();
        let kind = chars.next();
        if chars.next().is_some() {
            return Err(bad(spec));
        }
        let fill = fill.unwrap_or(if zero { '0' } else { ' ' });
        let width = width.unwrap_or(0);
        Ok(Spec { fill, align, sign, alternate, zero, width, grouping, precision, kind })
    }

    /// Writes a number or text with its filling.
    fn pad(&self, prefix: &str, text: &str, default: char, out: &mut Builder<'_>) -> Result<()> {
        out.budget.work(text.len())?;
        let missing = self.width.saturating_sub(prefix.len() + text.chars().count());
        let fill = self.fill.to_string();
        let align = self.align.unwrap_or(default);
        let before = match align {
            '>' => missing,
            '^' => missing / 2,
            _ => 0,
        };
        out.push_repeated(&fill, before)?;
        out.push(prefix)?;
        if align == '=' {
            out.push_repeated(&fill, missing)?;
            return out.push(text);
        }
        out.push(text)?;
        out.push_repeated(&fill, missing - before)
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.sign) {
            (true, _) => "-",
            (false, Some('+')) => "+",
            (false, Some(' ')) => " ",
            _ => "",
        }
    }

    fn number_alignment(&self) -> char {
        if self.zero { '=' } else { '>' }
    }
}

fn number(text: &str, limit: usize) -> Result<(Option<usize>, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 {
        return Ok((None, text));
    }
    let value = text[..length].parse().ok().filter(|value| *value <= limit);
    let value = value.ok_or_else(|| TemplateError::limit("value_bytes", limit as u64))?;
    Ok((Some(value), &text[length..]))
}

/// Python's `format(value, spec)`.
pub(super) fn write(value: &Value, spec: &str, out: &mut Builder<'_>) -> Result<()> {
    if spec.is_empty() {
        return write_str(value, out);
    }
    let parsed = Spec::parse(spec, out.budget.limits.value_bytes)?;
    match value {
        Value::Str(text) | Value::Markup(text) => {
            let refused = parsed.align == Some('=')
                || parsed.sign.is_some()
                || parsed.alternate
                || parsed.grouping.is_some()
                || !matches!(parsed.kind, None | Some('s'));
            if refused {
                return Err(bad(spec));
            }
            out.budget.work(text.len())?;
            let end = parsed
                .precision
                .and_then(|precision| text.char_indices().nth(precision).map(|(at, _)| at));
            parsed.pad("", &text[..end.unwrap_or(text.len())], '<', out)
        }
        Value::Bool(_) | Value::Int(_) => integer(value, &parsed, spec, out),
        Value::Float(number) => float(*number, &parsed, spec, out),
        other => other.refuse("takes no format specification"),
    }
}

fn integer(value: &Value, parsed: &Spec, spec: &str, out: &mut Builder<'_>) -> Result<()> {
    let number = value.as_int().unwrap_or(0);
    let kind = match parsed.kind {
        None => 'd',
        Some(kind @ ('d' | 'b' | 'o' | 'x' | 'X')) => kind,
        Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') => {
            return float(number as f64, parsed, spec, out);
        }
        Some('c' | 'n') => return Err(TemplateError::unsupported("the format types 'c' and 'n'")),
        Some(_) => return Err(bad(spec)),
    };
    if parsed.precision.is_some() || (parsed.grouping == Some(',') && kind != 'd') {
        return Err(bad(spec));
    }
    let size = if kind == 'd' { 3 } else { 4 };
    let digits = group(&integer_digits(number, kind), size, parsed)?;
    let mut prefix = parsed.sign(number < 0).to_owned();
    if parsed.alternate && kind != 'd' {
        prefix.push('0');
        prefix.push(kind);
    }
    parsed.pad(&prefix, &digits, parsed.number_alignment(), out)
}

fn float(number: f64, parsed: &Spec, spec: &str, out: &mut Builder<'_>) -> Result<()> {
    let precision =
        parsed.precision.map(|value| checked_precision(value, out.budget)).transpose()?;
    let alternate = parsed.alternate;
    let negative = number.is_sign_negative() && !number.is_nan();
    let mut digits = match parsed.kind {
        None => match precision {
            None => float_repr(number.abs()),
            Some(precision) => without_type(number, precision.max(1)),
        },
        Some(kind @ ('e' | 'E' | 'f' | 'F' | 'g' | 'G')) => {
            float_digits(number, kind, precision.unwrap_or(6), alternate)
        }
        Some('%') => float_digits(number * 100.0, 'f', precision.unwrap_or(6), alternate),
        Some('n') => return Err(TemplateError::unsupported("the format type 'n'")),
        Some(_) => return Err(bad(spec)),
    };
    let (whole, fraction) = match digits.find(|c: char| !c.is_ascii_digit()) {
        Some(at) => digits.split_at(at),
        None => (digits.as_str(), ""),
    };
    digits = group(whole, 3, parsed)? + fraction;
    if parsed.kind == Some('%') {
        digits.push('%');
    }
    parsed.pad(parsed.sign(negative), &digits, parsed.number_alignment(), out)
}

/// Like `g`, but always with a digit behind the point.
fn without_type(number: f64, precision: usize) -> String {
    let digits = float_digits(number, 'g', precision, false);
    if digits.contains(['.', 'e', 'n', 'i']) {
        return digits;
    }
    // A whole number that fills the precision is written with an exponent.
    if digits.len() >= precision && number.abs() >= 10.0 {
        return float_digits(number, 'e', precision - 1, false);
    }
    digits + ".0"
}

fn group(digits: &str, size: usize, parsed: &Spec) -> Result<String> {
    let Some(separator) = parsed.grouping else { return Ok(digits.to_owned()) };
    if parsed.zero {
        return Err(TemplateError::unsupported("grouping together with zeros in front"));
    }
    let mut grouped = String::new();
    for (index, c) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(size) {
            grouped.push(separator);
        }
        grouped.push(c);
    }
    Ok(grouped)
}
