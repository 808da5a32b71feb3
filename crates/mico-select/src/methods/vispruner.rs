//! VisPruner: the most attended tokens, then whatever is left after removing near duplicates.

use rayon::prelude::*;

use super::Method;
use crate::error::Result;
use crate::gram::Columns;
use crate::kernel::Kernel;
use crate::pruner::quotas::Competition;
use crate::pruner::single_stage::SingleStage;
use crate::pruner::{FeatureSpace, SelectionSize, Signals};
use crate::rank::{argsort, descending};
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::signal::{Signal, SignalSet};
use crate::tokens::Tokens;

/// Tokens removed per round of deduplication.
const ROUND: usize = 8;

pub(super) const METHOD: Method = Method {
    name: "vispruner",
    about: "attention, then removal of near duplicates, before the decoder",
    selector: Some(|settings| Ok(Box::new(VisPruner::from_settings(settings)?))),
    pruner: Some(|settings| {
        let selector = Box::new(VisPruner::from_settings(settings)?);
        let signals = Signals::of(FeatureSpace::Tower, &[Signal::Features, Signal::Reliability]);
        let competition = Competition::Group;
        Ok(SingleStage { selector, signals, competition, flops }.shared())
    }),
};

/// FLOPs: each round compares one half of the remaining tokens with the other and removes eight.
fn flops(size: &SelectionSize) -> f64 {
    let half = size.kept / 2.0;
    let (first, last) = (size.tokens - half, half);
    let rounds = (first - last) / 8.0;
    let mean_square = (first * first + first * last + last * last) / 3.0;
    rounds * 2.0 * mean_square / 4.0 * size.width
}

/// VisPruner's rule: a share of the budget by attention, the rest by removing near duplicates.
///
/// Each round splits the remaining list into its even and odd places and drops the even tokens
/// most like an odd one. The authors' code needs lists of even length; of an odd one the extra
/// token counts as even.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VisPruner {
    /// The share of the budget selected by attention alone, in `[0, 1]`.
    pub ratio: f64,
}

impl Default for VisPruner {
    fn default() -> Self {
        Self { ratio: 0.5 }
    }
}

impl VisPruner {
    fn from_settings(settings: &mut Settings) -> Result<Self> {
        Ok(Self { ratio: settings.float("ratio", Self::default().ratio, 0.0..=1.0)? })
    }
}

impl Selector for VisPruner {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        let needs = [Signal::Features, Signal::Reliability];
        present.require(self.name(), &needs)?;
        Ok(SignalSet::of(&needs))
    }

    fn select(
        &self,
        tokens: &Tokens<'_>,
        budget: usize,
        context: &Context<'_>,
    ) -> Result<Selection> {
        let mut order = argsort(&tokens.vector(Signal::Reliability)?);
        let important = (budget as f64 * self.ratio) as usize;
        let diverse = budget - important;
        let mut rest = order.split_off(important);
        if diverse > 0 {
            let kernel = Kernel::of(tokens, context)?;
            let mut columns = kernel.cosines()?;
            while rest.len() > diverse {
                rest = thin_out(&rest, rest.len() - diverse, &mut columns);
            }
            order.extend(rest);
            let mut selection = Selection::from_order(order);
            selection.seconds.kernel = columns.spent().as_secs_f64();
            return Ok(selection);
        }
        Ok(Selection::from_order(order))
    }
}

/// One round: the even places most like an odd one go, at most `surplus` and at most [`ROUND`].
fn thin_out(rest: &[usize], surplus: usize, columns: &mut Columns<'_>) -> Vec<usize> {
    let even: Vec<usize> = rest.iter().copied().step_by(2).collect();
    let odd: Vec<usize> = rest.iter().copied().skip(1).step_by(2).collect();
    let mut likeness = vec![f64::NEG_INFINITY; columns.len()];
    for batch in even.chunks(Columns::batch()) {
        columns.fetch(batch);
        let held = &*columns;
        let closest = |&token: &usize| {
            let column = held.held(token);
            odd.iter().fold(f32::NEG_INFINITY, |best, &o| best.max(column[o]))
        };
        let values: Vec<f32> = batch.par_iter().with_min_len(16).map(closest).collect();
        batch.iter().zip(values).for_each(|(&token, v)| likeness[token] = f64::from(v));
    }
    let drop = ROUND.min(surplus).min(even.len());
    let mut kept = even;
    kept.sort_unstable_by(|&a, &b| descending(&likeness, a, b));
    kept.drain(..drop);
    kept.extend(odd);
    kept
}
