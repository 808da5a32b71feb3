//! DART: keeps the tokens least similar to a few pivots, after an early block.

use std::sync::Arc;

use super::fastv::BLOCK;
use super::{Method, nearest};
use crate::error::Result;
use crate::matrix::{Rows, dot, norm};
use crate::pruner::accounting::early_cut;
use crate::pruner::quotas::check_budget;
use crate::pruner::{
    FeatureSpace, Plan, PlanRequest, Pruner, Refinement, SelectionSize, Signals, Stage2View,
};
use crate::rank::{top, top_of};
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::signal::{Signal, SignalSet};
use crate::tokens::Tokens;

pub(super) const METHOD: Method = Method {
    name: "dart",
    about: "tokens least like pivot tokens, after block 2 (DART)",
    selector: Some(|settings| Ok(Box::new(Dart::from_settings(settings)?))),
    pruner: Some(|settings| {
        let layer = settings.number("layer", 1..=1 << 16)?;
        Ok(Arc::new(DartPruner { rule: Dart::from_settings(settings)?, layer }))
    }),
};

/// DART's rule: pivots with the largest L1 norm of their keys, visual ones and (where `text` and
/// `text_keys` are given) text ones; each pivot in turn takes an equal share of the visual tokens
/// least like it. Visual pivots are kept too. What shares do not divide goes to the first pivots,
/// visual before text, larger norms before smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dart {
    /// The number of pivots among the visual tokens, at least 1.
    pub visual_pivots: usize,
    /// The number of pivots among the text tokens.
    pub text_pivots: usize,
}

impl Default for Dart {
    fn default() -> Self {
        Self { visual_pivots: 4, text_pivots: 4 }
    }
}

impl Dart {
    /// Reads the settings `visual_pivots` and `text_pivots`.
    pub fn from_settings(settings: &mut Settings) -> Result<Self> {
        let default = Self::default();
        Ok(Self {
            visual_pivots: settings.count("visual_pivots", default.visual_pivots, 1..=1 << 16)?,
            text_pivots: settings.count("text_pivots", default.text_pivots, 0..=1 << 16)?,
        })
    }
}

impl Selector for Dart {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        let needs = [Signal::Features, Signal::Keys];
        present.require(self.name(), &needs)?;
        let mut read = SignalSet::of(&needs);
        if present.has(Signal::TextKeys) && self.text_pivots > 0 {
            present.require(self.name(), &[Signal::Text])?;
            read = read.with(Signal::TextKeys).with(Signal::Text);
        }
        Ok(read)
    }

    fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        let features = tokens.rows(Signal::Features)?;
        let mut order = top(&l1_norms(&tokens.rows(Signal::Keys)?), self.visual_pivots.min(budget));
        let mut pivots: Vec<Vec<f32>> = order.iter().map(|&i| copy(&features, i)).collect();
        if tokens.has(Signal::TextKeys) && self.text_pivots > 0 {
            let text = tokens.rows(Signal::Text)?;
            crate::inputs::same_width(Signal::Text, &text, &features)?;
            let ranked = top(&l1_norms(&tokens.rows(Signal::TextKeys)?), self.text_pivots);
            pivots.extend(ranked.into_iter().map(|t| copy(&text, t)));
        }
        let wanted = budget - order.len();
        let (share, extra) = (wanted / pivots.len(), wanted % pivots.len());
        let mut free = nearest::others(tokens.len(), &order);
        let mut row = vec![0.0; features.cols()];
        for (p, pivot) in pivots.iter().enumerate() {
            let mut unlikeness = vec![0.0; tokens.len()];
            for &i in &free {
                features.copy_row(i, &mut row);
                let scale = norm(&row) * norm(pivot);
                unlikeness[i] = if scale > 0.0 { -dot(&row, pivot) / scale } else { 0.0 };
            }
            let taken = top_of(free.clone(), &unlikeness, share + usize::from(p < extra));
            order.extend(&taken);
            free = nearest::others(tokens.len(), &order);
        }
        Ok(Selection::from_order(order))
    }
}

fn copy(rows: &Rows<'_>, i: usize) -> Vec<f32> {
    let mut row = vec![0.0; rows.cols()];
    rows.copy_row(i, &mut row);
    row
}

fn l1_norms(rows: &Rows<'_>) -> Vec<f64> {
    let sum = |i| copy(rows, i).iter().map(|&x| f64::from(x.abs())).sum();
    (0..rows.len()).map(sum).collect()
}

/// DART inside a decoder. Pivots are the visual tokens, and the text tokens after the image, with the
/// largest keys of the block; similarity is that of its output after the decoder's final norm. Tokens
/// keep their position ids.
#[derive(Debug)]
struct DartPruner {
    rule: Dart,
    /// Blocks that process all tokens; `None` for the authors' two.
    layer: Option<usize>,
}

impl Pruner for DartPruner {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn refinement(&self) -> Refinement {
        Refinement::Own
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let names = [Signal::Features, Signal::Keys, Signal::Text, Signal::TextKeys];
        let signals = Signals::of(FeatureSpace::Normed, &names);
        early_cut(self.name(), request, BLOCK, self.layer, signals)
    }

    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        view.select(&self.rule, ask, 0)
    }

    fn cut_flops(&self, size: &SelectionSize) -> f64 {
        let pivots = (self.rule.visual_pivots + self.rule.text_pivots) as f64;
        2.0 * pivots * size.tokens * size.width
    }
}
