//! What decides a measurement, apart from the condition that is measured.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

const THREADS: &str = "threads";
const COMMIT: &str = "commit";
const UNKNOWN: &str = "unknown";

/// Names and values of everything that two journals must have in common to be one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Configuration(BTreeMap<String, String>);

impl Configuration {
    /// The engine's threads, the commit it was built from, and whatever else decides the numbers.
    pub fn new(
        threads: usize,
        commit: Option<String>,
        others: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Self {
        let commit = commit.unwrap_or_else(|| UNKNOWN.to_owned());
        let known = [(THREADS, threads.to_string()), (COMMIT, commit)];
        let all = known.into_iter().chain(others);
        Self(all.map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// What differs from `now`, in words; nothing if nothing does.
    pub(crate) fn differences(&self, now: &Self) -> Option<String> {
        let absent = String::new();
        let names: BTreeSet<&String> = self.0.keys().chain(now.0.keys()).collect();
        let differences = names.into_iter().filter_map(|name| {
            let before = self.0.get(name).unwrap_or(&absent);
            let after = now.0.get(name).unwrap_or(&absent);
            (before != after).then(|| format!("{name} {before} (now {after})"))
        });
        let differences: Vec<String> = differences.collect();
        (!differences.is_empty()).then(|| differences.join(", "))
    }

    /// A value by its name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn threads(&self) -> usize {
        self.get(THREADS).and_then(|threads| threads.parse().ok()).unwrap_or_default()
    }

    pub(crate) fn commit(&self) -> Option<&str> {
        self.get(COMMIT).filter(|commit| *commit != UNKNOWN)
    }
}

/// What is known of a model once it is loaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct About {
    /// The folder, hub id or preset.
    pub model: String,
    /// The published model of this shape.
    pub preset: Option<String>,
    /// Whether its weights are random.
    pub synthetic: bool,
    /// Quantisation of the decoder's matrices.
    pub quantize: Option<String>,
    /// Number format of the hidden states.
    pub dtype: String,
    /// Number format of the tower's and projector's matrices.
    pub vision: String,
    /// How attention is computed.
    pub attention: String,
    /// The number of decoder blocks.
    pub layers: usize,
    /// Bytes of the decoder's matrices.
    pub decoder_bytes: usize,
    /// How long loading took.
    pub load_seconds: f64,
    /// A hash of the tower's files where they are a folder of their own; read only for a journal.
    pub tower: Option<String>,
}

impl About {
    /// What differs from `now` though the configuration is the same.
    pub(crate) fn differences(&self, now: &Self) -> Option<String> {
        let tower = |about: &Self| about.tower.clone().unwrap_or_default();
        let pairs = [
            ("dtype", self.dtype.clone(), now.dtype.clone()),
            ("attention", self.attention.clone(), now.attention.clone()),
            ("tower", tower(self), tower(now)),
        ];
        let (name, before, after) = pairs.into_iter().find(|(_, before, after)| before != after)?;
        Some(format!("{name} {before} (now {after})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named() {
        let of = |threads| Configuration::new(threads, None, [("seed", "1".to_owned())]);
        let before = of(2);
        assert_eq!(before.differences(&before), None);
        assert_eq!(before.differences(&of(4)).unwrap(), "threads 2 (now 4)");
        assert_eq!((before.threads(), before.commit(), before.get("seed")), (2, None, Some("1")));
    }
}
