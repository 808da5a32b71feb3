//! What an input led to: messages are checked, and told apart by their shape.
//!
//! Without coverage instrumentation the only thing to see of a reader is what it says. An input that
//! makes it say something new has reached a new place, and is worth being changed further.

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};

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

/// A message without what it quotes: numbers, and texts between quotation marks.
fn shape(message: &str) -> String {
    let mut shape = String::new();
    let mut quote = None;
    for c in message.chars() {
        match (quote, c) {
            (Some(open), _) => {
                if c == open {
                    quote = None;
                }
            }
            (None, '`' | '"') => {
                quote = Some(c);
                shape.push(c);
            }
            (None, _) if c.is_ascii_digit() => {
                if !shape.ends_with('#') {
                    shape.push('#');
                }
            }
            (None, _) if c.is_ascii() => shape.push(c),
            (None, _) => {
                if !shape.ends_with('?') {
                    let _ = write!(shape, "?");
                }
            }
        }
        if shape.len() >= SHAPE_CHARS {
            break;
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_makes_no_new_shape() {
        let mut seen = Seen::default();
        seen.refused(&"tensor `a` has 12 bytes");
        assert!(seen.take_fresh());
        seen.refused(&"tensor `b` has 3 bytes");
        assert!(!seen.take_fresh());
        seen.refused(&"tensor `b` is missing");
        assert!(seen.take_fresh());
        assert_eq!(seen.len(), 2);
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
