//! FastV: the tokens the last prompt token attends to most.

use crate::error::Result;
use crate::inputs::{Tensor, TensorSet};
use crate::rank::top;
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::tokens::Tokens;

/// FastV's rule: the largest entries of one head-averaged attention row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FastV;

impl FastV {
    pub(super) fn build(_: &mut Settings) -> Result<Box<dyn Selector>> {
        Ok(Box::new(Self))
    }
}

impl Selector for FastV {
    fn name(&self) -> &'static str {
        "fastv"
    }

    fn reads(&self, present: TensorSet) -> Result<TensorSet> {
        present.require(self.name(), &[Tensor::Relevance])?;
        Ok(TensorSet::of(&[Tensor::Relevance]))
    }

    fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        Ok(Selection::from_order(top(&tokens.vector(Tensor::Relevance)?, budget)))
    }
}
