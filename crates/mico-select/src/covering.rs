//! Coverage over a similarity kernel as an objective of the lazy greedy: MiCo's, SCOPE's and MMTok's.

use rayon::prelude::*;

use crate::coverage::Coverage;
use crate::gram::{Columns, Sketch};
use crate::lazy::{Objective, Picks, maximize};
use crate::matrix::Dense;
use crate::selection::Selection;
use crate::selector::Context;

/// Relative head-room of the first gains, which are summed in another order than later ones, or
/// before rounding to f32: they must remain upper bounds.
const BOUND_SLACK: f64 = 1.0 + 1e-6;
/// Candidates per rayon task, so that a task outweighs its scheduling.
const GRAIN: usize = 64;
/// Candidates evaluated together when their columns are held.
const AT_ONCE: usize = 4;

/// `factor_i (Σ_v W_v [κ(v,i) − M_v]₊ + Σ_m [σ(m,i) − M'_m]₊)`: coverage of the visual tokens,
/// optionally of further rows `σ`, optionally scaled per candidate.
pub(crate) struct KernelCoverage<'a> {
    pub(crate) columns: Columns<'a>,
    /// Weights and coverage of the visual tokens.
    pub(crate) state: Coverage,
    /// Weighted sums of whole columns, computed only when not all columns are held.
    pub(crate) column_sums: &'a (dyn Fn(&[f64]) -> Vec<f64> + Sync),
    /// Upper bounds of the columns that are not held; `None` if all are, or there is no memory for it.
    pub(crate) sketch: Option<Sketch>,
    pub(crate) factors: Option<Vec<f64>>,
    pub(crate) side: Option<Side>,
}

/// Further rows to be covered (MMTok's words): row `i` of `columns` belongs to candidate `i`.
pub(crate) struct Side {
    columns: Dense,
    state: Coverage,
}

impl Side {
    pub(crate) fn new(columns: Dense) -> Self {
        let state = Coverage::new(vec![1.0; columns.cols()]);
        Self { columns, state }
    }

    fn gain(&self, i: usize) -> f64 {
        self.state.gain(self.columns.row(i))
    }
}

impl KernelCoverage<'_> {
    /// Runs the lazy greedy and returns the selection with its gains and objective.
    pub(crate) fn select(mut self, budget: usize, context: &Context<'_>) -> Selection {
        let Picks { order, gains } = maximize(&mut self, budget, &context.progress);
        let mut selection = Selection::from_order(order);
        selection.gains = gains;
        selection.objective =
            Some(self.state.value() + self.side.map_or(0.0, |side| side.state.value()));
        selection.seconds.kernel = self.columns.spent().as_secs_f64();
        selection
    }

    /// The gains of candidates whose kernel columns are held.
    fn held_gains(&self, candidates: &[usize], gains: &mut [f64]) {
        let (fours, rest) = candidates.as_chunks::<AT_ONCE>();
        let (fours_out, rest_out) = gains.as_chunks_mut::<AT_ONCE>();
        for (four, out) in fours.iter().zip(fours_out) {
            *out = self.state.gains(four.map(|i| self.columns.held(i)));
            out.iter_mut().zip(four).for_each(|(gain, &i)| *gain = self.scaled(i, *gain));
        }
        for (&i, out) in rest.iter().zip(rest_out) {
            *out = self.scaled(i, self.state.gain(self.columns.held(i)));
        }
    }

    fn scaled(&self, i: usize, gain: f64) -> f64 {
        let gain = gain + self.side.as_ref().map_or(0.0, |side| side.gain(i));
        self.factors.as_ref().map_or(gain, |factors| factors[i] * gain)
    }
}

impl Objective for KernelCoverage<'_> {
    fn len(&self) -> usize {
        self.columns.len()
    }

    fn first_gains(&mut self) -> (Vec<f64>, bool) {
        if self.columns.is_complete() {
            let all: Vec<usize> = (0..self.len()).collect();
            let mut gains = vec![0.0; all.len()];
            let tasks = all.par_chunks(GRAIN).zip(gains.par_chunks_mut(GRAIN));
            tasks.for_each(|(tokens, gains)| self.held_gains(tokens, gains));
            return (gains, true);
        }
        if self.sketch.is_some() {
            let all: Vec<usize> = (0..self.len()).collect();
            let mut bounds = vec![0.0; all.len()];
            self.bounds(&all, &mut bounds);
            return (bounds, false);
        }
        let sums = (self.column_sums)(self.state.weights());
        let bounds = sums.iter().enumerate().map(|(i, sum)| self.scaled(i, *sum) * BOUND_SLACK);
        (bounds.collect(), false)
    }

    fn is_cheap(&self, i: usize) -> bool {
        self.columns.holds(i)
    }

    fn has_bounds(&self) -> bool {
        self.sketch.is_some()
    }

    fn bounds(&self, candidates: &[usize], bounds: &mut [f64]) {
        let Some(sketch) = &self.sketch else { return };
        let (covered, weights) = (self.state.covered(), self.state.weights());
        candidates.par_iter().zip(bounds).for_each(|(&i, bound)| {
            *bound = self.scaled(i, sketch.gain_bound(i, covered, weights)) * BOUND_SLACK;
        });
    }

    fn gains(&mut self, candidates: &[usize], gains: &mut [f64]) {
        self.columns.fetch(candidates);
        self.held_gains(candidates, gains);
    }

    fn add(&mut self, i: usize) {
        self.state.add(self.columns.get(i));
        self.columns.release(i);
        if let Some(side) = &mut self.side {
            side.state.add(side.columns.row(i));
        }
    }
}
