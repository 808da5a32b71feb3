//! Text of a growing list of ids, piece by piece.

use std::sync::Arc;

use super::Tokenizer;
use crate::error::Result;

/// What a decoder writes for bytes that are not (yet) a character.
const UNFINISHED: char = '\u{FFFD}';
/// Longest run of tokens held back for one character; beyond it the bytes are simply wrong.
const MAX_HELD: usize = 8;

/// Decodes tokens one at a time. The pieces joined are the text of all tokens: spaces depend on the
/// token before, and a character split over tokens comes out whole. Only for bytes that are no
/// character the two may differ in the number of replacement characters.
#[derive(Debug, Clone)]
pub struct TextStream {
    tokenizer: Arc<Tokenizer>,
    /// Tokens still needed: those of the last piece, then those not yet written.
    ids: Vec<u32>,
    written: usize,
}

impl TextStream {
    /// A stream that has seen nothing.
    pub fn new(tokenizer: Arc<Tokenizer>) -> Self {
        Self { tokenizer, ids: Vec::new(), written: 0 }
    }

    /// Takes in a token and returns the text that is now certain.
    pub fn push(&mut self, id: u32) -> Result<String> {
        self.ids.push(id);
        self.advance(false)
    }

    /// The text held back so far.
    pub fn finish(&mut self) -> Result<String> {
        self.advance(true)
    }

    fn advance(&mut self, last: bool) -> Result<String> {
        if self.written == self.ids.len() {
            return Ok(String::new());
        }
        let before = self.tokenizer.decode(&self.ids[..self.written])?;
        let after = self.tokenizer.decode(&self.ids)?;
        let held = self.ids.len() - self.written;
        if after.ends_with(UNFINISHED) && !last && held < MAX_HELD {
            return Ok(String::new());
        }
        let new = match after.strip_prefix(before.as_str()) {
            Some(new) => new.to_owned(),
            // Bytes that turned out to be no character change what stood before; what is written
            // is written, and the rest follows.
            None => after.chars().skip(before.chars().count()).collect(),
        };
        // A token without a text writes nothing; the context must stay.
        if new.is_empty() {
            return Ok(new);
        }
        self.ids.drain(..self.written);
        self.written = self.ids.len();
        Ok(new)
    }
}
