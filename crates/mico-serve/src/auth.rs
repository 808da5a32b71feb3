//! API keys. Only their digests are kept, and every one is compared in full.

use std::fmt;

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::error::{Code, Result, ServeError};

/// Longest key, in bytes.
const MAX_KEY_BYTES: usize = 4096;

/// The keys that open the server; without any, everybody may come in.
#[derive(Clone, Default)]
pub struct Keys {
    digests: Vec<[u8; 32]>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} keys", self.digests.len())
    }
}

/// Who asks, as far as the server can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Caller {
    /// Keys are not asked for.
    Anonymous,
    /// The holder of the key with this number, in the order in which they were given.
    Key(usize),
}

impl Keys {
    /// Takes keys in, as digests. An error if one could not be sent in a header.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a str>) -> std::result::Result<Self, String> {
        let mut digests = Vec::new();
        for (index, key) in keys.into_iter().enumerate() {
            let fits = !key.is_empty()
                && key.len() <= MAX_KEY_BYTES
                && key.bytes().all(|byte| byte.is_ascii_graphic());
            if !fits {
                let number = index + 1;
                return Err(format!(
                    "API key {number}: accepted are 1 to {MAX_KEY_BYTES} visible ASCII characters"
                ));
            }
            digests.push(digest(key.as_bytes()));
        }
        Ok(Self { digests })
    }

    /// The keys of a file's text, one per line, `#` for comments.
    pub fn lines(text: &str) -> impl Iterator<Item = &str> {
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
    }

    /// Whether everybody may come in.
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// Who sent these headers; an error without a valid key, unless keys are not asked for.
    pub fn check(&self, headers: &HeaderMap) -> Result<Caller> {
        if self.is_empty() {
            return Ok(Caller::Anonymous);
        }
        let refused = |message: &str| ServeError::new(Code::InvalidApiKey, message);
        let Some(key) = key_of(headers) else {
            return Err(refused("no API key: send it as 'Authorization: Bearer KEY'"));
        };
        self.find(key).map(Caller::Key).ok_or_else(|| refused("wrong API key"))
    }

    /// The number of a key. Takes as long for every key and every wrong one.
    fn find(&self, key: &[u8]) -> Option<usize> {
        let given = digest(key);
        let (mut found, mut number) = (Choice::from(0), u64::MAX);
        for (index, digest) in self.digests.iter().enumerate() {
            let equal = digest.ct_eq(&given);
            number = u64::conditional_select(&number, &(index as u64), equal & !found);
            found |= equal;
        }
        bool::from(found).then(|| usize::try_from(number).unwrap_or_default())
    }
}

fn digest(key: &[u8]) -> [u8; 32] {
    Sha256::digest(key).into()
}

/// The key of a request: `Authorization: Bearer KEY`, or `X-Api-Key: KEY`.
fn key_of(headers: &HeaderMap) -> Option<&[u8]> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let value = value.as_bytes();
        let (scheme, key) = value.split_at_checked(7)?;
        return scheme.eq_ignore_ascii_case(b"bearer ").then(|| key.trim_ascii());
    }
    headers.get("x-api-key").map(|value| value.as_bytes().trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    fn sent(name: &str, value: &str) -> HeaderMap {
        let name: HeaderName = name.parse().unwrap();
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn keys_by_either_header_and_any_case_of_the_scheme() {
        let keys = Keys::new(["one", "two"]).unwrap();
        for (name, value, caller) in [
            ("authorization", "Bearer one", Some(0)),
            ("authorization", "bearer  two ", Some(1)),
            ("authorization", "BEARER two", Some(1)),
            ("x-api-key", "one", Some(0)),
            ("authorization", "Bearer three", None),
            ("authorization", "Bearer ", None),
            ("authorization", "Basic one", None),
            ("authorization", "one", None),
            ("authorization", "", None),
            ("x-api-key", "on", None),
            ("x-other", "one", None),
        ] {
            let found = keys.check(&sent(name, value)).ok();
            assert_eq!(found, caller.map(Caller::Key), "{name}: {value}");
        }
    }

    #[test]
    fn without_keys_everybody_comes_in() {
        let keys = Keys::default();
        for value in ["Bearer ", "Bearer x", "nonsense"] {
            assert_eq!(keys.check(&sent("authorization", value)).unwrap(), Caller::Anonymous);
        }
    }

    #[test]
    fn keys_are_never_shown_and_files_have_comments() {
        let keys = Keys::new(Keys::lines("# team\none\n\n  two  \n")).unwrap();
        assert_eq!(format!("{keys:?}"), "2 keys");
        for bad in ["", "a b", "ä", "a\u{7f}"] {
            assert!(Keys::new([bad]).is_err(), "{bad:?}");
        }
    }
}
