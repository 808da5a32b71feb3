//! The text of an answer while its tokens come in.

use std::sync::Arc;

use super::stop::StopGate;
use crate::error::Result;
use crate::tokenizer::{TextStream, Tokenizer};

/// Turns ids into text and holds back what may become a stop string.
#[derive(Debug)]
pub(super) struct Writer {
    stream: TextStream,
    gate: StopGate,
    /// Everything that was let through.
    text: String,
}

/// Text that cannot change any more, and the stop string behind it, if one came up.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) stop: Option<String>,
}

impl Writer {
    pub(super) fn new(tokenizer: Arc<Tokenizer>, stops: Vec<String>) -> Self {
        let (stream, gate) = (TextStream::new(tokenizer), StopGate::new(stops));
        Self { stream, gate, text: String::new() }
    }

    /// Takes one more token.
    pub(super) fn push(&mut self, id: u32) -> Result<Piece> {
        let text = self.stream.push(id)?;
        Ok(self.pass(&text))
    }

    /// What was held back, now that no token follows.
    pub(super) fn finish(&mut self) -> Result<Piece> {
        let text = self.stream.finish()?;
        let mut piece = self.pass(&text);
        if piece.stop.is_none() {
            let rest = self.gate.finish();
            self.text.push_str(&rest);
            piece.text.push_str(&rest);
        }
        Ok(piece)
    }

    /// The text so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn pass(&mut self, text: &str) -> Piece {
        let (text, stop) = self.gate.push(text);
        self.text.push_str(&text);
        Piece { text, stop }
    }
}
