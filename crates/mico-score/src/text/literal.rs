//! Lists written as Python source, as the benchmark files hold them in one cell.

use serde_json::Value;

use super::number::float;
use super::unicode::is_space;

/// How deep lists may nest before they are taken for an attack on the stack.
const DEEPEST: usize = 32;

/// What a cell holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `None`.
    Nothing,
    /// `True` or `False`.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A quoted text.
    Text(String),
    /// A list or a tuple.
    List(Vec<Literal>),
}

/// Why a cell is no literal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "character {at} of a list literal: {what}, accepted: quoted texts, numbers, True, False, None and lists of them"
)]
pub struct LiteralError {
    /// The place, from 1.
    pub at: usize,
    /// What is there.
    pub what: String,
}

impl Literal {
    /// The same in JSON; numbers that are whole become integers.
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

/// Reads a whole cell.
pub fn parse(text: &str) -> Result<Literal, LiteralError> {
    let mut reader = Reader { chars: text.chars().collect(), at: 0 };
    let value = reader.value(0)?;
    reader.skip();
    match reader.peek() {
        None => Ok(value),
        Some(c) => Err(reader.fault(format!("'{c}' after the end"))),
    }
}

/// The texts of a list of texts and numbers, numbers as they are written; `None` if the cell holds anything else.
pub fn texts(cell: &str) -> Option<Vec<String>> {
    let Ok(Literal::List(items)) = parse(cell) else { return None };
    let text = |item: Literal| match item {
        Literal::Text(text) => Some(text),
        Literal::Number(value) => {
            Some(whole(value).map_or_else(|| super::number::repr(value), |whole| whole.to_string()))
        }
        Literal::Nothing => Some("None".to_owned()),
        Literal::Bool(true) => Some("True".to_owned()),
        Literal::Bool(false) => Some("False".to_owned()),
        Literal::List(_) => None,
    };
    items.into_iter().map(text).collect()
}

struct Reader {
    chars: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn skip(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn fault(&self, what: impl Into<String>) -> LiteralError {
        LiteralError { at: self.at + 1, what: what.into() }
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
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip();
            if self.peek() == Some(end) {
                self.at += 1;
                return Ok(Literal::List(items));
            }
            items.push(self.value(depth + 1)?);
            self.skip();
            match self.peek() {
                Some(',') => self.at += 1,
                Some(c) if c == end => {}
                Some(c) => return Err(self.fault(format!("'{c}' between items"))),
                None => return Err(self.fault("a list without an end")),
            }
        }
    }

    /// Texts that follow each other are one text.
    fn texts(&mut self) -> Result<Literal, LiteralError> {
        let mut text = String::new();
        while let Some(quote @ ('\'' | '"')) = self.peek() {
            self.at += 1;
            self.text(quote, &mut text)?;
            self.skip();
        }
        Ok(Literal::Text(text))
    }

    fn text(&mut self, quote: char, into: &mut String) -> Result<(), LiteralError> {
        loop {
            let Some(c) = self.peek() else { return Err(self.fault("a text without an end")) };
            self.at += 1;
            match c {
                '\\' => self.escape(into)?,
                c if c == quote => return Ok(()),
                c => into.push(c),
            }
        }
    }

    fn escape(&mut self, into: &mut String) -> Result<(), LiteralError> {
        let Some(c) = self.peek() else { return Err(self.fault("a text without an end")) };
        self.at += 1;
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
            // An unknown escape stands for itself, backslash included.
            c => into.extend(['\\', c]),
        }
        Ok(())
    }

    /// A code point of at most `most` digits; hexadecimal ones must have them all.
    fn code(&mut self, base: u32, most: usize) -> Result<char, LiteralError> {
        let mut value = 0;
        let mut read = 0;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(base)).filter(|_| read < most) {
            value = value * base + digit;
            read += 1;
            self.at += 1;
        }
        let complete = base == 8 || read == most;
        // Half of a surrogate pair is a text in Python but no code point.
        let found = char::from_u32(value).or((value < 0x11_0000).then_some('\u{fffd}'));
        found.filter(|_| complete).ok_or_else(|| self.fault("an incomplete escape"))
    }

    fn word(&mut self) -> Result<Literal, LiteralError> {
        let start = self.at;
        while self.peek().is_some_and(|c| !is_space(c) && !matches!(c, ',' | ']' | ')' | '[' | '('))
        {
            self.at += 1;
        }
        let word: String = self.chars[start..self.at].iter().collect();
        match word.as_str() {
            "None" => Ok(Literal::Nothing),
            "True" => Ok(Literal::Bool(true)),
            "False" => Ok(Literal::Bool(false)),
            _ => {
                let number = word.chars().all(|c| c.is_ascii_digit() || "+-._eE".contains(c));
                let value = float(&word).filter(|_| number);
                self.at = start;
                let value = value.ok_or_else(|| self.fault(format!("'{word}'")))?;
                self.at = start + word.chars().count();
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
        assert_eq!(texts("['a', 3, 2.5]"), Some(vec!["a".into(), "3".into(), "2.5".into()]));
        assert_eq!(texts("plain"), None);
        assert_eq!(texts("'a'"), None);
    }
}
