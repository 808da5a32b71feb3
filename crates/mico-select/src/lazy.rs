//! Lazy greedy maximisation with stale upper bounds: the picks of the plain greedy, few evaluations.
//!
//! A submodular gain only shrinks as the set grows, so a gain computed earlier bounds it from
//! above. Candidates wait in a heap ordered by their bound, equal bounds by index. When the first
//! one's bound is its gain for the current set it is the plain greedy's choice: every other
//! candidate's gain is at most its own bound, which is smaller, or equal with a higher index.
//! Where an exact gain is costly, a cheaper upper bound for the current set is computed first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::progress::{Done, Progress};

/// Candidates evaluated together when their columns are held: they share a pass over the weights.
const CHEAP_AT_ONCE: usize = 4;
/// Candidates evaluated together when columns must be recomputed: they share a pass over the features.
const COSTLY_AT_ONCE: usize = 96;
/// Candidates bounded together, spread over all threads.
const BOUNDED_AT_ONCE: usize = 256;
/// A costly gain joins the batch of a better candidate if its bound is at least this part of that one's.
const CLOSE: f64 = 0.999;

/// A monotone submodular set function whose computed gains never grow as the set does.
pub(crate) trait Objective {
    /// The number of candidates `N`.
    fn len(&self) -> usize;
    /// Upper bounds of the gains for the empty set; `true` if they are the exact gains.
    fn first_gains(&mut self) -> (Vec<f64>, bool);
    /// Whether the gain of `i` can be computed without fetching its kernel column.
    fn is_cheap(&self, i: usize) -> bool;
    /// Whether [`Objective::bounds`] is available.
    fn has_bounds(&self) -> bool;
    /// Upper bounds on what the `candidates` would add to the current set, cheaper than their
    /// gains.
    fn bounds(&self, candidates: &[usize], bounds: &mut [f64]);
    /// What each of the `candidates` would add to the current set.
    fn gains(&mut self, candidates: &[usize], gains: &mut [f64]);
    /// Adds candidate `i` to the current set.
    fn add(&mut self, i: usize);
}

/// The picks in order, and the marginal gain of each.
pub(crate) struct Picks {
    pub(crate) order: Vec<usize>,
    pub(crate) gains: Vec<f64>,
}

#[derive(Clone, Copy)]
struct Candidate {
    bound: f64,
    index: usize,
    known: Known,
}

/// What a candidate's bound stands for, and the set size it was computed for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Stale,
    Bounded(usize),
    Exact(usize),
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

/// Picks `min(budget, N)` candidates greedily, equal gains going to the lowest index.
pub(crate) fn maximize(
    objective: &mut impl Objective,
    budget: usize,
    progress: &Progress<'_>,
) -> Picks {
    let budget = budget.min(objective.len());
    let (first, exact) = objective.first_gains();
    let known = if exact { Known::Exact(0) } else { Known::Stale };
    let candidates = first.iter().enumerate();
    let mut heap: BinaryHeap<Candidate> =
        candidates.map(|(index, &bound)| Candidate { bound, index, known }).collect();
    let mut picks = Picks { order: Vec::with_capacity(budget), gains: Vec::with_capacity(budget) };
    let mut batch = Batch::default();
    while picks.order.len() < budget {
        let size = picks.order.len();
        let Some(first) = heap.pop() else { break };
        if first.known == Known::Exact(size) {
            objective.add(first.index);
            picks.order.push(first.index);
            picks.gains.push(first.bound);
            progress.report(Done::Picked(1));
            continue;
        }
        let cheap = objective.is_cheap(first.index);
        if !cheap && objective.has_bounds() && first.known != Known::Bounded(size) {
            batch.fill(first, &mut heap, BOUNDED_AT_ONCE, |next| {
                !matches!(next.known, Known::Exact(s) | Known::Bounded(s) if s == size)
                    && !objective.is_cheap(next.index)
            });
            objective.bounds(&batch.indices, &mut batch.values);
            batch.empty(&mut heap, f64::min, Known::Bounded(size));
            continue;
        }
        let most = if cheap { CHEAP_AT_ONCE } else { COSTLY_AT_ONCE };
        let close = if !cheap && objective.has_bounds() { CLOSE * first.bound } else { 0.0 };
        batch.fill(first, &mut heap, most, |next| {
            next.known != Known::Exact(size)
                && next.bound >= close
                && cheap == objective.is_cheap(next.index)
        });
        objective.gains(&batch.indices, &mut batch.values);
        batch.empty(&mut heap, |_, gain| gain, Known::Exact(size));
    }
    picks
}

/// Candidates taken from the heap to be evaluated together; buffers are reused between rounds.
#[derive(Default)]
struct Batch {
    taken: Vec<Candidate>,
    indices: Vec<usize>,
    values: Vec<f64>,
}

impl Batch {
    /// Takes `first` and the heap's next candidates while `fits` holds, at most `most`.
    fn fill(
        &mut self,
        first: Candidate,
        heap: &mut BinaryHeap<Candidate>,
        most: usize,
        fits: impl Fn(&Candidate) -> bool,
    ) {
        self.taken.clear();
        self.taken.push(first);
        while self.taken.len() < most && heap.peek().is_some_and(&fits) {
            self.taken.extend(heap.pop());
        }
        self.indices.clear();
        self.indices.extend(self.taken.iter().map(|candidate| candidate.index));
        self.values.clear();
        self.values.resize(self.taken.len(), 0.0);
    }

    /// Returns the candidates to the heap with their new bounds.
    fn empty(
        &mut self,
        heap: &mut BinaryHeap<Candidate>,
        combine: impl Fn(f64, f64) -> f64,
        known: Known,
    ) {
        for (candidate, &value) in self.taken.iter().zip(&self.values) {
            let bound = combine(candidate.bound, value);
            heap.push(Candidate { bound, known, ..*candidate });
        }
    }
}
