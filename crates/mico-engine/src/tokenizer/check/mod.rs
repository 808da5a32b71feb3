//! `tokenizer.json` is a program from a stranger: read here before the tokenizers library sees it.
//!
//! The library trusts such files: lengths of zero, character maps without an end, templates that name what
//! is not there and replacements that double a text thirty times make it panic, abort or hang. So every
//! component must be one that published models of our families use (or the library's own training makes),
//! every field must be known and in its range, and how much a text can grow is computed before one is
//! encoded. What is none of that is refused by name. What has no meaning for inference is taken out:
//! `truncation` and `padding`, because prompts are never cut or filled, and `dropout`, which makes training
//! robust and answers random.

mod components;
mod json;
mod pattern;
mod template;
mod vocabulary;

use serde_json::{Map, Value};

use components::{DECODERS, Growth, NORMALIZERS, POST_PROCESSORS, PRE_TOKENIZERS};
use vocabulary::Vocabulary;

/// The longest `tokenizer.json` that is read; the longest published ones have half as much.
pub(super) const MAX_FILE_BYTES: u64 = 64 << 20;
/// Most bytes that the components may make of one text: about a million tokens' worth, and what the
/// regular expressions' stack of a million entries can follow.
const MAX_GROWN_BYTES: u64 = 4 << 20;
/// The longest text for a pattern that no published model has: matching is at worst quadratic.
const MAX_OWN_PATTERN_TEXT: u64 = 32 << 10;
/// Most bytes of one decoded answer.
const MAX_DECODED_BYTES: u64 = 64 << 20;

/// Why a file is not used; the message names the component.
#[derive(Debug)]
pub(super) enum Fault {
    /// It asks for something that this program does not do.
    Unsupported(String),
    /// It contradicts itself or its format.
    Corrupt(String),
}

impl Fault {
    fn corrupt(message: impl Into<String>) -> Self {
        Self::Corrupt(message.into())
    }
}

/// A file that was checked, and what its components can at most make of a text.
#[derive(Debug)]
pub(super) struct Checked {
    /// What the library may see.
    pub(super) file: Value,
    /// How long texts and answers may be.
    pub(super) limits: Limits,
}

/// Bounds that follow from a file's components.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Longest text in bytes that may be encoded.
    pub(super) text_bytes: u64,
    /// Most bytes that tokens may have together when they are decoded.
    pub(super) token_bytes: u64,
    /// Bytes of the longest token.
    pub(super) longest_token: u64,
}

/// Checks the text of a `tokenizer.json`.
pub(super) fn check(text: &str) -> Result<Checked, Fault> {
    let Value::Object(mut file) = json::parse(text)? else {
        return Err(Fault::corrupt("not a JSON object"));
    };
    if file.get("version").is_some_and(|version| version != "1.0") {
        return Err(Fault::Unsupported("`version` is not \"1.0\"".into()));
    }
    let vocabulary = Vocabulary::read(&file)?;
    let component = |slot: &'static components::Slot| {
        components::check(slot, file.get(slot.name).unwrap_or(&Value::Null), &vocabulary)
    };
    let before = component(&NORMALIZERS)?
        .then(component(&PRE_TOKENIZERS)?, "normalizers and pre-tokenizers")?;
    component(&POST_PROCESSORS)?;
    let after = component(&DECODERS)?;
    let limits = limits(before, after, &vocabulary);
    strip(&mut file);
    Ok(Checked { file: Value::Object(file), limits })
}

fn limits(before: Growth, after: Growth, vocabulary: &Vocabulary<'_>) -> Limits {
    let mut text_bytes = MAX_GROWN_BYTES / before.factor();
    if before.own_pattern() {
        text_bytes = text_bytes.min(MAX_OWN_PATTERN_TEXT);
    }
    Limits {
        text_bytes,
        token_bytes: MAX_DECODED_BYTES / after.factor(),
        longest_token: vocabulary.longest(),
    }
}

/// Takes out what must not decide an answer.
fn strip(file: &mut Map<String, Value>) {
    file.insert("truncation".into(), Value::Null);
    file.insert("padding".into(), Value::Null);
    if let Some(Value::Object(model)) = file.get_mut("model") {
        model.remove("dropout");
    }
}
