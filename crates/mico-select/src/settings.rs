//! Parsing of a method's `key=value` settings, with errors that list what is accepted.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::error::{Error, Result};

/// The settings given for one method. Reading a key declares it known; a key nobody read is an error.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    given: BTreeMap<String, String>,
    known: Vec<&'static str>,
}

impl Settings {
    /// Takes key-value pairs. A key given twice keeps its last value.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { given: pairs.into_iter().collect(), known: Vec::new() }
    }

    /// Reads a real number within `accepted`, or `default` if the key was not given.
    pub fn float(
        &mut self,
        key: &'static str,
        default: f64,
        accepted: RangeInclusive<f64>,
    ) -> Result<f64> {
        Ok(self.number(key, accepted)?.unwrap_or(default))
    }

    /// Reads a whole number within `accepted`, or `default` if the key was not given.
    pub fn count(
        &mut self,
        key: &'static str,
        default: usize,
        accepted: RangeInclusive<usize>,
    ) -> Result<usize> {
        Ok(self.number(key, accepted)?.unwrap_or(default))
    }

    /// Reads a number within `accepted`, or `None` if the key was not given.
    pub fn number<T>(&mut self, key: &'static str, accepted: RangeInclusive<T>) -> Result<Option<T>>
    where
        T: FromStr + PartialOrd + Display,
    {
        self.known.push(key);
        let Some(value) = self.given.remove(key) else { return Ok(None) };
        match value.parse::<T>() {
            Ok(number) if accepted.contains(&number) => Ok(Some(number)),
            _ => {
                let accepted = format!("a number from {} to {}", accepted.start(), accepted.end());
                Err(Error::BadSetting { key: key.into(), value, accepted })
            }
        }
    }

    /// Reads one of several words; the first is the default.
    pub fn choice<T: Copy>(&mut self, key: &'static str, options: &[(&str, T)]) -> Result<T> {
        self.known.push(key);
        let value = match self.given.remove(key) {
            Some(value) => value,
            None => options[0].0.into(),
        };
        let known = options.iter().find(|(word, _)| *word == value);
        known.map(|&(_, choice)| choice).ok_or_else(|| {
            let words: Vec<&str> = options.iter().map(|(word, _)| *word).collect();
            Error::BadSetting { key: key.into(), value, accepted: words.join(", ") }
        })
    }

    /// Fails on a key that was given and never read. Called once all settings have been read.
    pub fn finish(self, method: &str) -> Result<()> {
        match self.given.into_keys().next() {
            None => Ok(()),
            Some(key) => Err(Error::UnknownSetting {
                method: method.into(),
                key,
                known: if self.known.is_empty() { "none".into() } else { self.known.join(", ") },
            }),
        }
    }
}
