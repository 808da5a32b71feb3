//! What is compared.

use std::fmt::Write as _;

use mico_engine::pruner::{MethodSpec, Pruning};
use mico_select::schedule::{Budget, DEFAULT_POOL};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// A way to run the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// Untouched.
    Unpruned,
    /// Untouched, on plain grey in place of each picture: what the question alone gives away.
    Blank,
    /// With a pruner.
    Pruned(Pruned),
}

/// A pruner with everything that decides what it keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pruned {
    /// What tables call it, in place of the method and its settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The pruner's name, with settings if it has any: `name:key=value`.
    pub method: String,
    /// Tokens per image, averaged over the blocks.
    pub tokens: usize,
    /// Refinement block, in place of the model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refine_layer: Option<usize>,
    /// Stage-1 pool as a multiple of the budget.
    pub pool: usize,
    /// Whether counts are the authors' own for that budget.
    #[serde(default)]
    pub authors: bool,
    /// The engine's switches that differ from the run's: `name=value`, separated by commas.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub switches: String,
}

impl Pruned {
    /// A pruner with its defaults.
    pub fn new(method: impl Into<String>, tokens: usize) -> Self {
        Self {
            label: None,
            method: method.into(),
            tokens,
            refine_layer: None,
            pool: DEFAULT_POOL,
            authors: false,
            switches: String::new(),
        }
    }
}

impl Setting {
    /// A pruner with its defaults.
    pub fn pruned(method: impl Into<String>, tokens: usize) -> Self {
        Self::Pruned(Pruned::new(method, tokens))
    }

    /// What it is called in tables; the budget has a column of its own.
    pub fn label(&self) -> String {
        let pruned = match self {
            Self::Unpruned => return "unpruned".into(),
            Self::Blank => return "blank picture".into(),
            Self::Pruned(pruned) => pruned,
        };
        if let Some(label) = &pruned.label {
            return label.clone();
        }
        let mut label = pruned.method.clone();
        if pruned.authors {
            label.push_str(" (authors' counts)");
        }
        if let Some(layer) = pruned.refine_layer {
            let _ = write!(label, " K={layer}");
        }
        if pruned.pool != DEFAULT_POOL {
            let _ = write!(label, " n={}", pruned.pool);
        }
        if !pruned.switches.is_empty() {
            let _ = write!(label, " {}", pruned.switches);
        }
        label
    }

    /// The budget, if it prunes.
    pub fn tokens(&self) -> Option<usize> {
        match self {
            Self::Pruned(pruned) => Some(pruned.tokens),
            _ => None,
        }
    }

    /// The engine's switches that differ from the run's.
    pub fn switches(&self) -> &str {
        match self {
            Self::Pruned(pruned) => &pruned.switches,
            _ => "",
        }
    }

    /// Everything that decides the answer, for the records' keys; a label does not.
    pub fn key(&self) -> String {
        match self {
            Self::Unpruned => "unpruned".into(),
            Self::Blank => "blank".into(),
            Self::Pruned(Pruned {
                label: _,
                method,
                tokens,
                refine_layer,
                pool,
                authors,
                switches,
            }) => {
                format!("{method} T={tokens} K={refine_layer:?} n={pool} {authors} {switches}")
            }
        }
    }

    /// What the engine is told for a picture. Chance draws anew for each.
    pub fn pruning(&self, seed: u64) -> Result<Pruning> {
        let Self::Pruned(pruned) = self else { return Ok(Pruning::off()) };
        let pruner = pruned.method.parse::<MethodSpec>()?.seeded(seed).build()?;
        let Pruned { refine_layer, pool, authors, .. } = *pruned;
        let pruning = Pruning::new(pruner, Budget::Tokens(pruned.tokens));
        Ok(Pruning { refine_layer, pool, authors, ..pruning })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_change_no_answer_and_everything_else_may() {
        let plain = Pruned::new("mico", 64);
        let named = Pruned { label: Some("MiCo".into()), ..plain.clone() };
        let key = |pruned: &Pruned| Setting::Pruned(pruned.clone()).key();
        assert_eq!(key(&plain), key(&named));
        assert_eq!(Setting::Pruned(named).label(), "MiCo");
        let others = [
            Pruned { method: "mico-s1".into(), ..plain.clone() },
            Pruned { tokens: 32, ..plain.clone() },
            Pruned { refine_layer: Some(3), ..plain.clone() },
            Pruned { pool: 3, ..plain.clone() },
            Pruned { authors: true, ..plain.clone() },
            Pruned { switches: "position_mode=compact".into(), ..plain.clone() },
        ];
        for other in others {
            assert_ne!(key(&plain), key(&other), "{other:?}");
            let label = Setting::Pruned(other.clone()).label();
            assert!(label != "mico" || other.tokens != 64, "{label}");
        }
    }
}
