//! The dense greedy as the paper prints it: the reference the lazy greedy is tested and timed against.

use std::time::Instant;

use rayon::prelude::*;

use crate::coverage::Coverage;
use crate::gram::Gram;
use crate::matrix::Rows;
use crate::rank::best;
use crate::selection::Selection;

/// Candidates per rayon task, so that a task outweighs its scheduling.
const GRAIN: usize = 32;

/// Evaluates every candidate at every step, on the same kernel and with the same sums as the
/// lazy greedy. Takes `O(B N²)` time; [`crate::methods::Mico`] gives the same answer.
///
/// `weights` has one entry per row of `features`.
pub fn dense_greedy(features: &Rows<'_>, weights: &[f64], budget: usize) -> Selection {
    let start = Instant::now();
    let n = features.len();
    let mut kernel = Gram::pack(features).cosines();
    kernel.par_iter_mut().for_each(|k| *k = k.max(0.0));
    let column = |i: usize| &kernel[i * n..(i + 1) * n];
    let kernel_time = start.elapsed();

    let mut state = Coverage::new(weights.to_vec());
    let mut taken = vec![false; n];
    let mut order = Vec::with_capacity(budget);
    let mut gains_taken = Vec::with_capacity(budget);
    let mut gains = vec![0.0; n];
    while order.len() < budget.min(n) {
        gains.par_iter_mut().enumerate().with_min_len(GRAIN).for_each(|(i, gain)| {
            if !taken[i] {
                *gain = state.gain(column(i));
            }
        });
        let Some(pick) = best((0..n).filter(|&i| !taken[i]), |i| gains[i]) else { break };
        state.add(column(pick));
        taken[pick] = true;
        order.push(pick);
        gains_taken.push(gains[pick]);
    }
    let mut selection = Selection::from_order(order);
    selection.gains = gains_taken;
    selection.objective = Some(state.value());
    selection.seconds.kernel = kernel_time.as_secs_f64();
    selection.seconds.select = start.elapsed().as_secs_f64() - selection.seconds.kernel;
    selection
}
