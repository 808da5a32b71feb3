//! What an input led to: messages are checked, and told apart by their shape.
//!
//! Without coverage instrumentation the only thing to see of a reader is what it says. An input that
//! makes it say something new has reached a new place, and is worth being changed further.

use std::collections::BTreeSet;
use std::fmt::Display;

/// The most characters of an error: a line that names file, culprit and what is accepted.
pub const MESSAGE_CHARS: usize = 700;
/// What is kept of a message to tell it from others.
const SHAPE_CHARS: usize = 120;

/// The shapes of everything that readers have said so far.
#[derive(Debug, Default)]
pub struct Seen {
    shapes: BTreeSet<String>,
    fresh: bool,
}

impl Seen {
    /// Takes note of an error.
    ///
    /// # Panics
    /// If it is no message that a person can be shown: empty, longer than [`MESSAGE_CHARS`], or with
    /// characters that would end the line or steer a terminal.
    pub fn refused(&mut self, error: &dyn Display) {
        let message = error.to_string();
        assert!(!message.trim().is_empty(), "an error without a message");
        let steering = message.chars().find(|c| c.is_control());
        assert!(steering.is_none(), "the error holds {steering:?}: {message:?}");
        let length = message.chars().count();
        assert!(length <= MESSAGE_CHARS, "an error of {length} characters: {message}");
        self.note(&format!("refused: {}", shape(&message)));
    }

    /// Takes note of a success and of what is worth telling it by.
    pub fn accepted(&mut self, what: impl Display) {
        self.note(&format!("accepted: {what}"));
    }

    /// Takes note of a result: what it is, or its error.
    pub fn result<T, E: Display>(&mut self, what: &str, result: Result<T, E>) -> Option<T> {
        match result {
            Ok(value) => {
                self.accepted(what);
                Some(value)
            }
            Err(error) => {
                self.refused(&error);
                None
            }
        }
    }

    /// Whether anything was new since this was last asked.
    pub fn take_fresh(&mut self) -> bool {
        std::mem::take(&mut self.fresh)
    }

    /// The number of different shapes.
    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    /// Whether nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    /// Every shape, in alphabetical order.
    pub fn shapes(&self) -> impl Iterator<Item = &str> {
        self.shapes.iter().map(String::as_str)
    }

    fn note(&mut self, shape: &str) {
        if !self.shapes.contains(shape) {
            self.shapes.insert(shape.to_owned());
            self.fresh = true;
        }
    }
}

/// The words of a message, without what it quotes: values, numbers, paths, lists. Of texts between backticks those
/// that look like the name of a field stay.
pub fn shape(message: &str) -> String {
    let mut shape = String::new();
    let mut rest = message;
    while let Some(first) = rest.chars().next() {
        let (part, after) = match first {
            '`' | '"' | '\'' => quotation(rest, first),
            '[' | '{' => list(rest),
            _ => rest.split_at(rest.find(' ').map_or(rest.len(), |end| end + 1)),
        };
        let word = part.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_name = word.len() < 30 && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        let is_word = word.len() > 1 && word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-');
        match first {
            '`' if is_name => shape.extend(["`", word, " "]),
            '`' | '"' | '\'' | '[' | '{' => shape.extend([part.get(..1).unwrap_or_default(), " "]),
            _ if is_word => shape.extend([word, " "]),
            _ => {}
        }
        if shape.len() >= SHAPE_CHARS {
            break;
        }
        rest = after;
    }
    shape
}

/// A list or object, which may have been cut, and what follows.
fn list(text: &str) -> (&str, &str) {
    let closing = text.char_indices().rfind(|(_, c)| matches!(c, ']' | '}' | '…'));
    text.split_at(closing.map_or(text.len(), |(at, c)| at + c.len_utf8()))
}

/// A text between two marks, and what follows.
fn quotation(text: &str, mark: char) -> (&str, &str) {
    let end = text.get(1..).and_then(|inner| inner.find(mark)).map_or(text.len(), |end| end + 2);
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_makes_no_new_shape() {
        let mut seen = Seen::default();
        seen.refused(&"tensor `A.1` has 12 bytes");
        assert!(seen.take_fresh());
        seen.refused(&"tensor `B.2` has 3 bytes");
        assert!(!seen.take_fresh());
        seen.refused(&"tensor `B.2` is missing");
        assert!(seen.take_fresh());
        assert_eq!(seen.len(), 2);
        assert_eq!(
            shape("`size` is [1, \"é…, accepted: a 'side' of 3"),
            "`size is [ accepted ' of "
        );
    }

    #[test]
    #[should_panic(expected = "the error holds Some('\\u{1b}')")]
    fn a_message_that_steers_the_terminal_is_a_finding() {
        Seen::default().refused(&"unknown field \u{1b}[31mred");
    }

    #[test]
    #[should_panic(expected = "an error of 5000 characters")]
    fn a_message_of_a_page_is_a_finding() {
        Seen::default().refused(&"x".repeat(5000));
    }
}
