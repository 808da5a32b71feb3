//! From source to tokens: cuts text from tags with jinja2's white-space rules (`trim_blocks` and
//! `lstrip_blocks` on, as chat templates expect).

mod literals;
mod tags;

use std::sync::Arc;

use crate::error::{Result, TemplateError};
use crate::limits::Limits;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenKind {
    Text(String),
    PrintBegin,
    PrintEnd,
    BlockBegin,
    BlockEnd,
    Name(Arc<str>),
    Str(String),
    Int(i64),
    Float(f64),
    Operator(&'static str),
    End,
}

#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) line: u32,
}

/// Cuts a source into tokens; the last is [`TokenKind::End`].
pub(crate) fn tokenize(source: &str, limits: &Limits) -> Result<Vec<Token>> {
    let mut source = source.replace("\r\n", "\n").replace('\r', "\n");
    // One newline at the end of the file belongs to the file, not to the template.
    if source.ends_with('\n') {
        source.pop();
    }
    let mut lexer = Lexer {
        source: &source,
        position: 0,
        line: 1,
        line_starting: true,
        tokens: Vec::new(),
        limit: limits.tokens,
    };
    lexer.root()?;
    lexer.push(TokenKind::End)?;
    Ok(lexer.tokens)
}

struct Lexer<'s> {
    source: &'s str,
    position: usize,
    line: u32,
    /// Whether what was read last ends a line.
    line_starting: bool,
    tokens: Vec<Token>,
    limit: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Tag {
    Print,
    Block,
    Comment,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.position..]
    }

    fn push(&mut self, kind: TokenKind) -> Result<()> {
        if self.tokens.len() >= self.limit {
            return Err(TemplateError::limit("tokens", self.limit as u64).at(self.line));
        }
        self.tokens.push(Token { kind, line: self.line });
        Ok(())
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(TemplateError::syntax(self.line, message))
    }

    /// Moves on, counting lines.
    fn advance(&mut self, bytes: usize) {
        let passed = &self.rest()[..bytes];
        self.line += passed.bytes().filter(|&b| b == b'\n').count() as u32;
        if bytes > 0 {
            self.line_starting = passed.ends_with('\n');
        }
        self.position += bytes;
    }

    fn root(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            let Some((start, tag)) = next_tag(rest) else {
                if !rest.is_empty() {
                    self.push(TokenKind::Text(rest.to_owned()))?;
                    self.advance(rest.len());
                }
                return Ok(());
            };
            let after = &rest[start + 2..];
            let raw = if tag == Tag::Block { raw_begin(after) } else { None };
            let sign = after.bytes().next().filter(|b| matches!(b, b'-' | b'+'));
            self.text(&rest[..start], sign, tag != Tag::Print)?;
            self.advance(start);
            if let Some(length) = raw {
                self.advance(2 + length);
                self.raw()?;
                continue;
            }
            self.advance(2 + usize::from(sign.is_some()));
            match tag {
                Tag::Comment => self.comment()?,
                Tag::Print => self.tag(TokenKind::PrintBegin, TokenKind::PrintEnd)?,
                Tag::Block => self.tag(TokenKind::BlockBegin, TokenKind::BlockEnd)?,
            }
        }
    }

    /// Text before a tag, less the white space the tag takes away.
    fn text(&mut self, text: &str, sign: Option<u8>, strips_line: bool) -> Result<()> {
        let mut kept = text;
        if sign == Some(b'-') {
            kept = text.trim_end_matches(is_space);
        } else if sign != Some(b'+') && strips_line {
            let line = text.rfind('\n').map_or(0, |at| at + 1);
            // As in jinja2, where an empty rest of a line is no match and there is nothing to cut.
            if (line > 0 || self.line_starting) && text[line..].chars().all(is_space) {
                kept = &text[..line];
            }
        }
        if kept.is_empty() { Ok(()) } else { self.push(TokenKind::Text(kept.to_owned())) }
    }

    fn comment(&mut self) -> Result<()> {
        let rest = self.rest();
        let Some(end) = rest.find("#}") else { return self.fail("a comment is not closed") };
        let sign = rest[..end].bytes().last();
        self.close(end + 2, sign);
        Ok(())
    }

    /// Passes the end of a comment or raw block and the white space it takes away.
    fn close(&mut self, length: usize, sign: Option<u8>) {
        let after = &self.rest()[length..];
        let taken = match sign {
            Some(b'-') => after.len() - after.trim_start_matches(is_space).len(),
            Some(b'+') => 0,
            _ => usize::from(after.starts_with('\n')),
        };
        self.advance(length + taken);
    }

    fn raw(&mut self) -> Result<()> {
        let rest = self.rest();
        let mut from = 0;
        while let Some(found) = rest[from..].find("{%") {
            let start = from + found;
            let after = &rest[start + 2..];
            let sign = after.bytes().next().filter(|b| matches!(b, b'-' | b'+'));
            let inner = after[usize::from(sign.is_some())..].trim_start_matches(is_space);
            if let Some(tail) = inner.strip_prefix("endraw") {
                let tail = tail.trim_start_matches(is_space);
                let close = tail.bytes().next().filter(|b| matches!(b, b'-' | b'+'));
                if tail[usize::from(close.is_some())..].starts_with("%}") {
                    let length = rest.len() - tail.len() + usize::from(close.is_some()) + 2 - start;
                    self.text(&rest[..start], sign, true)?;
                    self.advance(start);
                    self.close(length, close);
                    return Ok(());
                }
            }
            from = start + 2;
        }
        self.fail("a raw block is not closed")
    }
}

/// White space as Python's `str.isspace` and `\s` see it.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&c)
}

fn next_tag(text: &str) -> Option<(usize, Tag)> {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(found) = text[from..].find('{') {
        let at = from + found;
        let tag = match bytes.get(at + 1) {
            Some(b'{') => Some(Tag::Print),
            Some(b'%') => Some(Tag::Block),
            Some(b'#') => Some(Tag::Comment),
            _ => None,
        };
        if let Some(tag) = tag {
            return Some((at, tag));
        }
        from = at + 1;
    }
    None
}

/// Length of what follows `{%` if it opens a raw block.
fn raw_begin(after: &str) -> Option<usize> {
    let inner = after.strip_prefix(['-', '+']).unwrap_or(after);
    let inner = inner.trim_start_matches(is_space).strip_prefix("raw")?;
    let tail = inner.trim_start_matches(is_space);
    if let Some(rest) = tail.strip_prefix("-%}") {
        return Some(after.len() - rest.trim_start_matches(is_space).len());
    }
    tail.strip_prefix("%}").map(|rest| after.len() - rest.len())
}
