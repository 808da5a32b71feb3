//! Tokenizers of the Qwen2 kind that come as `vocab.json` and `merges.txt`, without a
//! `tokenizer.json`: several original checkpoints do.

use std::collections::BTreeMap;

use mico_model::ModelFiles;
use mico_util::text::quoted;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result, read_text};

const VOCABULARY_FILE: &str = "vocab.json";
const MERGES_FILE: &str = "merges.txt";
const ADDED_FILE: &str = "added_tokens.json";
/// How `tokenizer_config.json` names the kind, with or without `Fast` behind it.
const CLASS: &str = "Qwen2Tokenizer";
/// Where Qwen2's tokenizer cuts a text before it merges bytes: contractions, words with one sign
/// before them, single digits, runs of signs with the newlines after them, white space.
pub(super) const PIECES: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// What `tokenizer.json` would say; nothing if the files are not there or of another kind.
pub(super) fn assemble(files: ModelFiles<'_>, config: &Value) -> Result<Option<String>> {
    let class = config.get("tokenizer_class").and_then(Value::as_str).unwrap_or_default();
    if class.strip_suffix("Fast").unwrap_or(class) != CLASS {
        return Ok(None);
    }
    let (Some(vocabulary), Some(merges)) =
        (read_text(files, VOCABULARY_FILE)?, read_text(files, MERGES_FILE)?)
    else {
        return Ok(None);
    };
    let vocabulary = object(files, VOCABULARY_FILE, &vocabulary)?;
    let merges: Vec<&str> =
        merges.lines().filter(|line| !line.is_empty() && !line.starts_with("#version")).collect();
    let mut added: BTreeMap<u64, Value> = BTreeMap::new();
    if let Some(text) = read_text(files, ADDED_FILE)? {
        for (content, id) in object(files, ADDED_FILE, &text)? {
            let number = id.as_u64().ok_or_else(|| Error::Json {
                path: files.path(ADDED_FILE),
                message: format!(
                    "`{}` is {}, expected a token id",
                    quoted(&content),
                    quoted(&id.to_string())
                ),
            })?;
            added.insert(number, token(number, &content, true));
        }
    }
    let listed = config.get("added_tokens_decoder").and_then(Value::as_object);
    for (id, entry) in listed.into_iter().flatten() {
        let content = entry.get("content").and_then(Value::as_str).unwrap_or_default();
        let special = entry.get("special").and_then(Value::as_bool).unwrap_or(true);
        let number = id.parse().map_err(|_| Error::Json {
            path: files.path(super::TOKENIZER_CONFIG_FILE),
            message: format!(
                "`added_tokens_decoder` has the key `{}`, expected a token id",
                quoted(id)
            ),
        })?;
        added.insert(number, token(number, content, special));
    }
    let bytes = json!({
        "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false,
    });
    let file = json!({
        "version": "1.0",
        "added_tokens": added.into_values().collect::<Vec<_>>(),
        "normalizer": { "type": "NFC" },
        "pre_tokenizer": { "type": "Sequence", "pretokenizers": [
            { "type": "Split", "pattern": { "Regex": PIECES }, "behavior": "Isolated", "invert": false },
            bytes,
        ] },
        "post_processor": bytes,
        "decoder": bytes,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "",
            "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false,
            "vocab": vocabulary, "merges": merges,
        },
    });
    Ok(Some(file.to_string()))
}

fn object(files: ModelFiles<'_>, name: &str, text: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(text).map_err(|error| Error::Json {
        path: files.path(name),
        message: quoted(&error.to_string()),
    })
}

fn token(id: u64, content: &str, special: bool) -> Value {
    json!({
        "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": special,
    })
}
