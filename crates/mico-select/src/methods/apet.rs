//! ApET: the tokens a few others reconstruct worst.

use rayon::prelude::*;

use super::nearest;
use crate::error::{Error, Result};
use crate::inputs::{Tensor, TensorSet};
use crate::matrix::{Dense, dot, squared_distance};
use crate::rank::{best, top};
use crate::selection::{Merge, Replacement, Selection};
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::tokens::Tokens;

/// The authors' ridge of the least-squares fit.
const RIDGE: f64 = 1e-5;

/// Which basis vector goes into which slot: the vectors come in sampling order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlotOrder {
    /// Slots by position, as before the decoder.
    #[default]
    Position,
    /// Slots by falling error, as inside the decoder.
    Error,
}

/// ApET's rule: a basis by farthest-point sampling, every token's distance from what the
/// basis reconstructs, the worst reconstructed kept. The last of those carry the basis vectors,
/// the others take in the dropped tokens most like them.
///
/// A budget of at most `basis` keeps the worst reconstructed positions, all of them carrying
/// basis vectors, and merges nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ApET {
    /// Size of the basis.
    pub basis: usize,
    /// The first basis token, an index inside each group. The authors draw it at random.
    pub start: usize,
    /// Where the basis vectors go.
    pub slots: SlotOrder,
    /// The part of a slot that is the basis vector; the rest is the token that was there.
    pub blend: f64,
    /// Ridge of the fit.
    pub ridge: f64,
}

impl Default for ApET {
    fn default() -> Self {
        Self { basis: 10, start: 0, slots: SlotOrder::Position, blend: 1.0, ridge: RIDGE }
    }
}

impl ApET {
    pub(super) fn build(settings: &mut Settings) -> Result<Box<dyn Selector>> {
        Ok(Box::new(Self::from_settings(settings, Self::default())?))
    }

    /// Reads `basis`, `start`, `slots`, `blend` and `ridge`; `default` where one is not given.
    pub fn from_settings(settings: &mut Settings, default: Self) -> Result<Self> {
        let mut slots = [("position", SlotOrder::Position), ("error", SlotOrder::Error)];
        if default.slots == SlotOrder::Error {
            slots.reverse();
        }
        Ok(Self {
            basis: settings.count("basis", default.basis, 1..=1 << 16)?,
            start: settings.count("start", default.start, 0..=usize::MAX)?,
            slots: settings.choice("slots", &slots)?,
            blend: settings.float("blend", default.blend, 0.0..=1.0)?,
            ridge: settings.float("ridge", default.ridge, 1e-12..=1e6)?,
        })
    }

    /// What the slots carry: the basis vectors, or a blend of those and what was there.
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

impl Selector for ApET {
    fn name(&self) -> &'static str {
        "apet"
    }

    fn reads(&self, present: TensorSet) -> Result<TensorSet> {
        present.require(self.name(), &[Tensor::Features])?;
        Ok(TensorSet::of(&[Tensor::Features]))
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
        let features = tokens.rows(Tensor::Features)?.to_dense();
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
            let gram = nearest::pack(tokens, Tensor::Features)?;
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
