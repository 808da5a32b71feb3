//! The two references without a signal: chance, and the order of the tokens.

use crate::error::{Error, Result};
use crate::inputs::{Tensor, TensorSet};
use crate::rng::Rng;
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::tokens::Tokens;

/// Uniformly random tokens, without replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Random;

/// The first tokens: what a selector does whose scores are all equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexOrder;

impl Random {
    pub(super) fn build(_: &mut Settings) -> Result<Box<dyn Selector>> {
        Ok(Box::new(Self))
    }
}

impl IndexOrder {
    pub(super) fn build(_: &mut Settings) -> Result<Box<dyn Selector>> {
        Ok(Box::new(Self))
    }
}

/// Any tensor with a token axis: only its length matters.
fn any_token_axis(method: &str, present: TensorSet) -> Result<TensorSet> {
    let counted = present.iter().find(|tensor| tensor.counts_tokens());
    counted.map(|tensor| TensorSet::of(&[tensor])).ok_or_else(|| Error::Missing {
        tensor: Tensor::Features,
        reason: format!("method '{method}' needs some tensor to count the visual tokens"),
    })
}

impl Selector for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn reads(&self, present: TensorSet) -> Result<TensorSet> {
        any_token_axis(self.name(), present)
    }

    fn select(
        &self,
        tokens: &Tokens<'_>,
        budget: usize,
        context: &Context<'_>,
    ) -> Result<Selection> {
        Ok(Selection::from_order(Rng::new(context.seed).sample(tokens.len(), budget)))
    }
}

impl Selector for IndexOrder {
    fn name(&self) -> &'static str {
        "index"
    }

    fn reads(&self, present: TensorSet) -> Result<TensorSet> {
        any_token_axis(self.name(), present)
    }

    fn select(&self, _: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        Ok(Selection::everything(budget))
    }
}
