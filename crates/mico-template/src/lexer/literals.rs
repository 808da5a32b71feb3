//! Numbers and strings.

use super::{Lexer, TokenKind};
use crate::error::{Result, TemplateError, quote};

impl Lexer<'_> {
    pub(super) fn number(&mut self) -> Result<()> {
        let rest = self.rest();
        // After a point, digits are an index (`x.0.1`), not a fraction.
        let after_point = self.position > 0 && self.source.as_bytes()[self.position - 1] == b'.';
        if !after_point && let Some(length) = float_length(rest) {
            let text = rest[..length].replace('_', "");
            let Ok(value) = text.parse::<f64>() else {
                return self.fail(format!("{} is no number", quote(&text)));
            };
            self.push(TokenKind::Float(value))?;
            self.advance(length);
            return Ok(());
        }
        let (length, radix) = integer_length(rest);
        let digits = rest[..length].replace('_', "");
        let digits = if radix == 10 { digits.as_str() } else { &digits[2..] };
        let value = i64::from_str_radix(digits, radix)
            .map_err(|_| TemplateError::limit("integer", i64::MAX as u64).at(self.line))?;
        self.push(TokenKind::Int(value))?;
        self.advance(length);
        Ok(())
    }

    pub(super) fn string(&mut self, delimiter: char) -> Result<()> {
        let rest = self.rest();
        let mut escaped = false;
        for (at, c) in rest.char_indices().skip(1) {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == delimiter {
                let text = match unescape(&rest[1..at]) {
                    Ok(text) => text,
                    Err(message) => return self.fail(message),
                };
                self.push(TokenKind::Str(text))?;
                self.advance(at + 1);
                return Ok(());
            }
        }
        self.fail("a string is not closed")
    }
}

/// Length of digits with single underscores between them.
fn digits(text: &str, radix: u32) -> usize {
    let mut length = 0;
    let mut underscore = true;
    for c in text.chars() {
        if c.is_digit(radix) {
            underscore = false;
        } else if c == '_' && !underscore {
            underscore = true;
        } else {
            break;
        }
        length += 1;
    }
    if underscore && length > 0 { length - 1 } else { length }
}

fn float_length(text: &str) -> Option<usize> {
    let mut length = digits(text, 10);
    let mut is_float = false;
    if let Some(fraction) = text[length..].strip_prefix('.') {
        let count = digits(fraction, 10);
        if count > 0 {
            length += 1 + count;
            is_float = true;
        }
    }
    if let Some(exponent) = text[length..].strip_prefix(['e', 'E']) {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let count = digits(unsigned, 10);
        if count > 0 {
            length += 1 + (exponent.len() - unsigned.len()) + count;
            is_float = true;
        }
    }
    is_float.then_some(length)
}

fn integer_length(text: &str) -> (usize, u32) {
    let prefixed = |letters: [char; 2], radix: u32| -> Option<(usize, u32)> {
        let body = text.strip_prefix('0')?.strip_prefix(letters)?;
        // One underscore may stand between prefix and digits.
        let inner = body.strip_prefix('_').unwrap_or(body);
        let count = digits(inner, radix);
        (count > 0).then_some((2 + (body.len() - inner.len()) + count, radix))
    };
    let other = prefixed(['b', 'B'], 2)
        .or_else(|| prefixed(['o', 'O'], 8))
        .or_else(|| prefixed(['x', 'X'], 16));
    if let Some(found) = other {
        return found;
    }
    if text.starts_with('0') {
        // Zeros alone; other digits behind them are a token of their own, which no grammar takes.
        let zeros = text.chars().take_while(|&c| c == '0').count();
        return (zeros, 10);
    }
    (digits(text, 10), 10)
}

/// Python's escapes in a string literal.
fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(c) = rest.chars().next() else { return Err("a string ends in '\\'".into()) };
        rest = &rest[c.len_utf8()..];
        match c {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(c),
            'a' => out.push('\u{7}'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{C}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\u{B}'),
            '0'..='7' => {
                let more = rest.bytes().take(2).take_while(|b| matches!(b, b'0'..=b'7')).count();
                let tail = rest[..more].bytes().map(|b| u32::from(b - b'0'));
                let code = tail.fold(c as u32 - '0' as u32, |code, digit| code * 8 + digit);
                out.push(char::from_u32(code).unwrap_or_default());
                rest = &rest[more..];
            }
            'x' => rest = hexadecimal(rest, 2, &mut out)?,
            'u' => rest = hexadecimal(rest, 4, &mut out)?,
            'U' => rest = hexadecimal(rest, 8, &mut out)?,
            'N' => return Err("the escape '\\N' is not supported".into()),
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn hexadecimal<'t>(text: &'t str, digits: usize, out: &mut String) -> Result<&'t str, String> {
    let bad = || "an escape has too few hexadecimal digits".to_owned();
    let code = text.get(..digits).ok_or_else(bad)?;
    if !code.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(bad());
    }
    let code = u32::from_str_radix(code, 16).map_err(|_| bad())?;
    out.push(char::from_u32(code).ok_or("an escape names no character")?);
    Ok(&text[digits..])
}
