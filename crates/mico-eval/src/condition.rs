//! What an evaluation compares: settings of the engine, each under a name, on pictures or on plain grey.

use std::fmt::Write as _;

use mico_engine::Setting;
use mico_engine::pruner::{MethodSpec, PruningSpec};
use mico_select::schedule::{Budget, DEFAULT_POOL};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// What tables call the untouched model.
pub(crate) const UNPRUNED: &str = "unpruned";
/// What tables call the untouched model on plain grey.
pub(crate) const BLANK: &str = "blank picture";

/// A setting as an evaluation compares it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Condition {
    /// What it is called in tables; the budget has a column of its own.
    pub label: String,
    /// Whether plain grey stands in for each picture: what the question alone gives away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blank: bool,
    /// How the engine is asked.
    pub setting: Setting,
}

impl Condition {
    /// The model untouched; of `base` everything but pruning counts.
    pub fn unpruned(base: &Setting) -> Self {
        Self { label: UNPRUNED.into(), blank: false, setting: base.with_pruning(None) }
    }

    /// The model untouched, on plain grey in place of each picture.
    pub fn blank(base: &Setting) -> Self {
        Self { label: BLANK.into(), blank: true, ..Self::unpruned(base) }
    }

    /// A setting, called by what differs from `base`.
    pub fn of(setting: Setting, base: &Setting) -> Self {
        Self { label: label(&setting, base), blank: false, setting }
    }

    /// A method with its defaults.
    pub fn pruned(method: &str, tokens: usize) -> Result<Self> {
        let method = method.parse::<MethodSpec>().map_err(mico_engine::Error::from)?;
        Ok(Self::of(Setting::pruned(method, tokens), &Setting::default()))
    }

    /// What is pruned, if anything is.
    pub fn pruning(&self) -> Option<&PruningSpec> {
        self.setting.pruning.as_ref()
    }

    /// Whether it is the model untouched, on the pictures.
    pub fn is_unpruned(&self) -> bool {
        self.setting.pruning.is_none() && !self.blank
    }

    /// The budget, if it prunes to a number of tokens.
    pub fn tokens(&self) -> Option<usize> {
        match self.pruning()?.budget {
            Budget::Tokens(tokens) => Some(tokens),
            Budget::Share(_) => None,
        }
    }

    /// The Stage-1 pool in force as a multiple of the budget, if it prunes.
    pub(crate) fn pool(&self) -> Option<usize> {
        self.pruning().map(pool)
    }

    /// Everything that decides the answer, for the records' keys; a label does not.
    pub fn key(&self) -> String {
        let blank = if self.blank { " blank" } else { "" };
        format!("{}{blank}", self.setting)
    }
}

/// The pool of a pruning.
pub(crate) fn pool(pruning: &PruningSpec) -> usize {
    pruning.pool.unwrap_or(DEFAULT_POOL)
}

/// The words of switches, limits and style that are not those of `base`.
pub(crate) fn differing_words(setting: &Setting, base: &Setting) -> String {
    let before: Vec<String> = base.words().collect();
    let mut own: Vec<String> = setting.words().filter(|word| !before.contains(word)).collect();
    // A switch of the base that is back at its default says so.
    let reset = setting.switches.iter().zip(base.switches.iter());
    let reset = reset.filter(|(now, before)| now.is_default && !before.is_default);
    own.extend(reset.map(|(now, _)| format!("{}={}", now.name, now.value)));
    own.join(",")
}

fn label(setting: &Setting, base: &Setting) -> String {
    let mut label = UNPRUNED.to_owned();
    if let Some(pruning) = &setting.pruning {
        label = pruning.method.to_string();
        if pruning.authors {
            label.push_str(" (authors' counts)");
        }
        if let Some(layer) = pruning.refine_layer {
            let _ = write!(label, " K={layer}");
        }
        if pool(pruning) != DEFAULT_POOL {
            let _ = write!(label, " n={}", pool(pruning));
        }
    }
    let words = differing_words(setting, base);
    if !words.is_empty() {
        let _ = write!(label, " {words}");
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_change_no_answer_and_everything_else_may() {
        let base = Setting::default();
        let of = |text: &str| Condition::of(text.parse().unwrap(), &base);
        let plain = of("mico T=64");
        let named = Condition { label: "MiCo".into(), ..plain.clone() };
        assert_eq!((plain.key(), plain.label.as_str()), (named.key(), "mico"));
        for (text, label) in [
            ("mico-s1 T=64", "mico-s1"),
            ("mico T=32", "mico"),
            ("mico T=64 K=3", "mico K=3"),
            ("mico T=64 n=3", "mico n=3"),
            ("mico T=64 authors", "mico (authors' counts)"),
            ("mico T=64 position_mode=compact", "mico position_mode=compact"),
        ] {
            let other = of(text);
            assert_ne!(plain.key(), other.key(), "{text}");
            assert_eq!(other.label, label);
        }
    }

    #[test]
    fn what_all_conditions_share_is_in_no_label() {
        let base: Setting = "unpruned relevance=visual_only style=vicuna".parse().unwrap();
        let of = |text: &str| Condition::of(text.parse().unwrap(), &base).label;
        assert_eq!(of("mico T=64 relevance=visual_only style=vicuna"), "mico");
        assert_eq!(of("mico T=64 style=vicuna"), "mico relevance=auto");
        assert_eq!(Condition::unpruned(&base).key(), base.to_string());
        assert_ne!(Condition::blank(&base).key(), base.to_string());
    }
}
