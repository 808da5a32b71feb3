//! The one trait behind every method, and the request that runs it over groups.

use std::time::Instant;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::groups::{Remainder, members, split_budget};
use crate::inputs::{Inputs, TensorSet};
use crate::progress::Progress;
use crate::rng::Rng;
use crate::selection::Selection;
use crate::tokens::Tokens;

/// Working memory unless the caller says otherwise.
pub const DEFAULT_MEMORY: usize = 512 << 20;

/// A rule that keeps some visual tokens.
pub trait Selector: Send + Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// Which of the tensors that are `present` the method will read; an error if one is missing.
    fn reads(&self, present: TensorSet) -> Result<TensorSet>;

    /// Which of them must not hold negative values.
    fn nonnegative(&self) -> TensorSet {
        TensorSet::default()
    }

    /// A value per token that the method computes over all groups together.
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

    /// Keeps every token of one group.
    fn select_all(&self, tokens: &Tokens<'_>, _context: &Context<'_>) -> Result<Selection> {
        Ok(Selection::everything(tokens.len()))
    }
}

impl<S: Selector + ?Sized> Selector for &S {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn reads(&self, present: TensorSet) -> Result<TensorSet> {
        (**self).reads(present)
    }

    fn nonnegative(&self) -> TensorSet {
        (**self).nonnegative()
    }

    fn prepare(&self, inputs: &Inputs<'_>, n: usize) -> Result<Option<Vec<f64>>> {
        (**self).prepare(inputs, n)
    }

    fn select(
        &self,
        tokens: &Tokens<'_>,
        budget: usize,
        context: &Context<'_>,
    ) -> Result<Selection> {
        (**self).select(tokens, budget, context)
    }

    fn select_all(&self, tokens: &Tokens<'_>, context: &Context<'_>) -> Result<Selection> {
        (**self).select_all(tokens, context)
    }
}

/// What a method may use while it selects from one group.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Working memory in bytes.
    pub memory: usize,
    /// Seed of this group's random choices.
    pub seed: u64,
    /// Told about picks.
    pub progress: Progress<'a>,
}

/// How to run a selector.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Working memory in bytes, beside the inputs, over all groups together.
    pub memory: usize,
    /// Seed of random choices.
    pub seed: u64,
    /// Where the part of the budget goes that groups do not divide.
    pub remainder: Remainder,
    /// Told about picks.
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

/// Keeps `budget` of the visual tokens, group by group if there are groups.
///
/// Runs on the current rayon thread pool; the answer does not depend on its size.
///
/// ```
/// use mico_select::{Inputs, Matrix, Options, Tensor, methods::Mico, select};
/// let features = [1.0, 0.0, 0.9, 0.1, 0.0, 2.0];
/// let inputs = Inputs::new().with(Tensor::Features, Matrix::from_f32(&features, 3, 2)?);
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
    let read = selector.reads(inputs.present())?;
    let n = inputs.check(read, selector.nonnegative())?;
    let shared = selector.prepare(inputs, n)?;
    let shared = shared.as_deref();
    let context =
        Context { memory: options.memory, seed: options.seed, progress: options.progress };
    let Some(labels) = inputs.groups() else {
        return run(selector, &Tokens::all(inputs, n, shared), budget, &context);
    };

    let groups = members(labels);
    let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
    let shares = if budget >= n { sizes } else { split_budget(budget, &sizes, options.remainder) };
    let at_once = rayon::current_num_threads().min(groups.len()).max(1);
    let parts: Vec<Selection> = groups
        .par_iter()
        .with_max_len(1)
        .enumerate()
        .map(|(g, members)| {
            let tokens = Tokens::of(inputs, members, shared);
            let seed = Rng::new(options.seed).fork(g as u64);
            let context = Context { memory: options.memory / at_once, seed, ..context };
            run(selector, &tokens, shares[g], &context)
        })
        .collect::<Result<_>>()?;
    let mut whole = Selection::default();
    for (part, members) in parts.into_iter().zip(&groups) {
        whole.absorb(part, members);
    }
    Ok(whole.finish())
}

fn run(
    selector: &dyn Selector,
    tokens: &Tokens<'_>,
    budget: usize,
    context: &Context<'_>,
) -> Result<Selection> {
    let start = Instant::now();
    let mut selection = if budget >= tokens.len() {
        selector.select_all(tokens, context)?
    } else {
        selector.select(tokens, budget, context)?
    };
    let total = start.elapsed().as_secs_f64();
    selection.seconds.select = (total - selection.seconds.kernel).max(0.0);
    Ok(selection)
}
