//! DART: tokens unlike a few pivots.

use super::nearest;
use crate::error::Result;
use crate::inputs::{Tensor, TensorSet};
use crate::matrix::{Rows, dot, norm};
use crate::rank::{top, top_of};
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::tokens::Tokens;

/// DART's rule: pivots with the largest L1 norm of their keys, visual ones and (where `text` and
/// `text_keys` are given) text ones; each pivot in turn takes an equal share of the visual tokens
/// least like it. Visual pivots are kept too. What shares do not divide goes to the first pivots,
/// visual before text, larger norms before smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dart {
    /// Number of visual pivots.
    pub visual_pivots: usize,
    /// Number of text pivots.
    pub text_pivots: usize,
}

impl Default for Dart {
    fn default() -> Self {
        Self { visual_pivots: 4, text_pivots: 4 }
    }
}

impl Dart {
    pub(super) fn build(settings: &mut Settings) -> Result<Box<dyn Selector>> {
        Ok(Box::new(Self::from_settings(settings)?))
    }

    /// Reads `visual_pivots` and `text_pivots`.
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
        "dart"
    }

    fn reads(&self, present: TensorSet) -> Result<TensorSet> {
        let needs = [Tensor::Features, Tensor::Keys];
        present.require(self.name(), &needs)?;
        let mut read = TensorSet::of(&needs);
        if present.has(Tensor::TextKeys) && self.text_pivots > 0 {
            present.require(self.name(), &[Tensor::Text])?;
            read = read.with(Tensor::TextKeys).with(Tensor::Text);
        }
        Ok(read)
    }

    fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        let features = tokens.rows(Tensor::Features)?;
        let mut order = top(&l1_norms(&tokens.rows(Tensor::Keys)?), self.visual_pivots.min(budget));
        let mut pivots: Vec<Vec<f32>> = order.iter().map(|&i| copy(&features, i)).collect();
        if tokens.has(Tensor::TextKeys) && self.text_pivots > 0 {
            let text = tokens.rows(Tensor::Text)?;
            crate::inputs::same_width(Tensor::Text, &text, &features)?;
            let ranked = top(&l1_norms(&tokens.rows(Tensor::TextKeys)?), self.text_pivots);
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
