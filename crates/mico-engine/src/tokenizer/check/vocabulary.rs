//! The vocabulary of a `tokenizer.json`: the model's tokens and merges, and the added tokens.

use std::collections::{BTreeSet, HashMap};

use mico_util::text::quoted;
use serde_json::{Map, Value};

use super::Fault;

/// Most tokens of a model and most added ones; published vocabularies have at most 262,144.
const MAX_TOKENS: usize = 1 << 19;
/// Most merges; published files have at most twice as many as tokens.
const MAX_MERGES: usize = 1 << 20;
/// Longest token in bytes; the longest published ones are runs of 128 spaces.
const MAX_TOKEN_BYTES: usize = 4096;
/// The fields of an added token that say how it is found.
const ADDED_FLAGS: [&str; 5] = ["single_word", "lstrip", "rstrip", "normalized", "special"];
/// The fields that models may have, those of byte-pair encoding first.
const BPE_FIELDS: [&str; 10] = [
    "type",
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
    "vocab",
    "merges",
];
const WORD_LEVEL_FIELDS: [&str; 3] = ["type", "vocab", "unk_token"];

/// Tokens and ids that are known to exist.
#[derive(Debug)]
pub(super) struct Vocabulary<'f> {
    tokens: &'f Map<String, Value>,
    ids: BTreeSet<u32>,
    longest: usize,
}

impl<'f> Vocabulary<'f> {
    /// Checks the model and the added tokens of a file.
    pub(super) fn read(file: &'f Map<String, Value>) -> Result<Self, Fault> {
        let Some(model) = file.get("model").and_then(Value::as_object) else {
            return Err(Fault::corrupt("`model` is missing"));
        };
        let kind = model.get("type").and_then(Value::as_str);
        let known: &[&str] = match kind {
            Some("BPE") => &BPE_FIELDS,
            Some("WordLevel") => &WORD_LEVEL_FIELDS,
            Some(other) => {
                let message = format!(
                    "model '{}' is not supported (supported: BPE, WordLevel)",
                    quoted(other)
                );
                return Err(Fault::Unsupported(message));
            }
            None => return Err(Fault::corrupt("`model` has no `type`")),
        };
        if let Some(field) = model.keys().find(|field| !known.contains(&field.as_str())) {
            let message = format!("field '{}' of the model is not supported", quoted(field));
            return Err(Fault::Unsupported(message));
        }
        let Some(tokens) = model.get("vocab").and_then(Value::as_object) else {
            return Err(Fault::corrupt("`model.vocab` is not an object"));
        };
        let mut vocabulary = Self { tokens, ids: BTreeSet::new(), longest: 0 };
        vocabulary.read_tokens()?;
        vocabulary.check_unknown(model)?;
        if kind == Some("BPE") {
            check_affixes(model)?;
            check_flags(model)?;
            vocabulary.check_merges(model)?;
        }
        vocabulary.read_added(file)?;
        Ok(vocabulary)
    }

    /// Whether a token has this id.
    pub(super) fn contains(&self, id: u64) -> bool {
        u32::try_from(id).is_ok_and(|id| self.ids.contains(&id))
    }

    /// Bytes of the longest token.
    pub(super) fn longest(&self) -> u64 {
        self.longest as u64
    }

    fn id(&self, token: &str) -> Option<u64> {
        self.tokens.get(token)?.as_u64()
    }

    fn read_tokens(&mut self) -> Result<(), Fault> {
        if self.tokens.len() > MAX_TOKENS {
            let message = format!("{} tokens, accepted: at most {MAX_TOKENS}", self.tokens.len());
            return Err(Fault::Corrupt(message));
        }
        for (token, id) in self.tokens {
            let Some(number) = id.as_u64().and_then(bounded) else {
                let (token, id) = (quoted(token), quoted(&id.to_string()));
                let message = format!(
                    "token '{token}' has the id {id}, expected a number below {}",
                    MAX_TOKENS * 2
                );
                return Err(Fault::Corrupt(message));
            };
            self.take_in(token, number)?;
        }
        Ok(())
    }

    fn take_in(&mut self, token: &str, id: u32) -> Result<(), Fault> {
        if token.len() > MAX_TOKEN_BYTES {
            let message = format!(
                "token '{}' has {} bytes, accepted: at most {MAX_TOKEN_BYTES}",
                quoted(token),
                token.len()
            );
            return Err(Fault::Corrupt(message));
        }
        self.longest = self.longest.max(token.len());
        if !self.ids.insert(id) {
            return Err(Fault::Corrupt(format!(
                "token '{}' has the id {id}, which another token has",
                quoted(token)
            )));
        }
        Ok(())
    }

    fn check_unknown(&self, model: &Map<String, Value>) -> Result<(), Fault> {
        match model.get("unk_token") {
            None | Some(Value::Null) => Ok(()),
            Some(Value::String(token)) if self.id(token).is_some() => Ok(()),
            Some(other) => {
                let other = quoted(&other.to_string());
                Err(Fault::Corrupt(format!(
                    "`model.unk_token` is {other}, which is not in the vocabulary"
                )))
            }
        }
    }

    /// Every merge joins two tokens to a third; the library writes beyond a buffer's end otherwise.
    fn check_merges(&self, model: &Map<String, Value>) -> Result<(), Fault> {
        let Some(merges) = model.get("merges").and_then(Value::as_array) else {
            return Err(Fault::corrupt("`model.merges` is not a list"));
        };
        if merges.len() > MAX_MERGES {
            return Err(Fault::Corrupt(format!(
                "{} merges, accepted: at most {MAX_MERGES}",
                merges.len()
            )));
        }
        let as_text = merges.first().is_some_and(Value::is_string);
        for (index, merge) in merges.iter().enumerate() {
            // Old files begin with a line that names the version; the library passes over it.
            if as_text && merge.as_str().is_some_and(|line| line.starts_with("#version")) {
                continue;
            }
            let Some((left, right)) = pair(merge, as_text) else {
                let merge = quoted(&merge.to_string());
                return Err(Fault::Corrupt(format!(
                    "merge {index} is {merge}, expected two tokens"
                )));
            };
            let joined = format!("{left}{right}");
            if let Some(missing) =
                [left, right, &joined].into_iter().find(|token| self.id(token).is_none())
            {
                let missing = quoted(missing);
                return Err(Fault::Corrupt(format!(
                    "merge {index} needs the token '{missing}', which is not in the vocabulary"
                )));
            }
        }
        Ok(())
    }

    /// The library numbers added tokens by itself: those of the vocabulary keep their id, the others follow it
    /// one by one. A file that states other ids would be misread in silence.
    fn read_added(&mut self, file: &'f Map<String, Value>) -> Result<(), Fault> {
        let added = match file.get("added_tokens") {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Array(added)) if added.len() <= MAX_TOKENS => added,
            Some(_) => {
                return Err(Fault::Corrupt(format!(
                    "`added_tokens` is not a list of at most {MAX_TOKENS} tokens"
                )));
            }
        };
        let mut next = self.tokens.len() as u64;
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (index, token) in added.iter().enumerate() {
            let (content, id) = added_token(index, token)?;
            if let Some(first) = seen.insert(content, index) {
                return Err(Fault::Corrupt(format!(
                    "added tokens {first} and {index} are both '{}'",
                    quoted(content)
                )));
            }
            let known = self.id(content);
            let expected = known.unwrap_or(next);
            if id != expected {
                let content = quoted(content);
                return Err(Fault::Corrupt(format!(
                    "added token '{content}' has the id {id}, expected {expected}: added tokens follow the vocabulary one by one"
                )));
            }
            if known.is_none() {
                next += 1;
                let number = bounded(id).ok_or_else(|| {
                    Fault::Corrupt(format!("added token {index} has the id {id}"))
                })?;
                self.take_in(content, number)?;
            }
        }
        Ok(())
    }
}

/// An id that is plausible: tables are made as long as the largest.
fn bounded(id: u64) -> Option<u32> {
    u32::try_from(id).ok().filter(|id| (*id as usize) < MAX_TOKENS * 2)
}

fn added_token(index: usize, token: &Value) -> Result<(&str, u64), Fault> {
    let bad = |what: &str| Fault::Corrupt(format!("added token {index}: {what}"));
    let token = token.as_object().ok_or_else(|| bad("not an object"))?;
    if let Some(flag) =
        ADDED_FLAGS.iter().find(|flag| !token.get(**flag).is_some_and(Value::is_boolean))
    {
        return Err(bad(&format!("`{flag}` is not true or false")));
    }
    let content =
        token.get("content").and_then(Value::as_str).filter(|content| !content.is_empty());
    let content = content.ok_or_else(|| bad("`content` is not a text"))?;
    let id = token.get("id").and_then(Value::as_u64).ok_or_else(|| bad("`id` is not a number"))?;
    Ok((content, id))
}

/// Word pieces with a mark in front or behind belong to other models, and the library panics on them.
fn check_affixes(model: &Map<String, Value>) -> Result<(), Fault> {
    for field in ["continuing_subword_prefix", "end_of_word_suffix"] {
        match model.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::String(affix)) if affix.is_empty() => {}
            Some(other) => {
                let other = quoted(&other.to_string());
                return Err(Fault::Unsupported(format!(
                    "`model.{field}` is {other}, supported: none"
                )));
            }
        }
    }
    Ok(())
}

fn check_flags(model: &Map<String, Value>) -> Result<(), Fault> {
    for field in ["fuse_unk", "byte_fallback", "ignore_merges"] {
        if !matches!(model.get(field), None | Some(Value::Null | Value::Bool(_))) {
            return Err(Fault::Corrupt(format!("`model.{field}` is not true or false")));
        }
    }
    Ok(())
}

/// The two tokens of a merge: a pair, or in older files a text with one space; a file has one kind only.
fn pair(merge: &Value, as_text: bool) -> Option<(&str, &str)> {
    if as_text {
        let (left, right) = merge.as_str()?.split_once(' ')?;
        return (!right.contains(' ')).then_some((left, right));
    }
    match merge.as_array()?.as_slice() {
        [left, right] => Some((left.as_str()?, right.as_str()?)),
        _ => None,
    }
}
