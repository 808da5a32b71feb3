//! The first tokens in index order: a baseline that reads no signal.

use super::Method;
use super::random::any_token_axis;
use crate::error::Result;
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::signal::SignalSet;
use crate::tokens::Tokens;

pub(super) const METHOD: Method = Method {
    name: "index",
    about: "the first tokens",
    selector: Some(|_| Ok(Box::new(IndexOrder))),
    pruner: None,
};

/// Keeps the first tokens: what any selector does whose scores are all equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexOrder;

impl Selector for IndexOrder {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        Ok(any_token_axis(present))
    }

    fn select(&self, _: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        Ok(Selection::everything(budget))
    }
}
