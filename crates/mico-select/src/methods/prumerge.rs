//! PruMerge and PruMerge+: keeps attention outliers and merges their neighbours into them.

use super::{Method, nearest};
use crate::error::Result;
use crate::rank::{argsort, top};
use crate::selection::{Merge, Selection};
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::signal::{Signal, SignalSet};
use crate::tokens::Tokens;

pub(super) const METHOD: Method = Method {
    name: "prumerge",
    about: "attention outliers, merge of their neighbours",
    selector: Some(|settings| Ok(Box::new(PruMerge::from_settings(settings, false)?))),
    pruner: None,
};

pub(super) const PLUS: Method = Method {
    name: "prumerge+",
    about: "attention outliers and a regular grid, merge",
    selector: Some(|settings| Ok(Box::new(PruMerge::from_settings(settings, true)?))),
    pruner: None,
};

/// The number of neighbours merged into a kept token.
const NEIGHBORS: usize = 32;
/// At the authors' settings one token in four of PruMerge+ is an outlier, three are the grid's.
const OUTLIER_PARTS: usize = 4;

/// How many tokens are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PruMergeCount {
    /// Exactly the budget, however many outliers there are.
    #[default]
    Budget,
    /// As many as the attention has outliers (and the grid they imply), at most the budget.
    Adaptive,
}

/// PruMerge's rule on a CLS attention row and keys that are not split into heads.
///
/// Each kept token adds the attention-weighted sum of the 32 tokens nearest to it by key. The
/// one further token the authors append, a sum of everything dropped, has no position and is
/// not part of the selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PruMerge {
    /// How the number of kept tokens is chosen.
    pub count: PruMergeCount,
    /// PruMerge+: a regular grid of tokens beside the outliers.
    pub grid: bool,
}

impl PruMerge {
    fn from_settings(settings: &mut Settings, grid: bool) -> Result<Self> {
        let count = settings.choice(
            "count",
            &[("budget", PruMergeCount::Budget), ("adaptive", PruMergeCount::Adaptive)],
        )?;
        Ok(Self { count, grid })
    }

    /// The kept tokens: by falling attention, then the grid's.
    fn picks(self, attention: &[f64], budget: usize) -> Vec<usize> {
        let n = attention.len();
        let (outliers, step) = match (self.count, self.grid) {
            (PruMergeCount::Budget, false) => (budget, None),
            (PruMergeCount::Budget, true) => {
                let outliers = budget.div_ceil(OUTLIER_PARTS);
                let grid = budget - outliers;
                (outliers, (grid > 0).then(|| (n / grid).max(1)))
            }
            (PruMergeCount::Adaptive, grid) => {
                let outliers = outliers(attention).clamp(1, budget);
                (outliers, grid.then(|| (n / outliers / (OUTLIER_PARTS - 1)).max(1)))
            }
        };
        let mut order = top(attention, outliers);
        let Some(step) = step else { return order };
        let mut kept = vec![false; n];
        order.iter().for_each(|&i| kept[i] = true);
        let on_grid = (0..n).step_by(step).filter(|&i| i + 1 < n || n == 1);
        for i in on_grid {
            if order.len() < budget && !kept[i] {
                kept[i] = true;
                order.push(i);
            }
        }
        if self.count == PruMergeCount::Budget {
            let missing = budget - order.len();
            order.extend((0..n).filter(|&i| !kept[i]).take(missing));
        }
        order
    }
}

impl Selector for PruMerge {
    fn name(&self) -> &'static str {
        if self.grid { PLUS.name } else { METHOD.name }
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        let needs = [Signal::Reliability, Signal::Keys];
        present.require(self.name(), &needs)?;
        Ok(SignalSet::of(&needs))
    }

    fn nonnegative(&self) -> SignalSet {
        SignalSet::of(&[Signal::Reliability])
    }

    fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        let attention = tokens.vector(Signal::Reliability)?;
        let mut selection = Selection::from_order(self.picks(&attention, budget));
        let gram = nearest::pack(tokens, Signal::Keys)?;
        for &target in &selection.kept {
            let mut likeness: Vec<f64> =
                gram.columns(&[target]).into_iter().map(f64::from).collect();
            likeness[target] = f64::NEG_INFINITY;
            let mut sources = argsort(&likeness);
            sources.truncate(NEIGHBORS.min(tokens.len() - 1));
            sources.sort_unstable();
            let shares = sources.iter().map(|&i| attention[i]).collect();
            selection.merges.push(Merge { target, own: 1.0, sources, shares });
        }
        Ok(selection)
    }
}

/// How many values lie above the third quartile by more than 1.5 interquartile ranges.
fn outliers(values: &[f64]) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let quantile = |q: f64| {
        let place = q * (sorted.len() - 1) as f64;
        let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        low + (high - low) * place.fract()
    };
    let (q1, q3) = (quantile(0.25), quantile(0.75));
    let limit = q3 + 1.5 * (q3 - q1);
    values.iter().filter(|&&v| v > limit).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_follow_the_interquartile_rule() {
        let mut values: Vec<f64> = (0..16).map(f64::from).collect();
        assert_eq!(outliers(&values), 0);
        values.extend([100.0, 200.0]);
        assert_eq!(outliers(&values), 2);
    }

    #[test]
    fn adaptive_plus_adds_a_grid_three_times_as_dense() {
        let mut attention = vec![0.1; 576];
        attention[..32].fill(9.0);
        let rule = PruMerge { count: PruMergeCount::Adaptive, grid: true };
        let picks = rule.picks(&attention, 500);
        assert_eq!(picks[..32], (0..32).collect::<Vec<_>>());
        assert_eq!(picks[32..35], [36, 42, 48]);
    }
}
