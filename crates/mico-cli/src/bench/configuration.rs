//! What decides a measurement, apart from the setting that is measured.

use std::collections::{BTreeMap, BTreeSet};

use mico_engine::families::FamilySpec;
use mico_eval::fingerprint;
use mico_model::QuantKind;
use serde::{Deserialize, Serialize};

use super::args::BenchArgs;
use super::subject::NO_SUBJECT;
use super::system;
use crate::failure::Failure;
use crate::model_args::Located;

/// Names and values of everything that two journals must have in common to be one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Configuration(BTreeMap<String, String>);

impl Configuration {
    /// That of a call. Reads the model's files only if a journal needs to know them.
    pub(super) fn new(args: &BenchArgs) -> Result<Self, Failure> {
        let quantize = args.quantize.map_or("none", QuantKind::name);
        let (model, weights) = match (&args.model, &args.synthetic) {
            (Some(folder), _) if args.out.is_some() => {
                (folder.display().to_string(), fingerprint(Located::at(folder).files())?)
            }
            (Some(folder), _) => (folder.display().to_string(), "not read".to_owned()),
            (None, Some(preset)) => (preset.name.to_owned(), "random".to_owned()),
            (None, None) => return Err(Failure::misused(NO_SUBJECT)),
        };
        let or = |given: Option<String>, absent: &str| given.unwrap_or_else(|| absent.to_owned());
        let size = args.image_size.map(|size| format!("{}x{}", size.width, size.height));
        let values = [
            ("model", model),
            ("weights", weights),
            ("quantize", quantize.to_owned()),
            ("threads", rayon::current_num_threads().to_string()),
            ("image-size", or(size, "usual")),
            ("frames", or(args.frames.map(|frames| frames.to_string()), "usual")),
            ("text-tokens", args.text_tokens.to_string()),
            ("new-tokens", args.new_tokens.to_string()),
            ("seed", args.seed.to_string()),
            ("commit", or(system::commit(), "unknown")),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ];
        Ok(Self(values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
    }

    /// What differs from `now`, in words; nothing if nothing does.
    pub(super) fn differences(&self, now: &Self) -> Option<String> {
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
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// What is known of a model once it is loaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct About {
    /// The folder or preset.
    pub(super) model: String,
    /// The published model of this shape.
    pub(super) preset: Option<String>,
    pub(super) synthetic: bool,
    pub(super) quantize: Option<String>,
    pub(super) dtype: String,
    /// Number format of the tower's and projector's matrices.
    pub(super) vision: String,
    pub(super) attention: String,
    pub(super) layers: usize,
    pub(super) decoder_bytes: usize,
    pub(super) load_seconds: f64,
    /// A hash of the tower's files where they are a folder of their own; read only for a journal.
    pub(super) tower: Option<String>,
}

impl About {
    /// What differs from `now` though the configuration is the same.
    pub(super) fn differences(&self, now: &Self) -> Option<String> {
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
        let of = |pairs: &[(&str, &str)]| {
            Configuration(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
        };
        let before = of(&[("seed", "1"), ("threads", "2")]);
        assert_eq!(before.differences(&before), None);
        let after = of(&[("seed", "1"), ("threads", "4")]);
        assert_eq!(before.differences(&after).unwrap(), "threads 2 (now 4)");
    }
}
