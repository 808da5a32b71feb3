//! A setting: everything that decides an answer apart from model, images, prompt and sampling, as it
//! is written down. This is the only place where it is parsed and printed.

use std::fmt;
use std::str::FromStr;

use mico_select::pruner::{MethodSpec, PruningSpec};
use mico_select::schedule::Budget;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::preprocess::ImageLimits;
use crate::prompt::PromptStyle;
use crate::request::SessionOptions;
use crate::switches::Switches;

/// The word for a run without pruning.
const UNPRUNED: &str = "unpruned";
const MIN_PIXELS: &str = "min_pixels";
const MAX_PIXELS: &str = "max_pixels";
const MAX_TILES: &str = "max_tiles";
const STYLE: &str = "style";

/// A way to run a model: pruning, switches, image limits, prompt style.
///
/// As text it is a line of words: first `unpruned`, or a method with its budget and what overrides
/// the method's own counts ([`PruningSpec`]); then what differs from the defaults of switches, image
/// limits and prompt style, always in the same order. The text reads back as the same setting, so
/// records and run identities are keyed by it.
///
/// ```
/// use mico_engine::Setting;
/// let setting: Setting = "mico T=64 K=7 max_tiles=6 position-mode=compact".parse()?;
/// assert_eq!(setting.to_string(), "mico T=64 K=7 position_mode=compact max_tiles=6");
/// assert_eq!("unpruned style=vicuna".parse::<Setting>()?.to_string(), "unpruned style=vicuna");
/// assert!("mico T=64 T=32".parse::<Setting>().is_err());
/// # Ok::<(), mico_engine::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Setting {
    /// What to prune; `None` runs the model untouched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pruning: Option<PruningSpec>,
    /// Choices the paper leaves open.
    #[serde(skip_serializing_if = "is_default")]
    pub switches: Switches,
    /// How large an image may become, in place of what the checkpoint says.
    #[serde(skip_serializing_if = "is_default")]
    pub limits: ImageLimits,
    /// How messages become a prompt, in place of the checkpoint's own way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub style: Option<PromptStyle>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Setting {
    /// A method at a layer average of so many tokens, everything else as it comes.
    pub fn pruned(method: MethodSpec, tokens: usize) -> Self {
        PruningSpec::new(method, Budget::Tokens(tokens)).into()
    }

    /// The same pruned otherwise, or not at all.
    pub fn with_pruning(&self, pruning: Option<PruningSpec>) -> Self {
        Self { pruning, ..self.clone() }
    }

    /// What the engine is asked under; an error if the method is unknown or is asked for something it
    /// does not have.
    pub fn options(&self) -> Result<SessionOptions> {
        let mut options = SessionOptions::default();
        if let Some(pruning) = &self.pruning {
            options.pruning = pruning.build()?;
        }
        options.switches = self.switches;
        options.limits = self.limits;
        options.style = self.style;
        Ok(options)
    }

    /// The same with a seed for whatever the method leaves to chance, unless it has one.
    pub fn seeded(&self, seed: u64) -> Self {
        let mut setting = self.clone();
        if let Some(pruning) = &mut setting.pruning {
            pruning.method = pruning.method.clone().seeded(seed);
        }
        setting
    }

    /// The words behind those of pruning: what differs from the defaults.
    pub fn words(&self) -> impl Iterator<Item = String> {
        let switches = self.switches.iter().filter(|switch| !switch.is_default);
        let switches = switches.map(|switch| format!("{}={}", switch.name, switch.value));
        let ImageLimits { min_pixels, max_pixels, max_tiles } = self.limits;
        let limits = [
            min_pixels.map(|pixels| format!("{MIN_PIXELS}={pixels}")),
            max_pixels.map(|pixels| format!("{MAX_PIXELS}={pixels}")),
            max_tiles.map(|tiles| format!("{MAX_TILES}={tiles}")),
            self.style.map(|style| format!("{STYLE}={}", style.name())),
        ];
        switches.chain(limits.into_iter().flatten())
    }

    /// Takes one word that is not pruning's.
    fn take(&mut self, word: &str) -> Result<()> {
        let Some((name, value)) = word.split_once('=') else {
            return Err(Error::range(
                "setting",
                format!("'{word}'"),
                "words of the form name=value",
            ));
        };
        match name {
            MIN_PIXELS => number(word, value, &mut self.limits.min_pixels),
            MAX_PIXELS => number(word, value, &mut self.limits.max_pixels),
            MAX_TILES => number(word, value, &mut self.limits.max_tiles),
            STYLE => once(word, &mut self.style, value.parse()?),
            _ => self.switches.set(name, value),
        }
    }
}

fn number<T: FromStr>(word: &str, value: &str, place: &mut Option<T>) -> Result<()> {
    let wrong = |_| Error::range("setting", format!("'{word}'"), "a positive whole number");
    let number = value.parse().map_err(wrong)?;
    once(word, place, number)
}

fn once<T>(word: &str, place: &mut Option<T>, value: T) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::range("setting", format!("'{word}'"), "each word once")),
    }
}

impl From<PruningSpec> for Setting {
    fn from(pruning: PruningSpec) -> Self {
        Self { pruning: Some(pruning), ..Self::default() }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pruning {
            Some(pruning) => pruning.fmt(f)?,
            None => f.write_str(UNPRUNED)?,
        }
        self.words().try_for_each(|word| write!(f, " {word}"))
    }
}

impl FromStr for Setting {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut words = text.split_whitespace();
        let Some(first) = words.next() else {
            return Err(Error::range("setting", "empty", "unpruned, or a method with a budget"));
        };
        let (pruning, others): (Vec<&str>, Vec<&str>) =
            words.partition(|word| PruningSpec::is_word(word));
        let mut setting = match (first, pruning.as_slice()) {
            (UNPRUNED, []) => Self::default(),
            (UNPRUNED, [word, ..]) => {
                let found = format!("'{word}' beside {UNPRUNED}");
                return Err(Error::range("setting", found, "a method with a budget"));
            }
            (method, words) => [&[method], words].concat().join(" ").parse::<PruningSpec>()?.into(),
        };
        let mut names = Vec::new();
        for word in others {
            let name = word.split('=').next().map(|name| name.to_lowercase().replace('-', "_"));
            if names.contains(&name) {
                return Err(Error::range("setting", format!("'{word}'"), "each word once"));
            }
            names.push(name);
            setting.take(word)?;
        }
        Ok(setting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(text: &str) {
        let setting: Setting = text.parse().unwrap();
        assert_eq!(setting.to_string(), text);
        let json = serde_json::to_string(&setting).unwrap();
        assert_eq!(serde_json::from_str::<Setting>(&json).unwrap(), setting, "{json}");
    }

    #[test]
    fn text_and_json_read_back_as_the_same() {
        for text in [
            "unpruned",
            "unpruned resize_backend=torch max_pixels=1003520",
            "mico T=64",
            "mico:idle=random:seed=7 keep=0.25 K=7 n=3 authors",
            "vispruner:ratio=0.75 T=32 position_mode=original relevance=visual_only min_pixels=3136 \
             max_pixels=12845056 max_tiles=6 style=qwen2.5-vl",
        ] {
            round_trip(text);
        }
        assert_eq!(serde_json::to_string(&Setting::default()).unwrap(), "{}");
    }

    #[test]
    fn what_is_no_setting_is_refused_by_its_word() {
        for (text, culprit) in [
            ("", "empty"),
            ("mico", "T=TOKENS"),
            ("mico T=64 T=32", "T=32"),
            ("mico T=64 speed=fast", "speed"),
            ("mico T=64 compact", "compact"),
            ("mico T=64 max_tiles=-1", "max_tiles=-1"),
            ("mico T=64 max_tiles=2 max_tiles=2", "max_tiles=2"),
            ("mico T=64 relevance=auto relevance=auto", "relevance"),
            ("mico T=64 style=latin", "latin"),
            ("unpruned T=64", "T=64"),
        ] {
            let error = text.parse::<Setting>().unwrap_err().to_string();
            assert!(error.contains(culprit), "{text}: {error}");
        }
    }

    #[test]
    fn options_are_checked_when_they_are_made() {
        let options = |text: &str| text.parse::<Setting>().unwrap().options();
        assert_eq!(options("mico T=64 K=3").unwrap().pruning.refine_layer, Some(3));
        assert!(!options("unpruned").unwrap().pruning.pruner.prunes());
        for text in ["mica T=64", "divprune T=64 K=3", "fastv T=64 n=3", "mico T=0"] {
            assert!(options(text).is_err(), "{text}");
        }
    }
}
