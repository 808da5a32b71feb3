//! Natural groups (crops, tiles, frames) and how a budget is split over them.

use std::collections::BTreeMap;

/// Where the tokens go that integer division leaves over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Remainder {
    /// They are not spent (LLaVA-NeXT, video).
    #[default]
    Drop,
    /// One more for each of the first groups (InternVL's tiles).
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_may_be_interleaved_and_labels_negative() {
        assert_eq!(members(&[5, -1, 5, -1]), vec![vec![1, 3], vec![0, 2]]);
    }

    #[test]
    fn a_small_group_caps_its_share() {
        assert_eq!(split_budget(20, &[3, 30], Remainder::Drop), [3, 10]);
    }
}
