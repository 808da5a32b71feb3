//! Typed access to a JSON object; every error names the setting by its dotted path.

use std::path::Path;

use mico_util::text::quoted;
use serde_json::{Map, Value};

use super::parts::Activation;
use crate::error::{Error, Result};

/// The largest configuration file accepted: real ones are a few kilobytes.
pub(super) const MAX_CONFIG_BYTES: u64 = 16 << 20;

/// A JSON object, with its file and path for error messages.
#[derive(Debug, Clone)]
pub struct Fields {
    file: String,
    prefix: String,
    map: Map<String, Value>,
}

impl Fields {
    /// Reads a JSON file whose root is an object.
    pub fn read(path: &Path) -> Result<Self> {
        let found = std::fs::metadata(path).map_err(Error::io(path))?;
        let size = found.len();
        if !found.is_file() {
            let message = "not a regular file".into();
            return Err(Error::Json { path: path.to_path_buf(), message });
        }
        if size > MAX_CONFIG_BYTES {
            return Err(Error::Json {
                path: path.to_path_buf(),
                message: format!("{size} bytes, at most {MAX_CONFIG_BYTES} are read"),
            });
        }
        let bytes = std::fs::read(path).map_err(Error::io(path))?;
        Self::parse(path, &bytes)
    }

    /// The settings in the contents of a JSON file whose root is an object.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let json = |message: String| Error::Json { path: path.to_path_buf(), message };
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(map)) => {
                Ok(Self { file: path.display().to_string(), prefix: String::new(), map })
            }
            Ok(_) => Err(json("the root is not an object".into())),
            Err(error) => Err(json(quoted(&error.to_string()))),
        }
    }

    /// The name of the file the settings come from.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Whether the setting is there and not null.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// An error about the setting `key`.
    pub fn error(&self, key: &str, message: impl Into<String>) -> Error {
        Error::Config { file: self.file.clone(), field: self.path(key), message: message.into() }
    }

    /// The error of a setting that asks for a feature this crate does not support.
    pub fn unsupported(&self, key: &str, message: impl Into<String>) -> Error {
        let (file, field) = (self.file.clone(), self.path(key));
        Error::Unsupported { file, field, message: message.into() }
    }

    /// An error of a check that knows the settings by their usual places, with the names of this file:
    /// older files have the decoder's settings at the root and `rope_scaling` for `rope_parameters`.
    pub(super) fn renamed(&self, error: Error) -> Error {
        let Error::Config { file, field, message } = error else { return error };
        let key = field.strip_prefix("text_config.").unwrap_or(&field);
        let key = match key.strip_prefix("rope_parameters.") {
            Some(inner) if self.has(inner) => inner.to_owned(),
            Some(inner) => format!("{}.{inner}", self.rope_key()),
            None => key.to_owned(),
        };
        Error::Config { file, field: self.path(&key), message }
    }

    /// What this file calls the settings of the rotary embedding.
    pub(crate) fn rope_key(&self) -> &'static str {
        if self.has("rope_scaling") && !self.has("rope_parameters") {
            "rope_scaling"
        } else {
            "rope_parameters"
        }
    }

    /// The dotted path of a setting, such as `text_config.hidden_size`.
    fn path(&self, key: &str) -> String {
        if self.prefix.is_empty() { key.to_owned() } else { format!("{}.{key}", self.prefix) }
    }

    fn get(&self, key: &str) -> Option<&Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn wrong(&self, key: &str, value: &Value, accepted: &str) -> Error {
        self.error(key, format!("is {}, expected {accepted}", quoted(&value.to_string())))
    }

    /// A nested object; `None` if absent.
    pub fn object(&self, key: &str) -> Result<Option<Self>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let Value::Object(map) = value else {
            return Err(self.wrong(key, value, "an object"));
        };
        Ok(Some(Self { file: self.file.clone(), prefix: self.path(key), map: map.clone() }))
    }

    /// A nested object; an error if absent.
    pub fn part(&self, key: &str) -> Result<Self> {
        self.object(key)?.ok_or_else(|| self.error(key, "is missing, an object is expected"))
    }

    /// Refuses a string other than the accepted one; an absent setting is accepted.
    pub fn only(&self, key: &str, accepted: &str) -> Result<()> {
        match self.text(key)? {
            Some(found) if found != accepted => {
                Err(self.error(key, format!("is `{}`, accepted: {accepted}", quoted(found))))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a flag other than the accepted one; an absent setting is accepted.
    pub fn must(&self, key: &str, accepted: bool) -> Result<()> {
        match self.flag(key)? {
            Some(found) if found != accepted => {
                Err(self.error(key, format!("is {found}, accepted: {accepted}")))
            }
            _ => Ok(()),
        }
    }

    /// The token id under the first of several keys that is present.
    pub fn token_of(&self, keys: &[&str]) -> Result<Option<u32>> {
        let stated = keys.iter().find(|key| self.has(key));
        stated.map_or(Ok(None), |key| self.token(key))
    }

    /// A non-negative whole number; `None` if absent, an error for anything else.
    pub fn usize(&self, key: &str) -> Result<Option<usize>> {
        self.get(key)
            .map(|value| {
                value
                    .as_u64()
                    .and_then(|n| usize::try_from(n).ok())
                    .ok_or_else(|| self.wrong(key, value, "a non-negative whole number"))
            })
            .transpose()
    }

    /// A token id (32 bits); `None` if absent.
    pub fn token(&self, key: &str) -> Result<Option<u32>> {
        self.usize(key)?
            .map(|id| {
                u32::try_from(id).map_err(|_| self.error(key, format!("is {id}, not a token id")))
            })
            .transpose()
    }

    /// Token ids, given as one number or a list of numbers.
    pub fn tokens(&self, key: &str) -> Result<Option<Vec<u32>>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let one = |value: &Value| {
            value
                .as_u64()
                .and_then(|id| u32::try_from(id).ok())
                .ok_or_else(|| self.wrong(key, value, "a token id or a list of token ids"))
        };
        match value {
            Value::Array(items) => items.iter().map(one).collect::<Result<_>>().map(Some),
            other => Ok(Some(vec![one(other)?])),
        }
    }

    /// A list of non-negative whole numbers; `None` if absent.
    pub fn counts(&self, key: &str) -> Result<Option<Vec<usize>>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let one = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
        let counts = value.as_array().and_then(|items| items.iter().map(one).collect());
        counts.map(Some).ok_or_else(|| self.wrong(key, value, "a list of non-negative numbers"))
    }

    /// The side of a square, also accepted as a list of two equal numbers.
    pub fn side(&self, key: &str) -> Result<Option<usize>> {
        match self.get(key) {
            Some(Value::Array(_)) => match self.counts(key)?.as_deref() {
                Some([height, width]) if height == width => Ok(Some(*height)),
                other => {
                    let found = quoted(&format!("{:?}", other.unwrap_or(&[])));
                    let message = format!("is {found}, expected two equal numbers");
                    Err(self.error(key, message))
                }
            },
            _ => self.usize(key),
        }
    }

    /// A signed whole number, also accepted as a list of exactly one.
    pub fn int(&self, key: &str) -> Result<Option<i64>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let single = match value {
            Value::Array(items) if items.len() == 1 => &items[0],
            other => other,
        };
        single.as_i64().map(Some).ok_or_else(|| self.wrong(key, value, "one whole number"))
    }

    /// A finite positive number.
    pub fn positive(&self, key: &str) -> Result<Option<f64>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_f64() {
            Some(x) if x.is_finite() && x > 0.0 => Ok(Some(x)),
            _ => Err(self.wrong(key, value, "a positive number")),
        }
    }

    /// The epsilon of a norm: positive, and small beside the variance it is added to.
    pub fn epsilon(&self, key: &str) -> Result<Option<f64>> {
        match self.positive(key)? {
            Some(eps) if eps >= 1.0 => {
                Err(self.error(key, format!("is {eps}, expected a number below 1")))
            }
            other => Ok(other),
        }
    }

    /// An activation function by name; `None` if absent.
    pub fn activation(&self, key: &str) -> Result<Option<Activation>> {
        let Some(name) = self.text(key)? else { return Ok(None) };
        match Activation::parse(name) {
            Ok(activation) => Ok(Some(activation)),
            Err(error) => Err(self.error(key, format!("is an {error}"))),
        }
    }

    /// A Boolean; `None` if absent, an error for anything else.
    pub fn flag(&self, key: &str) -> Result<Option<bool>> {
        self.get(key)
            .map(|value| value.as_bool().ok_or_else(|| self.wrong(key, value, "true or false")))
            .transpose()
    }

    /// A string; `None` if absent, an error for anything else.
    pub fn text(&self, key: &str) -> Result<Option<&str>> {
        self.get(key)
            .map(|value| value.as_str().ok_or_else(|| self.wrong(key, value, "a string")))
            .transpose()
    }

    /// A list of strings; `None` if absent.
    pub fn texts(&self, key: &str) -> Result<Option<Vec<&str>>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let texts = value.as_array().and_then(|items| items.iter().map(Value::as_str).collect());
        texts.map(Some).ok_or_else(|| self.wrong(key, value, "a list of strings"))
    }

    /// A list of pairs of whole numbers; `None` if absent.
    pub fn pairs(&self, key: &str) -> Result<Option<Vec<(usize, usize)>>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let wrong = || self.wrong(key, value, "a list of [height, width] pairs");
        let side =
            |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0);
        let items = value.as_array().ok_or_else(wrong)?;
        items
            .iter()
            .map(|item| match item.as_array().map(Vec::as_slice) {
                Some([a, b]) => side(a).zip(side(b)).ok_or_else(wrong),
                _ => Err(wrong()),
            })
            .collect::<Result<_>>()
            .map(Some)
    }
}
