//! VScan: local and global attention of the tower, everything else merged in; then the last prompt
//! token's attention in the middle of the decoder.

use std::sync::Arc;

use super::{FastV, Method, nearest};
use crate::error::{Error, Result};
use crate::pruner::accounting::{
    SecondStage, needs_attention_everywhere, renumbered_stages, three_halves,
};
use crate::pruner::quotas::quotas;
use crate::pruner::{
    Count, FeatureSpace, ModelTraits, Plan, PlanRequest, Pruner, Quota, Refinement, SelectionSize,
    Signals, Stage1Plan, Stage1View, Stage2View, TextAttention, TokenLayout,
};
use crate::rank::{argsort, top_of};
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::signal::{Signal, SignalSet};
use crate::tokens::Tokens;

pub(super) const METHOD: Method = Method {
    name: "vscan",
    about: "shallow local and deep global attention, merge; then in mid-decoder (VScan)",
    selector: Some(|settings| Ok(Box::new(VScan::from_settings(settings)?))),
    pruner: Some(|settings| {
        Ok(Arc::new(VScanPruner { window: settings.number("window", WINDOWS)? }))
    }),
};

/// Accepted window sides, in tokens.
const WINDOWS: std::ops::RangeInclusive<usize> = 1..=1 << 20;
/// Window side in the authors' code for images of native resolution, in tokens.
const NATIVE_WINDOW: usize = 4;

/// How the local half of the budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LocalRule {
    /// The same number in each window (the authors' rule for CLIP towers).
    #[default]
    Quota,
    /// By falling attention over the whole grid, a window taking no more than its even share
    /// rounded up (the authors' rule for images of native resolution).
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
    /// How the half of the budget that goes to local (shallow) attention is spent.
    pub local: LocalRule,
    /// Columns of the token grid; `None` for a square grid.
    pub columns: Option<usize>,
}

impl Default for VScan {
    fn default() -> Self {
        Self { window: 6, local: LocalRule::Quota, columns: None }
    }
}

impl VScan {
    /// Reads the settings `window`, `local` and `columns`.
    pub fn from_settings(settings: &mut Settings) -> Result<Self> {
        Ok(Self {
            window: settings.count("window", Self::default().window, WINDOWS)?,
            local: settings
                .choice("local", &[("quota", LocalRule::Quota), ("cap", LocalRule::Cap)])?,
            columns: settings.number("columns", 1..=1 << 20)?,
        })
    }

    /// The number of `tokens` that survive a budget.
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

    /// The token indices of each window.
    fn windows(&self, n: usize) -> Result<Vec<Vec<usize>>> {
        let columns = self.columns.unwrap_or_else(|| n.isqrt());
        if !n.is_multiple_of(columns) || (self.columns.is_none() && columns * columns != n) {
            let reason = match self.columns {
                None => format!("its windows need a square grid of tokens, got {n}"),
                Some(columns) => format!("{n} tokens are no grid of {columns} columns"),
            };
            return Err(Error::Undefined { method: METHOD.name, reason });
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

    /// The tokens selected by the shallow attention.
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
        METHOD.name
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        let needs = [Signal::Features, Signal::ReliabilityShallow, Signal::Reliability];
        present.require(self.name(), &needs)?;
        Ok(SignalSet::of(&needs))
    }

    fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        let shallow = tokens.vector(Signal::ReliabilityShallow)?;
        let deep = tokens.vector(Signal::Reliability)?;
        let windows = self.windows(tokens.len())?;
        let half = budget / 2;
        let mut order = self.local(windows, &shallow, half);
        let free = nearest::others(tokens.len(), &order);
        order.extend(top_of(free, &deep, budget - half));

        let mut selection = Selection::from_order(order);
        let members = nearest::others(tokens.len(), &selection.kept);
        let gram = nearest::pack(tokens, Signal::Features)?;
        let joins = nearest::by_cosine(&gram, &members, &selection.kept);
        let sources = nearest::collect(&members, &joins, selection.kept.len());
        let joined = selection.kept.iter().zip(sources).filter(|(_, s)| !s.is_empty());
        selection.merges =
            joined.map(|(&target, sources)| nearest::mean(target, sources)).collect();
        Ok(selection)
    }
}

/// VScan in both stages: 3/2 of the budget before the decoder, the rest of the layer average after
/// half of its blocks. Tokens are merged as embeddings; position ids are renumbered after the cut.
#[derive(Debug)]
struct VScanPruner {
    window: Option<usize>,
}

impl VScanPruner {
    /// The rule of each group of an image, with its window and grid.
    fn rules(&self, model: &ModelTraits, layout: &TokenLayout) -> Vec<VScan> {
        let (window, local) = if model.native_resolution {
            (NATIVE_WINDOW, LocalRule::Cap)
        } else {
            (VScan::default().window, LocalRule::Quota)
        };
        let window = self.window.unwrap_or(window);
        let rule = |group| VScan { window, local, columns: layout.columns(group) };
        (0..layout.groups()).map(rule).collect()
    }

    /// Asks for more of a group whose windows get no quota at all, so that two thirds of what was asked
    /// for, which is the group's budget, are left.
    fn make_room(rules: &[VScan], layout: &TokenLayout, quota: &mut Quota) -> Result<()> {
        let Quota::Groups(counts) = quota else { return Ok(()) };
        for ((count, size), rule) in counts.iter_mut().zip(layout.sizes()).zip(rules) {
            let budget = (*count * 2).div_ceil(3);
            while *count < size && rule.survivors(size, *count)? < budget {
                *count += 1;
            }
        }
        Ok(())
    }

    /// The number of tokens a quota leaves of an image, and of its first group.
    fn survivors(rules: &[VScan], layout: &TokenLayout, quota: &Quota) -> Result<(usize, usize)> {
        let Quota::Groups(counts) = quota else { return Ok((quota.asked(layout.len()), 0)) };
        let groups = counts.iter().zip(layout.sizes()).zip(rules);
        let left: Vec<usize> = groups
            .map(|((&count, size), rule)| rule.survivors(size, count))
            .collect::<Result<_>>()?;
        Ok((left.iter().sum(), left.first().copied().unwrap_or(0)))
    }

    /// The first stage, and how many tokens it leaves of the first crop it selects from.
    fn first_stage(&self, request: &PlanRequest<'_>) -> Result<(Stage1Plan, usize)> {
        let mut quotas = quotas(request, three_halves)?;
        let (mut leaves, mut first) = (Vec::new(), 0);
        for (layout, quota) in request.images().iter().zip(&mut quotas) {
            let rules = self.rules(request.model(), layout);
            if !request.authors {
                Self::make_room(&rules, layout, quota)?;
            }
            let (left, of_first) = Self::survivors(&rules, layout, quota)?;
            leaves.push(Count::Exactly(left));
            if first == 0 {
                first = of_first;
            }
        }
        let names = [Signal::Features, Signal::Reliability, Signal::ReliabilityShallow];
        let signals = Signals::of(FeatureSpace::Projected, &names);
        let mut stage1 = Stage1Plan::new(signals, quotas, request.images());
        stage1.leaves = leaves;
        Ok((stage1, first))
    }
}

impl Pruner for VScanPruner {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn refinement(&self) -> Refinement {
        Refinement::Own
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let cut = |entering, first| {
            needs_attention_everywhere(self.name(), request)?;
            let second = SecondStage::new(self.name(), request, entering, first)?;
            let rotary = !request.model().spatial_positions;
            let back = second.among.map_or(0, |first| entering - first);
            let attention = TextAttention::NextLastToken { rotary, back };
            Ok(second.cut(Signals::attention_of(attention)))
        };
        renumbered_stages(request, || self.first_stage(request), cut)
    }

    fn before_decoder(&self, view: &Stage1View<'_>, quota: &Quota) -> Result<Selection> {
        let rules = self.rules(view.model, view.layout);
        view.select_with(quota, 0, &|group| &rules[group] as &dyn Selector)
    }

    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        view.select(&FastV, ask, 0)
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        size.joins()
    }
}
