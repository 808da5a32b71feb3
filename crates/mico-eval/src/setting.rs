//! What is compared.

use mico_engine::pruner::{Pruning, by_name};
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
        /// The pruner's name.
        method: String,
        /// Tokens per image, averaged over the blocks.
        tokens: usize,
        /// Refinement block, in place of the model's own.
        refine_layer: Option<usize>,
        /// Stage-1 pool as a multiple of the budget.
        pool: usize,
    },
}

impl Setting {
    /// A pruner with its defaults.
    pub fn pruned(method: impl Into<String>, tokens: usize) -> Self {
        let pool = mico_select::schedule::DEFAULT_POOL;
        Self::Pruned { method: method.into(), tokens, refine_layer: None, pool }
    }

    /// What it is called in tables.
    pub fn label(&self) -> String {
        match self {
            Self::Unpruned => "unpruned".into(),
            Self::Blank => "blank picture".into(),
            Self::Pruned { method, refine_layer: None, .. } => method.clone(),
            Self::Pruned { method, refine_layer: Some(layer), .. } => format!("{method} K={layer}"),
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
        let Self::Pruned { method, tokens, refine_layer, pool } = self else {
            return Ok(Pruning::off());
        };
        let seed = (method == "random").then(|| ("seed".to_owned(), picture.to_string()));
        let pruner = by_name(method, Settings::new(seed))?;
        let pruning = Pruning::new(pruner, Budget::Tokens(*tokens));
        Ok(Pruning { refine_layer: *refine_layer, pool: *pool, ..pruning })
    }
}
