//! Natural groups (crops, tiles, frames): how a budget is divided among them, and the loop that runs a
//! selection rule on each of them separately.

use std::collections::BTreeMap;
use std::time::Instant;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::inputs::Inputs;
use crate::selection::Selection;
use crate::selector::{Context, Options, Selector};
use crate::signal::SignalSet;
use crate::tokens::Tokens;

/// What happens to the tokens left over when a budget is divided by the number of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Remainder {
    /// They are not used, so slightly fewer tokens are kept (LLaVA-NeXT, video).
    #[default]
    Drop,
    /// The first groups get one more token each (InternVL's tiles).
    First,
}

/// The share of each group: `max(1, budget div G)`, at most the group's size.
///
/// ```
/// use mico_select::{Remainder, split_budget};
/// assert_eq!(split_budget(256, &[100; 3], Remainder::Drop), [85, 85, 85]);
/// assert_eq!(split_budget(256, &[100; 3], Remainder::First), [86, 85, 85]);
/// assert_eq!(split_budget(2, &[100; 3], Remainder::Drop), [1, 1, 1]);
/// ```
pub fn split_budget(budget: usize, sizes: &[usize], remainder: Remainder) -> Vec<usize> {
    let groups = sizes.len().max(1);
    let share = budget / groups;
    let extra = match remainder {
        Remainder::Drop => 0,
        Remainder::First => budget % groups,
    };
    let shares = sizes.iter().enumerate();
    shares.map(|(g, &size)| (share + usize::from(g < extra)).max(1).min(size)).collect()
}

/// The token indices of each group, groups by ascending label, tokens ascending inside.
pub(crate) fn members(labels: &[i64]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (token, &label) in labels.iter().enumerate() {
        groups.entry(label).or_default().push(token);
    }
    groups.into_values().collect()
}

/// Tokens that compete only with one another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group<'a> {
    /// The group's token indices, ascending.
    pub(crate) members: &'a [usize],
    /// The number of them to keep.
    pub(crate) keep: usize,
    /// Seed of the group's random choices.
    pub(crate) seed: u64,
}

/// Whether the rule also runs on a group whose budget covers all of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WholeGroups {
    /// The rule runs all the same, because the order of its picks is wanted.
    Ranked,
    /// The rule is skipped: only the kept tokens are wanted.
    Taken,
}

/// Selects from each group by the rule that `rule` returns for its number.
///
/// Signals are checked once and shared, rows are never copied, and the groups that run at once divide
/// the memory. A group for which its part is too little waits and has all of it, so that the number of
/// threads decides nothing but speed. Groups do not see each other, except through what
/// [`Selector::prepare`] computes over all tokens, which the first group's rule is asked for.
pub(crate) fn select_each<'s>(
    inputs: &Inputs<'_>,
    groups: &[Group<'_>],
    rule: &(dyn Sync + Fn(usize) -> &'s dyn Selector),
    options: &Options<'_>,
    whole: WholeGroups,
) -> Result<Selection> {
    if groups.is_empty() {
        return Ok(Selection::default());
    }
    let prepared = Prepared::new(inputs, (0..groups.len()).map(rule))?;
    prepared.check_members(groups)?;
    let run = |number: usize, memory: usize| {
        let Group { members, keep, seed } = groups[number];
        if whole == WholeGroups::Taken && keep >= members.len() {
            return Ok(Selection::everything(members.len()));
        }
        let tokens = Tokens::of(inputs, members, prepared.shared.as_deref());
        let context = Context { memory, seed, progress: options.progress };
        run_rule(rule(number), &tokens, keep, &context)
    };
    let at_once = rayon::current_num_threads().min(groups.len()).max(1);
    let numbers = (0..groups.len()).into_par_iter().with_max_len(1);
    let parts: Vec<Result<Selection>> =
        numbers.map(|number| run(number, options.memory / at_once)).collect();
    let mut joined = Selection::default();
    for (number, part) in parts.into_iter().enumerate() {
        let part = match part {
            Err(Error::Memory { .. }) if at_once > 1 => run(number, options.memory)?,
            part => part?,
        };
        joined.absorb(part, groups[number].members);
    }
    Ok(joined.finish())
}

/// The result of checking the signals for the rules that read them.
pub(crate) struct Prepared {
    /// The number of visual tokens `N`, over all groups.
    pub(crate) tokens: usize,
    /// A value per token that the first rule computed over all groups together, if it prepares one.
    pub(crate) shared: Option<Vec<f64>>,
}

impl Prepared {
    pub(crate) fn new<'s>(
        inputs: &Inputs<'_>,
        rules: impl Iterator<Item = &'s dyn Selector>,
    ) -> Result<Self> {
        let (mut read, mut nonnegative) = (SignalSet::default(), SignalSet::default());
        let mut first = None;
        for rule in rules {
            read = read.union(rule.reads(inputs.present())?);
            nonnegative = nonnegative.union(rule.nonnegative());
            first.get_or_insert(rule);
        }
        let tokens = inputs.check(read, nonnegative)?;
        let shared = first.map(|rule| rule.prepare(inputs, tokens)).transpose()?.flatten();
        Ok(Self { tokens, shared })
    }

    fn check_members(&self, groups: &[Group<'_>]) -> Result<()> {
        let last = groups.iter().filter_map(|group| group.members.last()).max();
        match last {
            Some(&token) if token >= self.tokens => Err(Error::OutOfRange {
                what: "a group's token",
                found: token.to_string(),
                accepted: format!("below {}, the number of visual tokens", self.tokens),
            }),
            _ => Ok(()),
        }
    }
}

/// Keeps `keep` tokens of one group and notes the time it took.
pub(crate) fn run_rule(
    selector: &dyn Selector,
    tokens: &Tokens<'_>,
    keep: usize,
    context: &Context<'_>,
) -> Result<Selection> {
    let start = Instant::now();
    let mut selection = if keep >= tokens.len() {
        selector.select_all(tokens, context)?
    } else {
        selector.select(tokens, keep, context)?
    };
    check_range(selector.name(), &selection, tokens.len())?;
    let total = start.elapsed().as_secs_f64();
    selection.seconds.select = (total - selection.seconds.kernel).max(0.0);
    Ok(selection)
}

/// Refuses a selection that names a token the group does not have: a rule may be anybody's, and its
/// indices are followed from here on.
fn check_range(method: &'static str, selection: &Selection, tokens: usize) -> Result<()> {
    let Selection { kept, order, sequence, merges, replaced, .. } = selection;
    let merged = merges.iter().flat_map(|merge| merge.sources.iter().chain([&merge.target]));
    let replaced = replaced.iter().flat_map(|replaced| [&replaced.position, &replaced.token]);
    let mut named = kept.iter().chain(order).chain(sequence).chain(merged).chain(replaced);
    match named.find(|&&token| token >= tokens) {
        None => Ok(()),
        Some(token) => {
            let message = format!("names token {token} of {tokens}");
            Err(Error::Contract { method, message })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::methods::{Mico, Random};
    use crate::signal::Signal;

    #[test]
    fn groups_may_be_interleaved_and_labels_negative() {
        assert_eq!(members(&[5, -1, 5, -1]), vec![vec![1, 3], vec![0, 2]]);
    }

    #[test]
    fn a_small_group_caps_its_share() {
        assert_eq!(split_budget(20, &[3, 30], Remainder::Drop), [3, 10]);
    }

    #[test]
    fn a_group_too_large_for_its_part_of_the_memory_has_all_of_it() {
        let (n, d) = (600, 64);
        let data: Vec<f32> = (0..n * d).map(|i| ((i * i % 977) as f32 * 0.37).sin()).collect();
        let labels: Vec<i64> = (0..n).map(|i| i64::from(i >= n / 2)).collect();
        let inputs = Inputs::new()
            .with(Signal::Features, Matrix::from_f32(&data, n, d).unwrap())
            .with_groups(&labels);
        let run = |memory| {
            let options = Options::default().with_memory(memory);
            crate::select(&Mico::default(), &inputs, 60, &options).map(|s| s.order)
        };
        let plenty = run(1 << 28).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        // Enough for one group of 300 tokens, not for two at once.
        assert_eq!(pool.install(|| run(600_000)).unwrap(), plenty);
        assert!(matches!(pool.install(|| run(1_000)), Err(Error::Memory { limit: 1_000, .. })));
    }

    #[test]
    fn tokens_that_are_not_there_are_named() {
        let inputs = Inputs::new().with_tokens(4);
        let group = Group { members: &[1, 4], keep: 1, seed: 0 };
        let rule = |_: usize| &Random as &dyn Selector;
        let whole = WholeGroups::Taken;
        let error = select_each(&inputs, &[group], &rule, &Options::default(), whole).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a group's token is 4, accepted: below 4, the number of visual tokens"
        );
    }
}
