//! Coverage over a kernel as an objective for the lazy greedy.

use rayon::prelude::*;

use crate::coverage::Coverage;
use crate::gram::Columns;
use crate::lazy::{Objective, Picks, maximise};
use crate::matrix::Dense;
use crate::selection::Selection;
use crate::selector::Context;

/// Relative head-room of first gains that were summed in another order, or before rounding to
/// f32, than later ones are.
const BOUND_SLACK: f64 = 1.0 + 1e-6;
/// Columns a thread takes at a time.
const GRAIN: usize = 64;

/// `factor_i (Σ_v W_v [κ(v,i) − M_v]₊ + Σ_m [σ(m,i) − M'_m]₊)`: coverage of the visual tokens,
/// optionally of further rows `σ`, optionally scaled per candidate.
pub(crate) struct KernelCoverage<'a> {
    pub(crate) columns: Columns<'a>,
    /// Weights and coverage of the visual tokens.
    pub(crate) state: Coverage,
    /// Sums of whole columns, wanted only when they are not all held.
    pub(crate) column_sums: &'a (dyn Fn(&[f64]) -> Vec<f64> + Sync),
    pub(crate) factors: Option<Vec<f64>>,
    pub(crate) side: Option<Side>,
}

/// Further rows to be covered: row `i` of `columns` belongs to candidate `i`.
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
    /// The greedy selection.
    pub(crate) fn select(mut self, budget: usize, context: &Context<'_>) -> Selection {
        let Picks { order, gains } = maximise(&mut self, budget, &context.progress);
        let mut selection = Selection::from_order(order);
        selection.gains = gains;
        selection.objective =
            Some(self.state.value() + self.side.map_or(0.0, |side| side.state.value()));
        selection.seconds.kernel = self.columns.spent().as_secs_f64();
        selection
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
            let gains = (0..self.len()).into_par_iter().with_min_len(GRAIN).map(|i| self.gain(i));
            return (gains.collect(), true);
        }
        let sums = (self.column_sums)(self.state.weights());
        let bounds = sums.iter().enumerate().map(|(i, sum)| self.scaled(i, *sum) * BOUND_SLACK);
        (bounds.collect(), false)
    }

    fn ready(&self, i: usize) -> bool {
        self.columns.holds(i)
    }

    fn batch(&self) -> usize {
        Columns::batch()
    }

    fn prepare(&mut self, candidates: &[usize]) {
        self.columns.fetch(candidates);
    }

    fn gain(&self, i: usize) -> f64 {
        self.scaled(i, self.state.gain(self.columns.held(i)))
    }

    fn add(&mut self, i: usize) {
        self.state.add(self.columns.get(i));
        self.columns.release(i);
        if let Some(side) = &mut self.side {
            side.state.add(side.columns.row(i));
        }
    }
}
