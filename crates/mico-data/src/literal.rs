//! Python list literals, as spreadsheets of benchmarks carry them in a cell.

use serde_json::Value;

/// Lists inside lists beyond this are refused: no published file nests more than two.
const MAX_DEPTH: usize = 8;

/// Reads a whole text as one Python literal: lists and tuples (both become arrays), strings, numbers,
/// `True`, `False`, `None`. The error is a short reason with the place, in characters from 0.
pub fn parse(text: &str) -> Result<Value, String> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    parser.blank();
    if parser.at < text.len() {
        return Err(parser.unexpected());
    }
    Ok(value)
}

/// Whether a cell is meant as a list literal.
pub fn looks_like_list(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('[') && text.ends_with(']')
}

/// The texts of a list literal; numbers in it are given as they are written.
pub fn texts(text: &str) -> Result<Vec<String>, String> {
    match parse(text)? {
        Value::Array(items) => items.into_iter().map(plain).collect(),
        _ => Err("not a list".into()),
    }
}

fn plain(item: Value) -> Result<String, String> {
    match item {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        Value::Null => Ok("None".into()),
        Value::Bool(true) => Ok("True".into()),
        Value::Bool(false) => Ok("False".into()),
        Value::Array(_) | Value::Object(_) => Err("a list inside the list".into()),
    }
}

struct Parser<'a> {
    text: &'a str,
    /// Always a character boundary.
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        Some(character)
    }

    fn blank(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.next();
        }
    }

    fn unexpected(&self) -> String {
        let place = self.text.get(..self.at).unwrap_or("").chars().count();
        match self.peek() {
            Some(found) => format!("not a Python literal: '{found}' at character {place}"),
            None => format!("not a Python literal: ends at character {place}"),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        self.blank();
        match self.peek() {
            Some('[') => self.list(']', depth),
            Some('(') => self.list(')', depth),
            Some('\'' | '"') => self.strings().map(Value::String),
            Some('u' | 'U') if self.rest()[1..].starts_with(['\'', '"']) => {
                self.next();
                self.strings().map(Value::String)
            }
            _ => self.word(),
        }
    }

    fn list(&mut self, close: char, depth: usize) -> Result<Value, String> {
        if depth == MAX_DEPTH {
            return Err(format!("lists nested more than {MAX_DEPTH} deep"));
        }
        self.next();
        let mut items = Vec::new();
        loop {
            self.blank();
            if self.peek() == Some(close) {
                self.next();
                return Ok(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.blank();
            match self.peek() {
                Some(',') => self.next(),
                Some(found) if found == close => continue,
                _ => return Err(self.unexpected()),
            };
        }
    }

    /// One string, or several side by side, which Python joins.
    fn strings(&mut self) -> Result<String, String> {
        let mut text = String::new();
        loop {
            self.string(&mut text)?;
            self.blank();
            if !matches!(self.peek(), Some('\'' | '"')) {
                return Ok(text);
            }
        }
    }

    fn string(&mut self, text: &mut String) -> Result<(), String> {
        let quote = self.next().unwrap_or('"');
        loop {
            // Whole runs at a time: a cell of megabytes has very few marks in it.
            let rest = self.rest();
            let run = rest.find([quote, '\\']).ok_or("a string without its closing quote")?;
            text.push_str(rest.get(..run).unwrap_or(""));
            self.at += run;
            if self.next() == Some(quote) {
                return Ok(());
            }
            self.escape(text)?;
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), String> {
        let kind = self.next().ok_or("a string without its closing quote")?;
        let plain = match kind {
            '\n' => return Ok(()),
            '\\' | '\'' | '"' => kind,
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'x' => self.code(2)?,
            'u' => self.code(4)?,
            'U' => self.code(8)?,
            '0'..='7' => self.octal(kind),
            // Python keeps an escape it does not know as it is written.
            other => {
                text.push('\\');
                other
            }
        };
        text.push(plain);
        Ok(())
    }

    fn code(&mut self, digits: usize) -> Result<char, String> {
        let hex = self.rest().get(..digits).unwrap_or("");
        let number = u32::from_str_radix(hex, 16).ok().filter(|_| !hex.starts_with('+'));
        let character = number.and_then(char::from_u32);
        self.at += hex.len();
        character.ok_or_else(|| format!("an escape that names no character: '{hex}'"))
    }

    fn octal(&mut self, first: char) -> char {
        let mut number = first.to_digit(8).unwrap_or(0);
        for _ in 0..2 {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else { break };
            number = number * 8 + digit;
            self.next();
        }
        char::from_u32(number).unwrap_or('\u{fffd}')
    }

    fn word(&mut self) -> Result<Value, String> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || "+-._".contains(c)))
            .unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or("");
        let value = match word {
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            "None" => Some(Value::Null),
            _ => number(word),
        };
        let value = value.ok_or_else(|| self.unexpected())?;
        self.at += end;
        Ok(value)
    }
}

fn number(word: &str) -> Option<Value> {
    if !word.chars().any(|c| c.is_ascii_digit()) {
        return None;
    }
    if let Ok(whole) = word.parse::<i64>() {
        return Some(whole.into());
    }
    let real = word.parse::<f64>().ok()?;
    serde_json::Number::from_f64(real).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literals_as_python_writes_them() {
        let cases = [
            ("['a', 'b']", json!(["a", "b"])),
            (r#"["it's", 'a "b"', 'it\'s']"#, json!(["it's", "a \"b\"", "it's"])),
            ("[]", json!([])),
            (" [ 'a' , ] ", json!(["a"])),
            ("('a',)", json!(["a"])),
            (r"['\n\t\\ \x41 \u4e2d \U0001F600 \101 \d']", json!(["\n\t\\ A 中 😀 A \\d"])),
            ("[1, -2.5, 1e3, True, None]", json!([1, -2.5, 1000.0, true, null])),
            ("['a' 'b', u'中']", json!(["ab", "中"])),
            ("[[0.1, .5], (1, 2)]", json!([[0.1, 0.5], [1, 2]])),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_literal_is_refused() {
        let deep = "[".repeat(100_000);
        for text in [
            "",
            "[",
            "['a'",
            "['a",
            "['a' 1]",
            "[a]",
            "['\\x4']",
            "['\\uD800']",
            "['\\U00110000']",
            "['a'] b",
            "[-]",
            "[inf]",
            "u",
            "中",
            deep.as_str(),
        ] {
            assert!(parse(text).is_err(), "{text:.20}");
        }
        assert!(texts("'a'").is_err());
        assert!(texts("[['a']]").is_err());
    }

    #[test]
    fn numbers_in_a_list_of_texts_become_text() {
        assert_eq!(texts("[3, 'x', None]"), Ok(vec!["3".into(), "x".into(), "None".into()]));
    }
}
