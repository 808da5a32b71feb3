//! Greedy maximisation with stale upper bounds: the picks of the plain greedy, few evaluations.
//!
//! A submodular gain only shrinks as the set grows, so a gain computed earlier bounds it from
//! above. Candidates wait in a heap ordered by their bound, equal bounds by index. When the first
//! one's bound was computed for the current set it is the plain greedy's choice: every other
//! candidate's gain is at most its own bound, which is smaller, or equal with a higher index.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::progress::Progress;

/// A set function with diminishing returns whose computed gains never grow.
pub(crate) trait Objective {
    /// Number of candidates.
    fn len(&self) -> usize;
    /// Upper bounds of the first gains; exact if the second value says so.
    fn first_gains(&mut self) -> (Vec<f64>, bool);
    /// Whether [`Objective::gain`] is cheap for `i` now.
    fn ready(&self, _i: usize) -> bool {
        true
    }
    /// How many candidates are worth making ready together.
    fn batch(&self) -> usize {
        1
    }
    /// Makes the gains of `candidates` cheap.
    fn prepare(&mut self, _candidates: &[usize]) {}
    /// What `i` would add to the current set.
    fn gain(&self, i: usize) -> f64;
    /// Adds `i`.
    fn add(&mut self, i: usize);
}

/// The picks in order, and what each of them added.
pub(crate) struct Picks {
    pub(crate) order: Vec<usize>,
    pub(crate) gains: Vec<f64>,
}

#[derive(Clone, Copy)]
struct Candidate {
    bound: f64,
    index: usize,
    /// Size of the set the bound was computed for.
    computed_at: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound).then(other.index.cmp(&self.index))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

/// Picks `min(budget, N)` candidates.
pub(crate) fn maximise(
    objective: &mut impl Objective,
    budget: usize,
    progress: &Progress<'_>,
) -> Picks {
    let budget = budget.min(objective.len());
    let (first, exact) = objective.first_gains();
    let computed_at = if exact { 0 } else { usize::MAX };
    let candidates = first.iter().enumerate();
    let mut heap: BinaryHeap<Candidate> =
        candidates.map(|(index, &bound)| Candidate { bound, index, computed_at }).collect();
    let mut picks =
        Picks { order: Vec::with_capacity(budget), gains: Vec::with_capacity(budget) };
    let mut batch: Vec<Candidate> = Vec::with_capacity(objective.batch());
    let mut indices: Vec<usize> = Vec::with_capacity(objective.batch());

    while picks.order.len() < budget {
        let size = picks.order.len();
        let Some(mut first) = heap.peek_mut() else { break };
        if first.computed_at == size {
            let Candidate { index, bound, .. } = PeekMut::pop(first);
            objective.add(index);
            picks.order.push(index);
            picks.gains.push(bound);
            progress.picked(1);
        } else if objective.ready(first.index) {
            first.bound = objective.gain(first.index);
            first.computed_at = size;
        } else {
            drop(first);
            batch.clear();
            while batch.len() < objective.batch()
                && heap.peek().is_some_and(|next| next.computed_at != size)
            {
                batch.extend(heap.pop());
            }
            indices.clear();
            indices.extend(batch.iter().map(|candidate| candidate.index));
            objective.prepare(&indices);
            for candidate in &batch {
                let bound = objective.gain(candidate.index);
                heap.push(Candidate { bound, index: candidate.index, computed_at: size });
            }
        }
    }
    picks
}
