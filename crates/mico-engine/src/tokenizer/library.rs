//! The tokenizers library behind a wall: nothing it does on a hostile file crosses as a panic.

use mico_util::catch_panic;
use mico_util::text::quoted;
use serde_json::Value;
use tokenizers::Tokenizer as Inner;

/// What is said of a panic, whose own text names lines of the library.
const GAVE_UP: &str = "the tokenizers library fails on this file";

/// A tokenizer of the library in which special tokens are plain text.
#[derive(Debug, Clone)]
pub(super) struct Library(Inner);

impl Library {
    /// From the contents of a `tokenizer.json`.
    pub(super) fn build(file: Value) -> Result<Self, String> {
        guarded(|| {
            let mut inner: Inner = serde_json::from_value(file)?;
            inner.set_encode_special_tokens(true);
            Ok(Self(inner))
        })
    }

    /// Ids of a text, `framed` by what the post-processor puts around it.
    pub(super) fn encode(&self, text: &str, framed: bool) -> Result<Vec<u32>, String> {
        guarded(|| Ok(self.0.encode_fast(text, framed)?.get_ids().to_vec()))
    }

    /// Text of ids, all of them shown.
    pub(super) fn decode(&self, ids: &[u32]) -> Result<String, String> {
        guarded(|| self.0.decode(ids, false))
    }

    /// The id of a token.
    pub(super) fn id(&self, token: &str) -> Option<u32> {
        self.0.token_to_id(token)
    }

    /// The text of a token.
    pub(super) fn token(&self, id: u32) -> Option<String> {
        self.0.id_to_token(id)
    }
}

/// Runs a call of the library; its errors and panics become texts of one line. The library keeps no state
/// between calls but caches, which a panic leaves as they were.
fn guarded<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, String> {
    match catch_panic(call) {
        Some(result) => result.map_err(|error| quoted(&error.to_string())),
        None => Err(GAVE_UP.to_owned()),
    }
}
