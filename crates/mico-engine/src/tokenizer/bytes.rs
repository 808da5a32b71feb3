//! The bytes a single token stands for, by the file's decoder: a token may be part of a character.

use serde_json::Value;

/// How a vocabulary writes bytes that are no letters of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ByteSpelling {
    /// Every byte is one character of GPT-2's table.
    ByteLevel,
    /// Text, in which some strings stand for others (a space, as a rule), and `<0x41>` for a byte where
    /// the vocabulary falls back to bytes.
    Text { replaced: Vec<(String, String)>, fallback: bool },
}

impl ByteSpelling {
    /// As the `decoder` of a checked `tokenizer.json` has it.
    pub(super) fn of(decoder: &Value) -> Self {
        let mut parts = vec![decoder];
        let nested = decoder.get("decoders").and_then(Value::as_array);
        parts.extend(nested.into_iter().flatten());
        let kind = |part: &Value| part.get("type").and_then(Value::as_str).map(str::to_owned);
        let has = |name: &str| parts.iter().any(|part| kind(part).as_deref() == Some(name));
        if has("ByteLevel") {
            return Self::ByteLevel;
        }
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let replacement = |part: &&Value| match kind(part).as_deref() {
            Some("Metaspace") => Some((text(part.get("replacement"))?, " ".to_owned())),
            Some("Replace") => {
                Some((text(part.get("pattern")?.get("String"))?, text(part.get("content"))?))
            }
            _ => None,
        };
        let replaced = parts.iter().filter_map(replacement).collect();
        Self::Text { replaced, fallback: has("ByteFallback") }
    }

    /// The bytes of a token that is written so in the vocabulary.
    pub(super) fn bytes(&self, token: &str) -> Vec<u8> {
        match self {
            Self::ByteLevel => {
                // Added tokens are plain text, and may have characters that are not in the table.
                let bytes: Option<Vec<u8>> = token.chars().map(byte_of).collect();
                bytes.unwrap_or_else(|| token.as_bytes().to_vec())
            }
            Self::Text { replaced, fallback } => {
                if let Some(byte) = byte_token(token).filter(|_| *fallback) {
                    return vec![byte];
                }
                let replace = |text: String, (from, to): &(String, String)| {
                    if from.is_empty() { text } else { text.replace(from, to) }
                };
                replaced.iter().fold(token.to_owned(), replace).into_bytes()
            }
        }
    }
}

/// The byte of a token such as `<0x0A>`.
fn byte_token(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    (digits.len() == 2).then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// The byte a character of GPT-2's table stands for: printable ones for themselves, the others for the
/// bytes that are not printable, in order from 256 on.
fn byte_of(character: char) -> Option<u8> {
    let code = u32::from(character);
    let own = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    match u8::try_from(code) {
        Ok(byte) => own(&byte).then_some(byte),
        Err(_) => (0..=u8::MAX).filter(|byte| !own(byte)).nth(code.checked_sub(256)? as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn characters_of_the_table_are_bytes() {
        let spelling = ByteSpelling::of(&json!({"type": "ByteLevel"}));
        assert_eq!(spelling.bytes("Ġcat"), b" cat");
        assert_eq!(spelling.bytes("Ċ"), b"\n");
        assert_eq!(spelling.bytes("Ã©"), "é".as_bytes());
        assert_eq!(spelling.bytes("Ã"), [0xC3]);
        assert_eq!(spelling.bytes("<|日|>"), "<|日|>".as_bytes());
    }

    #[test]
    fn pieces_are_text_or_single_bytes() {
        let file = json!({"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"},
        ]});
        let spelling = ByteSpelling::of(&file);
        assert_eq!(spelling.bytes("▁a▁b"), b" a b");
        assert_eq!(spelling.bytes("<0x0A>"), b"\n");
        assert_eq!(spelling.bytes("<0xC3>"), [0xC3]);
        let meta = ByteSpelling::of(&json!({"type": "Metaspace", "replacement": "_"}));
        assert_eq!((meta.bytes("_x"), meta.bytes("<0x0A>")), (b" x".to_vec(), b"<0x0A>".to_vec()));
    }
}
