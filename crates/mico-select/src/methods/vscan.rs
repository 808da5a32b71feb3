//! VScan, first stage: shallow attention per window, deep attention over the image, merge.

use super::nearest;
use crate::error::{Error, Result};
use crate::inputs::{Tensor, TensorSet};
use crate::rank::{argsort, top_of};
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::tokens::Tokens;

/// How the local half of the budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LocalRule {
    /// The same number in each window (the authors' rule for CLIP towers).
    #[default]
    Quota,
    /// By falling attention over the whole grid, a window taking no more than its even share
    /// rounded up (the authors' rule for Qwen2.5-VL).
    Cap,
}

/// VScan's first stage on a grid: half of the budget spread over windows by the shallow attention,
/// the rest by the deep one, everything else averaged into its nearest kept token.
///
/// With quotas fewer tokens survive where half the budget is no multiple of the number of windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VScan {
    /// Side of a window in tokens. Rows and columns left over belong to the last windows.
    pub window: usize,
    /// The local half.
    pub local: LocalRule,
    /// Columns of the grid; a square if not said.
    pub columns: Option<usize>,
}

impl Default for VScan {
    fn default() -> Self {
        Self { window: 6, local: LocalRule::Quota, columns: None }
    }
}

impl VScan {
    pub(super) fn build(settings: &mut Settings) -> Result<Box<dyn Selector>> {
        Ok(Box::new(Self::from_settings(settings)?))
    }

    /// Reads `window`, `local` and `columns`.
    pub fn from_settings(settings: &mut Settings) -> Result<Self> {
        Ok(Self {
            window: settings.count("window", Self::default().window, 1..=1 << 20)?,
            local: settings
                .choice("local", &[("quota", LocalRule::Quota), ("cap", LocalRule::Cap)])?,
            columns: settings.number("columns", 1..=1 << 20)?,
        })
    }

    /// How many of `tokens` survive a budget.
    ///
    /// ```
    /// use mico_select::methods::VScan;
    /// assert_eq!(VScan::default().survivors(576, 96)?, 96);
    /// assert_eq!(VScan::default().survivors(576, 48)?, 40);
    /// # Ok::<(), mico_select::Error>(())
    /// ```
    pub fn survivors(&self, tokens: usize, budget: usize) -> Result<usize> {
        if budget >= tokens {
            return Ok(tokens);
        }
        let half = budget / 2;
        let windows = self.windows(tokens)?;
        let local: usize = match self.local {
            LocalRule::Quota => {
                let quota = half / windows.len();
                windows.iter().map(|window| quota.min(window.len())).sum()
            }
            LocalRule::Cap => half,
        };
        Ok(local + budget - half)
    }

    /// The tokens of each window.
    fn windows(&self, n: usize) -> Result<Vec<Vec<usize>>> {
        let columns = self.columns.unwrap_or_else(|| n.isqrt());
        if !n.is_multiple_of(columns) || (self.columns.is_none() && columns * columns != n) {
            let reason = match self.columns {
                None => format!("its windows need a square grid of tokens, got {n}"),
                Some(columns) => format!("{n} tokens are no grid of {columns} columns"),
            };
            return Err(Error::Undefined { method: "vscan", reason });
        }
        let across = |side: usize| (side / self.window).max(1);
        let (down, wide) = (across(n / columns), across(columns));
        let mut windows = vec![Vec::new(); down * wide];
        for token in 0..n {
            let row = (token / columns / self.window).min(down - 1);
            let column = (token % columns / self.window).min(wide - 1);
            windows[row * wide + column].push(token);
        }
        Ok(windows)
    }

    /// The tokens the shallow attention chooses.
    fn local(&self, windows: Vec<Vec<usize>>, shallow: &[f64], half: usize) -> Vec<usize> {
        match self.local {
            LocalRule::Quota => {
                let quota = half / windows.len();
                windows.into_iter().flat_map(|window| top_of(window, shallow, quota)).collect()
            }
            LocalRule::Cap => {
                let mut room = vec![half.div_ceil(windows.len()); windows.len()];
                let mut home = vec![0; shallow.len()];
                for (window, tokens) in windows.iter().enumerate() {
                    tokens.iter().for_each(|&token| home[token] = window);
                }
                let fits = |&token: &usize| {
                    let room = &mut room[home[token]];
                    *room > 0 && {
                        *room -= 1;
                        true
                    }
                };
                argsort(shallow).into_iter().filter(fits).take(half).collect()
            }
        }
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
        let mut order = self.local(windows, &shallow, half);
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
