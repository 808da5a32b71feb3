//! What is compared.

use mico_engine::pruner::{MethodSpec, Pruning, by_name};
use mico_select::Settings;
use mico_select::schedule::Budget;

use crate::error::Result;

/// A way to run the model.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// Untouched.
    Unpruned,
    /// Untouched, on a picture that shows nothing: what the question alone gives away.
    Blank,
    /// With a pruner.
    Pruned {
        /// The pruner's name, with settings if it has any: `name:key=value`.
        method: String,
        /// Tokens per image, averaged over the blocks.
        tokens: usize,
        /// Refinement block, in place of the model's own.
        refine_layer: Option<usize>,
        /// Stage-1 pool as a multiple of the budget.
        pool: usize,
        /// Whether counts are the authors' own for that budget.
        authors: bool,
    },
}

impl Setting {
    /// A pruner with its defaults.
    pub fn pruned(method: impl Into<String>, tokens: usize) -> Self {
        let pool = mico_select::schedule::DEFAULT_POOL;
        Self::Pruned { method: method.into(), tokens, refine_layer: None, pool, authors: false }
    }

    /// What it is called in tables.
    pub fn label(&self) -> String {
        match self {
            Self::Unpruned => "unpruned".into(),
            Self::Blank => "blank picture".into(),
            Self::Pruned { method, refine_layer, authors, .. } => {
                let layer = refine_layer.map_or_else(String::new, |layer| format!(" K={layer}"));
                let whose = if *authors { " (authors' counts)" } else { "" };
                format!("{method}{whose}{layer}")
            }
        }
    }

    /// The budget, if it prunes.
    pub fn tokens(&self) -> Option<usize> {
        match self {
            Self::Pruned { tokens, .. } => Some(*tokens),
            _ => None,
        }
    }

    /// Everything that decides the answer, for the records' keys.
    pub(crate) fn key(&self) -> String {
        format!("{self:?}")
    }

    /// What the engine is told for a picture. Chance draws anew for each.
    pub fn pruning(&self, picture: u64) -> Result<Pruning> {
        let Self::Pruned { method, tokens, refine_layer, pool, authors } = self else {
            return Ok(Pruning::off());
        };
        let pruner = if method == "random" {
            by_name(method, Settings::new([("seed".to_owned(), picture.to_string())]))?
        } else {
            method.parse::<MethodSpec>()?.build()?
        };
        let pruning = Pruning::new(pruner, Budget::Tokens(*tokens));
        Ok(Pruning { refine_layer: *refine_layer, pool: *pool, authors: *authors, ..pruning })
    }
}
