//! The `Selector` trait that every selection rule implements, and `select`, which runs one over groups.

use crate::error::{Error, Result};
use crate::groups::{
    Group, Prepared, Remainder, WholeGroups, members, run_rule, select_each, split_budget,
};
use crate::inputs::Inputs;
use crate::progress::Progress;
use crate::selection::Selection;
use crate::signal::SignalSet;
use crate::tokens::Tokens;
use mico_util::SplitMix64;

/// The default limit of working memory: 512 MiB.
pub const DEFAULT_MEMORY: usize = 512 << 20;

/// A selection rule: keeps some of the visual tokens, from signals alone.
pub trait Selector: Send + Sync {
    /// The method's name on the command line and in records.
    fn name(&self) -> &'static str;

    /// Which of the signals that are `present` the method will read; an error if one is missing.
    fn reads(&self, present: SignalSet) -> Result<SignalSet>;

    /// Which of the signals must not hold negative values; checked before the rule runs.
    fn nonnegative(&self) -> SignalSet {
        SignalSet::default()
    }

    /// A value per token that the rule needs over all groups together; `None` if it needs none.
    fn prepare(&self, _inputs: &Inputs<'_>, _n: usize) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }

    /// Keeps `budget` of one group's tokens, `1 <= budget < N`.
    fn select(
        &self,
        tokens: &Tokens<'_>,
        budget: usize,
        context: &Context<'_>,
    ) -> Result<Selection>;

    /// Keeps every token of one group. Override it if the order of the picks is meaningful then too.
    fn select_all(&self, tokens: &Tokens<'_>, _context: &Context<'_>) -> Result<Selection> {
        Ok(Selection::everything(tokens.len()))
    }
}

/// The resources of a selection from one group.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The limit of working memory for this group, in bytes.
    pub memory: usize,
    /// Seed of the group's random choices.
    pub seed: u64,
    /// Callback for compared and picked tokens.
    pub progress: Progress<'a>,
}

/// How to run a selector. Start from the default and set what differs.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Options<'a> {
    /// The limit of working memory for all groups together, in bytes, inputs not counted.
    pub memory: usize,
    /// Seed of random choices; groups derive their own from it.
    pub seed: u64,
    /// What happens to the part of the budget that the groups do not divide evenly.
    pub remainder: Remainder,
    /// Callback for compared and picked tokens.
    pub progress: Progress<'a>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            memory: DEFAULT_MEMORY,
            seed: 0,
            remainder: Remainder::Drop,
            progress: Progress::default(),
        }
    }
}

impl<'a> Options<'a> {
    /// Sets the limit of working memory, in bytes.
    pub fn with_memory(self, memory: usize) -> Self {
        Self { memory, ..self }
    }

    /// Sets the seed of random choices.
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets what happens to the tokens left over when the budget is divided among groups.
    pub fn with_remainder(self, remainder: Remainder) -> Self {
        Self { remainder, ..self }
    }

    /// Sets the progress callback.
    pub fn with_progress(self, progress: Progress<'a>) -> Self {
        Self { progress, ..self }
    }
}

/// Keeps `budget` of the visual tokens, group by group if groups were given.
///
/// Runs on the current rayon thread pool; the answer does not depend on its size.
///
/// ```
/// use mico_select::{Inputs, Matrix, Options, Signal, methods::Mico, select};
/// let features = [1.0, 0.0, 0.9, 0.1, 0.0, 2.0];
/// let inputs = Inputs::new().with(Signal::Features, Matrix::from_f32(&features, 3, 2)?);
/// let selection = select(&Mico::default(), &inputs, 2, &Options::default())?;
/// assert_eq!(selection.kept, [1, 2]);
/// # Ok::<(), mico_select::Error>(())
/// ```
pub fn select(
    selector: &dyn Selector,
    inputs: &Inputs<'_>,
    budget: usize,
    options: &Options<'_>,
) -> Result<Selection> {
    if budget == 0 {
        return Err(Error::OutOfRange {
            what: "budget",
            found: "0".into(),
            accepted: "at least 1 token".into(),
        });
    }
    let Some(labels) = inputs.groups().filter(|labels| !labels.is_empty()) else {
        let prepared = Prepared::new(inputs, std::iter::once(selector))?;
        let tokens = Tokens::all(inputs, prepared.tokens, prepared.shared.as_deref());
        let Options { memory, seed, progress, .. } = *options;
        return run_rule(selector, &tokens, budget, &Context { memory, seed, progress });
    };
    let members = members(labels);
    let sizes: Vec<usize> = members.iter().map(Vec::len).collect();
    let all = budget >= labels.len();
    let counts = if all { sizes } else { split_budget(budget, &sizes, options.remainder) };
    let groups: Vec<Group<'_>> = members
        .iter()
        .zip(counts)
        .zip(0..)
        .map(|((members, keep), stream)| {
            let seed = SplitMix64::new(options.seed).fork(stream);
            Group { members, keep, seed }
        })
        .collect();
    select_each(inputs, &groups, &|_| selector, options, WholeGroups::Ranked)
}
