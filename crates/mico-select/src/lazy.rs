//! Greedy maximization with stale upper bounds: the picks of the plain greedy, few evaluations.
//!
//! A submodular gain only shrinks as the set grows, so a gain computed earlier bounds it from
//! above. Candidates wait in a heap ordered by their bound, equal bounds by index. When the first
//! one's bound is its gain for the current set it is the plain greedy's choice: every other
//! candidate's gain is at most its own bound, which is smaller, or equal with a higher index.
//! Where a gain is costly, a cheaper bound for the current set is asked for first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::progress::{Done, Progress};

/// Candidates evaluated together: cheap ones share a pass over the weights,
const CHEAP_AT_ONCE: usize = 4;
/// costly ones a pass over the features,
const COSTLY_AT_ONCE: usize = 96;
/// and bounds are computed on all threads.
const BOUNDED_AT_ONCE: usize = 256;
/// A costly gain is computed along with a better candidate's if its bound comes so close.
const CLOSE: f64 = 0.999;

/// A set function with diminishing returns whose computed gains never grow.
pub(crate) trait Objective {
    /// Number of candidates.
    fn len(&self) -> usize;
    /// Upper bounds of the first gains; exact if the second value says so.
    fn first_gains(&mut self) -> (Vec<f64>, bool);
    /// Whether the gain of `i` is cheap now.
    fn is_cheap(&self, i: usize) -> bool;
    /// Whether [`Objective::bounds`] can be asked.
    fn has_bounds(&self) -> bool;
    /// Upper bounds on what the `candidates` would add to the current set, cheaper than their
    /// gains.
    fn bounds(&self, candidates: &[usize], bounds: &mut [f64]);
    /// What each of the `candidates` would add to the current set.
    fn gains(&mut self, candidates: &[usize], gains: &mut [f64]);
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
    known: Known,
}

/// What a candidate's bound is, and for a set of what size.
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

/// Picks `min(budget, N)` candidates.
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

/// Candidates taken from the heap to be looked at together.
#[derive(Default)]
struct Batch {
    taken: Vec<Candidate>,
    indices: Vec<usize>,
    values: Vec<f64>,
}

impl Batch {
    /// Takes `first` and what follows it in the heap, as long as it fits.
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

    /// Puts the candidates back with what has become known of them.
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
