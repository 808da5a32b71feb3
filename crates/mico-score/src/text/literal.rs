//! Parser for Python list literals, which benchmark files store in a single cell.

use serde_json::Value;

use super::number::float;
use super::unicode::is_space;

/// The deepest accepted nesting of lists, so that hostile input cannot overflow the stack.
const DEEPEST: usize = 32;

/// A parsed Python literal, limited to the types that benchmark files contain.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// The constant `None` of Python.
    Nothing,
    /// One of Python's constants `True` and `False`.
    Bool(bool),
    /// An integer or floating-point number.
    Number(f64),
    /// A quoted string, with escapes resolved.
    Text(String),
    /// A list or a tuple; the difference is not kept.
    List(Vec<Literal>),
}

/// Why a cell is not a valid literal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "character {at} of a list literal: {what}, accepted: quoted texts, numbers, True, False, None and lists of them"
)]
#[non_exhaustive]
pub struct LiteralError {
    /// The position of the error in characters, from 1.
    pub at: usize,
    /// What was found at that position.
    pub what: String,
}

impl Literal {
    /// The literal as JSON; whole numbers become integers.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Nothing => Value::Null,
            Self::Bool(value) => Value::from(*value),
            Self::Number(value) => whole(*value).map_or(Value::from(*value), Value::from),
            Self::Text(text) => Value::from(text.as_str()),
            Self::List(items) => items.iter().map(Self::to_value).collect(),
        }
    }
}

fn whole(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() < 9e15).then_some(value as i64)
}

/// Parses a cell that must hold exactly one literal.
pub fn parse(text: &str) -> Result<Literal, LiteralError> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.skip();
    match reader.peek() {
        None => Ok(value),
        Some(c) => Err(reader.fault(format!("'{c}' after the end"))),
    }
}

/// The elements of a list of texts and numbers as texts; numbers as Python prints them.
pub fn texts(cell: &str) -> Result<Vec<String>, LiteralError> {
    let other = |what: &str| LiteralError { at: 1, what: what.to_owned() };
    let Literal::List(items) = parse(cell)? else { return Err(other("no list")) };
    let text = |item: Literal| match item {
        Literal::Text(text) => Ok(text),
        Literal::Number(value) => {
            Ok(whole(value).map_or_else(|| super::number::repr(value), |whole| whole.to_string()))
        }
        Literal::Nothing => Ok("None".to_owned()),
        Literal::Bool(true) => Ok("True".to_owned()),
        Literal::Bool(false) => Ok("False".to_owned()),
        Literal::List(_) => Err(other("a list inside the list")),
    };
    items.into_iter().map(text).collect()
}

/// A position in the text. Nothing is copied, because cells may hold megabytes.
struct Reader<'a> {
    text: &'a str,
    /// Byte offset, always at the start of a character.
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    /// Moves past the next character.
    fn pass(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    fn skip(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.pass();
        }
    }

    fn fault(&self, what: impl Into<String>) -> LiteralError {
        let before = self.text.get(..self.at).unwrap_or_default();
        LiteralError { at: before.chars().count() + 1, what: what.into() }
    }

    fn value(&mut self, depth: usize) -> Result<Literal, LiteralError> {
        self.skip();
        match self.peek() {
            None => Err(self.fault("nothing")),
            Some('[') => self.list(']', depth),
            Some('(') => self.list(')', depth),
            Some('\'' | '"') => self.texts(),
            Some(_) => self.word(),
        }
    }

    fn list(&mut self, end: char, depth: usize) -> Result<Literal, LiteralError> {
        if depth >= DEEPEST {
            return Err(self.fault(format!("a list {DEEPEST} lists deep")));
        }
        self.pass();
        let mut items = Vec::new();
        loop {
            self.skip();
            if self.peek() == Some(end) {
                self.pass();
                return Ok(Literal::List(items));
            }
            items.push(self.value(depth + 1)?);
            self.skip();
            match self.peek() {
                Some(',') => self.pass(),
                Some(c) if c == end => {}
                Some(c) => return Err(self.fault(format!("'{c}' between items"))),
                None => return Err(self.fault("a list without an end")),
            }
        }
    }

    /// Adjacent string literals are one string, as in Python.
    fn texts(&mut self) -> Result<Literal, LiteralError> {
        let mut text = String::new();
        while let Some(quote @ ('\'' | '"')) = self.peek() {
            self.pass();
            self.text(quote, &mut text)?;
            self.skip();
        }
        Ok(Literal::Text(text))
    }

    fn text(&mut self, quote: char, into: &mut String) -> Result<(), LiteralError> {
        loop {
            let Some(c) = self.peek() else { return Err(self.fault("a text without an end")) };
            self.pass();
            match c {
                '\\' => self.escape(into)?,
                c if c == quote => return Ok(()),
                c => into.push(c),
            }
        }
    }

    fn escape(&mut self, into: &mut String) -> Result<(), LiteralError> {
        let Some(c) = self.peek() else { return Err(self.fault("a text without an end")) };
        self.pass();
        match c {
            '\n' => {}
            '\\' | '\'' | '"' => into.push(c),
            'n' => into.push('\n'),
            't' => into.push('\t'),
            'r' => into.push('\r'),
            'a' => into.push('\u{7}'),
            'b' => into.push('\u{8}'),
            'f' => into.push('\u{c}'),
            'v' => into.push('\u{b}'),
            'x' => into.push(self.code(16, 2)?),
            'u' => into.push(self.code(16, 4)?),
            'U' => into.push(self.code(16, 8)?),
            '0'..='7' => {
                self.at -= 1;
                into.push(self.code(8, 3)?);
            }
            // An unknown escape is kept literally, including its backslash.
            c => into.extend(['\\', c]),
        }
        Ok(())
    }

    /// A code point of at most `most` digits in the given base; hexadecimal escapes must have all
    /// of them.
    fn code(&mut self, base: u32, most: usize) -> Result<char, LiteralError> {
        let mut value = 0;
        let mut read = 0;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(base)).filter(|_| read < most) {
            value = value * base + digit;
            read += 1;
            self.pass();
        }
        let complete = base == 8 || read == most;
        // A lone surrogate is valid in a Python string but not in Rust, so it becomes U+FFFD.
        let found = char::from_u32(value).or((value < 0x11_0000).then_some('\u{fffd}'));
        found.filter(|_| complete).ok_or_else(|| self.fault("an incomplete escape"))
    }

    fn word(&mut self) -> Result<Literal, LiteralError> {
        let start = self.at;
        while self.peek().is_some_and(|c| !is_space(c) && !matches!(c, ',' | ']' | ')' | '[' | '('))
        {
            self.pass();
        }
        let word = self.text.get(start..self.at).unwrap_or_default();
        match word {
            "None" => Ok(Literal::Nothing),
            "True" => Ok(Literal::Bool(true)),
            "False" => Ok(Literal::Bool(false)),
            _ => {
                let number = word.chars().all(|c| c.is_ascii_digit() || "+-._eE".contains(c));
                let value = float(word).filter(|_| number);
                self.at = start;
                let value = value.ok_or_else(|| self.fault(format!("'{word}'")))?;
                self.at = start + word.len();
                Ok(Literal::Number(value))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_of_every_kind_are_read() {
        let cases = [
            ("['a', \"b's\", 'c\\'d']", json!(["a", "b's", "c'd"])),
            ("[1, -2.5, None, True]", json!([1, -2.5, null, true])),
            ("[['a'], ('b', 'c',)]", json!([["a"], ["b", "c"]])),
            (" [] ", json!([])),
            ("['\\u72d7\\n\\x41\\101', 'a' 'b']", json!(["狗\nAA", "ab"])),
            ("['\\d']", json!(["\\d"])),
            ("'lone'", json!("lone")),
        ];
        for (text, value) in cases {
            assert_eq!(parse(text).map(|literal| literal.to_value()), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_literal_is_refused() {
        for text in ["", "plain", "['a'", "['a", "['a'] x", "[a]", "['\\x4']", "['a' 1]", "inf"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn texts_of_a_list() {
        assert_eq!(texts("['a', 3, 2.5]"), Ok(vec!["a".into(), "3".into(), "2.5".into()]));
        for cell in ["plain", "'a'", "[['a']]"] {
            assert!(texts(cell).is_err(), "{cell}");
        }
    }
}
