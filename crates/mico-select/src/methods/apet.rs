//! ApET: keeps the tokens that a small basis reconstructs worst, before and inside the decoder.

use std::sync::Arc;

use rayon::prelude::*;

use super::{Method, nearest};
use crate::error::{Error, Result};
use crate::matrix::{Dense, dot, squared_distance};
use crate::pruner::accounting::{SecondStage, renumbered_stages, three_halves};
use crate::pruner::quotas::quotas;
use crate::pruner::{
    FeatureSpace, ModelTraits, Plan, PlanRequest, Pruner, Quota, Refinement, SelectionSize,
    Signals, Stage1Plan, Stage1View, Stage2View,
};
use crate::rank::{best, top};
use crate::selection::{Merge, Replacement, Selection};
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::signal::{Signal, SignalSet};
use crate::tokens::Tokens;

pub(super) const METHOD: Method = Method {
    name: "apet",
    about: "error of a low-rank reconstruction, merge; before and in mid-decoder (ApET)",
    selector: Some(|settings| Ok(Box::new(Apet::from_settings(settings)?))),
    pruner: Some(|settings| {
        let default = Apet::default();
        let basis = settings.count("basis", default.basis, BASES)?;
        let start = settings.count("start", default.start, 0..=usize::MAX)?;
        Ok(Arc::new(ApetPruner { basis, start }))
    }),
};

/// Accepted sizes of the basis; factoring the fit's matrix costs the cube of it.
const BASES: std::ops::RangeInclusive<usize> = 1..=1 << 16;
/// The authors' ridge regularisation of the least-squares fit.
const RIDGE: f64 = 1e-5;
/// The authors' blend for images of native resolution: half basis vector, half the token it
/// replaces.
const NATIVE_BLEND: f64 = 0.5;
/// The authors' ridge inside the decoder for images of native resolution.
const NATIVE_RIDGE: f64 = 0.1;

/// Which basis vector replaces which kept token; the vectors come in sampling order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlotOrder {
    /// By position, as before the decoder.
    #[default]
    Position,
    /// By falling reconstruction error, as inside the decoder.
    Error,
}

/// ApET's rule: a basis by farthest-point sampling, every token's distance from what the
/// basis reconstructs, the worst reconstructed kept. The last of those carry the basis vectors,
/// the others take in the dropped tokens most like them.
///
/// A budget of at most `basis` keeps the worst reconstructed positions, all of them carrying
/// basis vectors, and merges nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Apet {
    /// The number of basis tokens.
    pub basis: usize,
    /// The first basis token, an index inside each group. The authors draw it at random.
    pub start: usize,
    /// Which kept tokens the basis vectors replace.
    pub slots: SlotOrder,
    /// The weight of the basis vector in a slot, in `[0, 1]`; the rest is the token that was there.
    pub blend: f64,
    /// Ridge regularisation of the least-squares fit.
    pub ridge: f64,
}

impl Default for Apet {
    fn default() -> Self {
        Self { basis: 10, start: 0, slots: SlotOrder::Position, blend: 1.0, ridge: RIDGE }
    }
}

impl Apet {
    /// Reads the settings `basis`, `start`, `slots`, `blend` and `ridge`.
    pub fn from_settings(settings: &mut Settings) -> Result<Self> {
        let default = Self::default();
        Ok(Self {
            basis: settings.count("basis", default.basis, BASES)?,
            start: settings.count("start", default.start, 0..=usize::MAX)?,
            slots: settings.choice(
                "slots",
                &[("position", SlotOrder::Position), ("error", SlotOrder::Error)],
            )?,
            blend: settings.float("blend", default.blend, 0.0..=1.0)?,
            ridge: settings.float("ridge", default.ridge, 1e-12..=1e6)?,
        })
    }

    /// Writes the basis vectors, or a blend of them and the tokens there, into the slots.
    fn fill(&self, slots: Vec<usize>, basis: Vec<usize>, selection: &mut Selection) {
        let pairs = slots.into_iter().zip(basis);
        if self.blend >= 1.0 {
            selection.replaced =
                pairs.map(|(position, token)| Replacement { position, token }).collect();
            return;
        }
        let blended = pairs.filter(|(position, token)| position != token);
        selection.merges.extend(blended.map(|(target, token)| Merge {
            target,
            own: 1.0 - self.blend,
            sources: vec![token],
            shares: vec![self.blend],
        }));
    }
}

impl Selector for Apet {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        present.require(self.name(), &[Signal::Features])?;
        Ok(SignalSet::of(&[Signal::Features]))
    }

    fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        let n = tokens.len();
        if self.start >= n {
            return Err(Error::BadSetting {
                key: "start".into(),
                value: self.start.to_string(),
                accepted: format!("an index below the group's size of {n}"),
            });
        }
        let features = tokens.rows(Signal::Features)?.to_dense();
        let basis = farthest_points(&features, self.start, self.basis.min(n));
        let order = top(&reconstruction_errors(&features, &basis, self.ridge), budget);
        let slots = basis.len().min(budget);
        let (main, slots) = order.split_at(budget - slots);
        let (mut main, mut slots) = (main.to_vec(), slots.to_vec());
        main.sort_unstable();
        if self.slots == SlotOrder::Position {
            slots.sort_unstable();
        }

        let mut selection = Selection::from_order(order);
        if !main.is_empty() {
            let members = nearest::others(n, &selection.kept);
            let gram = nearest::pack(tokens, Signal::Features)?;
            let joins = nearest::by_cosine(&gram, &members, &main);
            let sources = nearest::collect(&members, &joins, main.len());
            let joined = main.into_iter().zip(sources).filter(|(_, s)| !s.is_empty());
            selection.merges = joined.map(|(target, s)| nearest::mean(target, s)).collect();
        }
        self.fill(slots, basis, &mut selection);
        Ok(selection.finish())
    }
}

/// `count` tokens, each the farthest from all before it.
fn farthest_points(x: &Dense, start: usize, count: usize) -> Vec<usize> {
    let mut distance = vec![f64::INFINITY; x.rows()];
    let mut points = vec![start];
    while points.len() < count {
        let last = x.row(points[points.len() - 1]);
        distance.par_iter_mut().enumerate().with_min_len(64).for_each(|(i, d)| {
            *d = d.min(squared_distance(x.row(i), last));
        });
        points.extend(best(0..x.rows(), |i| distance[i]));
    }
    points
}

/// `‖x_i − Wᵀ_i B‖₂` with `W = (B Bᵀ + ridge I)⁻¹ B Xᵀ`.
fn reconstruction_errors(x: &Dense, basis: &[usize], ridge: f64) -> Vec<f64> {
    let k = basis.len();
    let mut gram = vec![0.0; k * k];
    for i in 0..k {
        for j in 0..k {
            gram[i * k + j] = dot(x.row(basis[i]), x.row(basis[j]));
        }
        gram[i * k + i] += ridge;
    }
    let factor = cholesky(gram, k, ridge);
    let error = |i: usize| {
        let mut weights: Vec<f64> = basis.iter().map(|&b| dot(x.row(b), x.row(i))).collect();
        solve(&factor, &mut weights);
        let mut rest: Vec<f64> = x.row(i).iter().map(|&v| f64::from(v)).collect();
        for (&b, w) in basis.iter().zip(&weights) {
            rest.iter_mut().zip(x.row(b)).for_each(|(r, &v)| *r -= w * f64::from(v));
        }
        rest.iter().map(|r| r * r).sum::<f64>().sqrt()
    };
    (0..x.rows()).into_par_iter().with_min_len(16).map(error).collect()
}

/// The lower Cholesky factor of a positive definite matrix. A pivot that rounding makes
/// non-positive (repeated basis vectors of large norm) becomes the ridge.
fn cholesky(mut a: Vec<f64>, k: usize, ridge: f64) -> Vec<f64> {
    for j in 0..k {
        let pivot = a[j * k + j] - (0..j).map(|t| a[j * k + t].powi(2)).sum::<f64>();
        let root = pivot.max(ridge).sqrt();
        a[j * k + j] = root;
        for i in j + 1..k {
            let inner: f64 = (0..j).map(|t| a[i * k + t] * a[j * k + t]).sum();
            a[i * k + j] = (a[i * k + j] - inner) / root;
        }
    }
    a
}

/// Solves `L Lᵀ x = b` in place.
fn solve(l: &[f64], b: &mut [f64]) {
    let k = b.len();
    for i in 0..k {
        let inner: f64 = (0..i).map(|t| l[i * k + t] * b[t]).sum();
        b[i] = (b[i] - inner) / l[i * k + i];
    }
    for i in (0..k).rev() {
        let inner: f64 = (i + 1..k).map(|t| l[t * k + i] * b[t]).sum();
        b[i] = (b[i] - inner) / l[i * k + i];
    }
}

/// ApET in both stages: three halves of the budget before the decoder, the rest of the layer average
/// after half of its blocks. It works on the tower's features where the projector takes them one by
/// one, else on embeddings; what is left is renumbered after the cut.
#[derive(Debug)]
struct ApetPruner {
    basis: usize,
    start: usize,
}

impl ApetPruner {
    fn rule(&self, model: &ModelTraits) -> Apet {
        let Self { basis, start } = *self;
        let blend = if model.native_resolution { NATIVE_BLEND } else { 1.0 };
        Apet { basis, start, blend, ..Apet::default() }
    }

    /// The first stage, and how many tokens it leaves of the first crop it selects from.
    fn first_stage(&self, request: &PlanRequest<'_>) -> Result<(Stage1Plan, usize)> {
        let quotas = quotas(request, three_halves)?;
        let sizes = request.images().iter().flat_map(|layout| layout.sizes());
        if let Some(size) = sizes.min().filter(|&size| self.start >= size) {
            let accepted = format!("an index below the smallest group's size of {size}");
            return Err(Error::range("setting 'start'", self.start, accepted));
        }
        let first = quotas.iter().find_map(|quota| match quota {
            Quota::Groups(counts) => counts.first().copied(),
            _ => None,
        });
        let in_tower = request.model().projects_tokens;
        let space = if in_tower { FeatureSpace::Tower } else { FeatureSpace::Projected };
        let signals = Signals::of(space, &[Signal::Features]);
        let mut stage1 = Stage1Plan::new(signals, quotas, request.images());
        stage1.merge_in_tower = in_tower;
        let first = first.unwrap_or_else(|| stage1.entering());
        Ok((stage1, first))
    }
}

impl Pruner for ApetPruner {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn refinement(&self) -> Refinement {
        Refinement::Own
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let cut = |entering, first| {
            let second = SecondStage::new(self.name(), request, entering, first)?;
            Ok(second.cut(Signals::of(FeatureSpace::Residual, &[Signal::Features])))
        };
        renumbered_stages(request, || self.first_stage(request), cut)
    }

    fn before_decoder(&self, view: &Stage1View<'_>, quota: &Quota) -> Result<Selection> {
        view.select(&self.rule(view.model), quota, 0)
    }

    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        let ridge = if view.model.native_resolution { NATIVE_RIDGE } else { RIDGE };
        // The basis begins at the same place; a shorter sequence may not have it.
        let start = self.start.min(view.tokens().saturating_sub(1));
        let rule = Apet { slots: SlotOrder::Error, ridge, start, ..self.rule(view.model) };
        view.select(&rule, ask, 0)
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        let basis = self.basis as f64;
        // Distances to each basis token, the fit, and what it leaves.
        (3.0 + 4.0) * basis * size.tokens * size.width + size.joins()
    }

    fn cut_flops(&self, size: &SelectionSize) -> f64 {
        self.stage1_flops(size)
    }
}
