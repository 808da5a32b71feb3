//! VScan, first stage: shallow attention per window, deep attention over the image, merge.

use super::nearest;
use crate::error::{Error, Result};
use crate::inputs::{Tensor, TensorSet};
use crate::rank::top_of;
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::tokens::Tokens;

/// VScan's first stage on a square grid: half of the budget evenly over windows by the shallow
/// attention, the rest by the deep one, everything else averaged into its nearest kept token.
///
/// Fewer tokens survive where half the budget is no multiple of the number of windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VScan {
    /// Side of a window in tokens. Rows and columns left over belong to the last windows.
    pub window: usize,
}

impl Default for VScan {
    fn default() -> Self {
        Self { window: 6 }
    }
}

impl VScan {
    pub(super) fn build(settings: &mut Settings) -> Result<Box<dyn Selector>> {
        Ok(Box::new(Self {
            window: settings.count("window", Self::default().window, 1..=1 << 20)?,
        }))
    }

    /// The tokens of each window.
    fn windows(&self, n: usize) -> Result<Vec<Vec<usize>>> {
        let side = n.isqrt();
        if side * side != n {
            let reason = format!("its windows need a square grid of tokens, got {n}");
            return Err(Error::Undefined { method: "vscan", reason });
        }
        let across = (side / self.window).max(1);
        let mut windows = vec![Vec::new(); across * across];
        let place = |i: usize| (i / self.window).min(across - 1);
        for token in 0..n {
            windows[place(token / side) * across + place(token % side)].push(token);
        }
        Ok(windows)
    }
}

impl Selector for VScan {
    fn name(&self) -> &'static str {
        "vscan"
    }

    fn reads(&self, present: TensorSet) -> Result<TensorSet> {
        let needs = [Tensor::Features, Tensor::ReliabilityShallow, Tensor::Reliability];
        present.require(self.name(), &needs)?;
        Ok(TensorSet::of(&needs))
    }

    fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        let shallow = tokens.vector(Tensor::ReliabilityShallow)?;
        let deep = tokens.vector(Tensor::Reliability)?;
        let windows = self.windows(tokens.len())?;
        let half = budget / 2;
        let quota = half / windows.len();
        let mut order: Vec<usize> = Vec::with_capacity(budget);
        for window in windows {
            order.extend(top_of(window, &shallow, quota));
        }
        let free = nearest::others(tokens.len(), &order);
        order.extend(top_of(free, &deep, budget - half));

        let mut selection = Selection::from_order(order);
        let members = nearest::others(tokens.len(), &selection.kept);
        let gram = nearest::pack(tokens, Tensor::Features)?;
        let joins = nearest::by_cosine(&gram, &members, &selection.kept);
        let sources = nearest::collect(&members, &joins, selection.kept.len());
        let joined = selection.kept.iter().zip(sources).filter(|(_, s)| !s.is_empty());
        selection.merges =
            joined.map(|(&target, sources)| nearest::mean(target, sources)).collect();
        Ok(selection)
    }
}
