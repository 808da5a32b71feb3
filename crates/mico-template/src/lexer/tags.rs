//! Tokens inside `{{ }}` and `{% %}`.

use std::sync::Arc;

use super::{Lexer, TokenKind, is_space};
use crate::error::{Result, quote};

/// Longest first, so that `**` is not read as `*` twice.
const OPERATORS: [&str; 26] = [
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}",
    ">", "<", "=", ".", ":", "|", ",", ";",
];

impl Lexer<'_> {
    pub(super) fn tag(&mut self, begin: TokenKind, end: TokenKind) -> Result<()> {
        let block = end == TokenKind::BlockEnd;
        let closing = if block { "%}" } else { "}}" };
        self.push(begin)?;
        let mut open: Vec<&'static str> = Vec::new();
        loop {
            let rest = self.rest();
            if open.is_empty()
                && let Some((length, sign)) = tag_end(rest, closing, block)
            {
                self.push(end)?;
                if block {
                    self.close(length, sign);
                } else {
                    let after = &rest[length..];
                    let trimmed = if sign == Some(b'-') {
                        after.len() - after.trim_start_matches(is_space).len()
                    } else {
                        0
                    };
                    self.advance(length + trimmed);
                }
                return Ok(());
            }
            let Some(c) = rest.chars().next() else {
                return self.fail(format!("a tag is not closed by {closing}"));
            };
            if is_space(c) {
                self.advance(rest.len() - rest.trim_start_matches(is_space).len());
            } else if c.is_ascii_digit() {
                self.number()?;
            } else if c == '_' || c.is_alphanumeric() {
                self.name()?;
            } else if c == '\'' || c == '"' {
                self.string(c)?;
            } else {
                self.operator(&mut open)?;
            }
        }
    }

    fn name(&mut self) -> Result<()> {
        let rest = self.rest();
        let length = rest
            .char_indices()
            .find(|&(_, c)| !(c == '_' || c.is_alphanumeric()))
            .map_or(rest.len(), |(at, _)| at);
        let name = &rest[..length];
        if !name.starts_with(|c: char| c == '_' || c.is_alphabetic()) {
            return self.fail(format!("{} is no name", quote(name)));
        }
        self.push(TokenKind::Name(Arc::from(name)))?;
        self.advance(length);
        Ok(())
    }

    fn operator(&mut self, open: &mut Vec<&'static str>) -> Result<()> {
        let rest = self.rest();
        let Some(operator) = OPERATORS.iter().find(|operator| rest.starts_with(**operator)) else {
            let c: String = rest.chars().take(1).collect();
            return self.fail(format!("unexpected character {}", quote(&c)));
        };
        match *operator {
            "{" => open.push("}"),
            "(" => open.push(")"),
            "[" => open.push("]"),
            "}" | ")" | "]" if open.pop() != Some(operator) => {
                return self.fail(format!("unexpected '{operator}'"));
            }
            _ => {}
        }
        self.push(TokenKind::Operator(operator))?;
        self.advance(operator.len());
        Ok(())
    }
}

/// Length and sign of a tag's end, if the text begins with it.
fn tag_end(rest: &str, closing: &str, block: bool) -> Option<(usize, Option<u8>)> {
    if rest.starts_with(closing) {
        return Some((closing.len(), None));
    }
    let sign = rest.bytes().next().filter(|&b| b == b'-' || (b == b'+' && block))?;
    rest[1..].starts_with(closing).then_some((1 + closing.len(), Some(sign)))
}
