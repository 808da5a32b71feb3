//! `tokenizer.json`: texts to ids in two ways that never mix, and ids back to text.
//!
//! What a chat template writes may be a special token. What a person writes never is: it goes through
//! a second tokenizer in which every special token is plain text. The file itself is not trusted: `check`
//! says what it may hold, `library` catches what may happen nevertheless.

mod bytes;
mod check;
mod library;
mod qwen2;
mod stream;

pub use stream::TextStream;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use mico_model::ModelFiles;
use mico_util::text::quoted;
use serde_json::Value;

use crate::error::{Error, Result, read_text, read_text_up_to};
use bytes::ByteSpelling;
use check::{Checked, Fault, Limits};
use library::Library;

/// File with the vocabulary.
pub const TOKENIZER_FILE: &str = "tokenizer.json";
/// File with the names of the special tokens.
pub const TOKENIZER_CONFIG_FILE: &str = "tokenizer_config.json";
/// The settings that name a special token.
const NAMED_TOKENS: [&str; 6] =
    ["bos_token", "eos_token", "unk_token", "pad_token", "image_token", "sep_token"];

/// A special token: its text and id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecialToken {
    /// As it is written.
    pub text: String,
    /// As the model knows it.
    pub id: u32,
    /// Whether answers leave it out. Tokens that merely look special are shown.
    pub hidden: bool,
}

/// A checkpoint's tokenizer, with its special tokens and the settings of `tokenizer_config.json`.
#[derive(Debug, Clone)]
pub struct Tokenizer {
    path: PathBuf,
    limits: Limits,
    plain: Library,
    /// For text that does not begin the prompt, where the file treats the beginning differently.
    continued: Option<Library>,
    specials: Vec<SpecialToken>,
    /// Where each id stands in `specials`.
    special_ids: HashMap<u32, usize>,
    config: Value,
    begins_with: Option<u32>,
    /// How the vocabulary writes bytes.
    spelling: ByteSpelling,
}

impl Tokenizer {
    /// Reads `tokenizer.json` (or the `vocab.json` and `merges.txt` of a Qwen2 tokenizer) and, where
    /// there is one, `tokenizer_config.json` of a model folder.
    pub fn open<'a>(files: impl Into<ModelFiles<'a>>) -> Result<Self> {
        let files = files.into();
        let path = files.path(TOKENIZER_FILE);
        let config = match read_text(files, TOKENIZER_CONFIG_FILE)? {
            None => Value::Null,
            Some(text) => serde_json::from_str(&text).map_err(|error| Error::Json {
                path: files.path(TOKENIZER_CONFIG_FILE),
                message: quoted(&error.to_string()),
            })?,
        };
        let text = match read_text_up_to(files, TOKENIZER_FILE, check::MAX_FILE_BYTES)? {
            Some(text) => Some(text),
            None => qwen2::assemble(files, &config)?,
        };
        let Some(text) = text else {
            let reason = format!("{} does not exist", path.display());
            return Err(Error::NoTokenizer { reason });
        };
        Self::parse(&text, config, path)
    }

    /// From the text of `tokenizer.json` and the value of `tokenizer_config.json` (or null). The text is
    /// checked before any of it is used: kinds and fields that no published model of our families has are
    /// refused by name.
    pub fn parse(text: &str, config: Value, path: PathBuf) -> Result<Self> {
        let fail = |message: String| Error::Tokenizer { path: path.clone(), message };
        let Checked { mut file, limits } =
            check::check(text).map_err(|fault| refused(fault, &path))?;
        let specials = mark_specials(&mut file, &config);
        let special_ids =
            specials.iter().enumerate().map(|(at, special)| (special.id, at)).collect();
        let build = |file: Value| -> Result<Library> {
            Library::build(file).map_err(|error| fail(format!("cannot be used: {error}")))
        };
        let spelling = ByteSpelling::of(&file["decoder"]);
        let mut pre_tokenizer = file["pre_tokenizer"].clone();
        let continued = if stop_prepending(&mut pre_tokenizer) {
            let mut continuing = file.clone();
            continuing["pre_tokenizer"] = pre_tokenizer;
            Some(build(continuing)?)
        } else {
            None
        };
        let plain = build(file)?;
        let mut tokenizer = Self {
            path,
            limits,
            plain,
            continued,
            specials,
            special_ids,
            config,
            begins_with: None,
            spelling,
        };
        tokenizer.begins_with = tokenizer.first_token()?;
        Ok(tokenizer)
    }

    /// Ids of a text in which nothing is special, at the beginning of a prompt.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        self.encode_with(&self.plain, text)
    }

    /// Ids of a text in which nothing is special, after something else. They differ from
    /// [`Tokenizer::encode`] only if the file puts a space before the very first word alone.
    pub fn encode_continued(&self, text: &str) -> Result<Vec<u32>> {
        self.encode_with(self.continued.as_ref().unwrap_or(&self.plain), text)
    }

    fn encode_with(&self, library: &Library, text: &str) -> Result<Vec<u32>> {
        let (bytes, longest) = (text.len() as u64, self.limits.text_bytes);
        if bytes > longest {
            return Err(Error::LongText { bytes, longest, path: self.path.clone() });
        }
        let ids = library.encode(text, false).map_err(|error| self.fail(error))?;
        // A vocabulary may still reach a special piece by itself; unknown is no such thing.
        let unknown = self.named("unk_token");
        let reached = ids.iter().filter_map(|id| self.special(*id));
        match reached.into_iter().find(|special| Some(special.text.as_str()) != unknown) {
            Some(SpecialToken { text, id, .. }) => {
                Err(Error::SpecialInText { token: text.clone(), id: *id })
            }
            None => Ok(ids),
        }
    }

    /// Text of ids, special tokens left out.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        let visible: Vec<u32> = ids.iter().copied().filter(|id| !self.hides(*id)).collect();
        self.check_length(&visible)?;
        self.plain.decode(&visible).map_err(|error| self.fail(error))
    }

    /// Every special token of the vocabulary, with its text and id.
    pub fn specials(&self) -> &[SpecialToken] {
        &self.specials
    }

    /// The id of a token of the vocabulary.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.plain.id(token)
    }

    /// The text of one token of the vocabulary.
    pub fn token(&self, id: u32) -> Option<String> {
        self.plain.token(id)
    }

    /// The bytes one token of the vocabulary stands for, which may be part of a character or end in the
    /// middle of one; `None` for an id that is no token.
    pub fn token_bytes(&self, id: u32) -> Option<Vec<u8>> {
        let token = self.token(id)?;
        if self.special(id).is_some() {
            return Some(token.into_bytes());
        }
        Some(self.spelling.bytes(&token))
    }

    /// The special token a setting such as `eos_token` names.
    pub fn named(&self, setting: &str) -> Option<&str> {
        token_text(self.config.get(setting)?)
    }

    /// The token every prompt begins with, if there is one.
    pub fn begins_with(&self) -> Option<u32> {
        self.begins_with
    }

    /// `tokenizer_config.json`, null if there is none.
    pub fn config(&self) -> &Value {
        &self.config
    }

    /// `add_bos_token` where it is stated, else what the file's own post-processing puts first.
    fn first_token(&self) -> Result<Option<u32>> {
        let named = self.named("bos_token").and_then(|token| self.id(token));
        match self.config.get("add_bos_token").and_then(Value::as_bool) {
            Some(true) => return Ok(named),
            Some(false) => return Ok(None),
            None => {}
        }
        let framed = self.plain.encode("a", true).map_err(|error| self.fail(error))?;
        let bare = self.plain.encode("a", false).map_err(|error| self.fail(error))?;
        Ok(framed.first().copied().filter(|first| Some(first) != bare.first()))
    }

    /// Whether ids are few enough to be decoded: tokens may be long, and decoders may lengthen them.
    fn check_length(&self, ids: &[u32]) -> Result<()> {
        let most = self.limits.token_bytes;
        if ids.len() as u64 * self.limits.longest_token <= most {
            return Ok(());
        }
        let bytes: usize =
            ids.iter().filter_map(|id| self.token(*id)).map(|token| token.len()).sum();
        if bytes as u64 <= most {
            return Ok(());
        }
        Err(self.fail(format!("{} tokens have {bytes} bytes, accepted: at most {most}", ids.len())))
    }

    fn special(&self, id: u32) -> Option<&SpecialToken> {
        self.specials.get(*self.special_ids.get(&id)?)
    }

    fn hides(&self, id: u32) -> bool {
        self.special(id).is_some_and(|special| special.hidden)
    }

    fn fail(&self, error: impl std::fmt::Display) -> Error {
        Error::Tokenizer { path: self.path.clone(), message: error.to_string() }
    }
}

fn refused(fault: Fault, path: &Path) -> Error {
    let path = path.to_path_buf();
    match fault {
        Fault::Unsupported(message) => Error::UnsupportedTokenizer { path, message },
        Fault::Corrupt(message) => Error::Tokenizer { path, message },
    }
}

/// Marks as special every added token that could pass for one, so that texts cannot reach it: those
/// the file marks, those a setting names, and those written like one (`<...>`, `[...]`).
fn mark_specials(file: &mut Value, config: &Value) -> Vec<SpecialToken> {
    let mut named: Vec<&str> =
        NAMED_TOKENS.iter().filter_map(|name| token_text(config.get(name)?)).collect();
    let more = config.get("additional_special_tokens").and_then(Value::as_array);
    named.extend(more.into_iter().flatten().filter_map(token_text));
    let mut specials = Vec::new();
    let added = file.get_mut("added_tokens").and_then(Value::as_array_mut);
    for token in added.into_iter().flatten() {
        let Some(text) = token.get("content").and_then(Value::as_str).map(str::to_owned) else {
            continue;
        };
        let Some(id) = token.get("id").and_then(Value::as_u64).and_then(|id| id.try_into().ok())
        else {
            continue;
        };
        let marked = token.get("special").and_then(Value::as_bool).unwrap_or(false);
        let bracketed = (text.starts_with('<') && text.ends_with('>'))
            || (text.starts_with('[') && text.ends_with(']'));
        let hidden = marked || named.contains(&text.as_str());
        if hidden || bracketed {
            token["special"] = Value::Bool(true);
            specials.push(SpecialToken { text, id, hidden });
        }
    }
    specials
}

/// Turns "a space before the first word" into none; says whether there was such a rule.
fn stop_prepending(pre_tokenizer: &mut Value) -> bool {
    if pre_tokenizer.get("prepend_scheme").and_then(Value::as_str) == Some("first") {
        pre_tokenizer["prepend_scheme"] = Value::String("never".into());
        return true;
    }
    let nested = pre_tokenizer.get_mut("pretokenizers").and_then(Value::as_array_mut);
    nested.into_iter().flatten().any(stop_prepending)
}

/// A token in a setting: its text, or an object that holds it.
fn token_text(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("content")?.as_str())
}
