//! Weighted evaluation of a track's metric, so that bootstrap resampling can re-evaluate it quickly.

/// A number computed from weighted items, which are referred to by their index in the track.
///
/// An item's weight is the number of times it was drawn; with weight 1 for each, a formula gives
/// the track's plain value. A formula is built once and evaluated for thousands of draws, which is
/// why it holds indices rather than names.
#[derive(Debug, Clone)]
pub(super) enum Formula {
    /// The weighted mean of item scores, in percent.
    Mean(Vec<(usize, f64)>),
    /// The percentage of groups in which every item is right. A group's weight is the mean weight
    /// of its items, which equals its number of draws if its items are always drawn together.
    Groups(Vec<Group>),
    /// The F1 score (harmonic mean of precision and recall), in percent.
    F1(Vec<Call>),
    /// The sum of the terms; undefined if any term is.
    Sum(Vec<Formula>),
    /// The mean of the terms that are defined.
    Average(Vec<Formula>),
    /// The mean over a fixed number of terms; undefined ones count as 0.
    AverageOver(usize, Vec<Formula>),
}

/// Items that are right or wrong only together, such as the rotations of an MMBench question.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// Indices of the group's items in the track.
    pub(super) items: Vec<usize>,
    /// Whether every item of the group was answered correctly.
    pub(super) right: bool,
}

/// A yes/no prediction and its gold answer, as counted by F1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// Index of the item in the track.
    pub(super) item: usize,
    /// Whether the model answered yes.
    pub(super) said: bool,
    /// Whether the gold answer is yes.
    pub(super) truth: bool,
}

impl Formula {
    /// The value under `weights`; items beyond the end of `weights` have weight 0.
    pub(super) fn value(&self, weights: &[u32]) -> Option<f64> {
        let weight = |item: usize| u64::from(weights.get(item).copied().unwrap_or(0));
        match self {
            Self::Mean(scores) => {
                let (mut sum, mut total) = (0.0, 0);
                for &(item, score) in scores {
                    let w = weight(item);
                    sum += w as f64 * score;
                    total += w;
                }
                percent(sum, total as f64)
            }
            Self::Groups(groups) => {
                let (mut sum, mut total) = (0.0, 0.0);
                for group in groups {
                    let drawn: u64 = group.items.iter().map(|&item| weight(item)).sum();
                    let w = drawn as f64 / group.items.len().max(1) as f64;
                    sum += if group.right { w } else { 0.0 };
                    total += w;
                }
                percent(sum, total)
            }
            Self::F1(calls) => {
                let (mut hits, mut said, mut truth, mut total) = (0, 0, 0, 0);
                for call in calls {
                    let w = weight(call.item);
                    total += w;
                    said += if call.said { w } else { 0 };
                    truth += if call.truth { w } else { 0 };
                    hits += if call.said && call.truth { w } else { 0 };
                }
                (total > 0).then(|| f1(hits, said, truth))
            }
            Self::Sum(parts) if parts.is_empty() => None,
            Self::Sum(parts) => parts.iter().map(|part| part.value(weights)).sum(),
            Self::Average(parts) => {
                let (mut sum, mut count) = (0.0, 0);
                for value in parts.iter().filter_map(|part| part.value(weights)) {
                    sum += value;
                    count += 1;
                }
                (count > 0).then(|| sum / f64::from(count))
            }
            Self::AverageOver(count, parts) => {
                let values: Vec<_> = parts.iter().filter_map(|part| part.value(weights)).collect();
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / *count as f64)
            }
        }
    }
}

/// A ratio in percent; `None` if the total is 0.
fn percent(sum: f64, total: f64) -> Option<f64> {
    (total > 0.0).then(|| 100.0 * sum / total)
}

/// F1 in percent; 0 if there is no true positive.
fn f1(hits: u64, said: u64, truth: u64) -> f64 {
    if hits == 0 {
        return 0.0;
    }
    let (precision, recall) = (hits as f64 / said as f64, hits as f64 / truth as f64);
    100.0 * 2.0 * precision * recall / (precision + recall)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_counts_as_often_as_it_is_drawn() {
        let mean = Formula::Mean(vec![(0, 1.0), (1, 0.0), (2, 0.5)]);
        let cases = [
            (vec![1, 1, 1], Some(50.0)),
            (vec![3, 1, 0], Some(75.0)),
            (vec![0, 0, 2], Some(50.0)),
            (vec![2], Some(100.0)),
            (vec![0, 0, 0], None),
            (vec![], None),
        ];
        cases.iter().for_each(|(weights, value)| assert_eq!(mean.value(weights), *value));
    }

    #[test]
    fn a_group_weighs_what_its_items_weigh_on_average() {
        let group = |items: &[usize], right| Group { items: items.to_vec(), right };
        let groups = Formula::Groups(vec![group(&[0, 1], true), group(&[2, 3, 4], false)]);
        assert_eq!(groups.value(&[1, 1, 1, 1, 1]), Some(50.0));
        assert_eq!(groups.value(&[3, 3, 1, 1, 1]), Some(75.0));
        assert_eq!(groups.value(&[2, 0, 1, 1, 1]), Some(50.0));
        assert_eq!(groups.value(&[0, 0, 0, 0, 0]), None);
    }

    #[test]
    fn sums_need_all_their_parts_and_averages_do_not() {
        let part = |item| Formula::Mean(vec![(item, 1.0)]);
        let parts = || vec![part(0), part(1)];
        assert_eq!(Formula::Sum(parts()).value(&[1, 1]), Some(200.0));
        assert_eq!(Formula::Sum(parts()).value(&[1, 0]), None);
        assert_eq!(Formula::Sum(vec![]).value(&[1]), None);
        assert_eq!(Formula::Average(parts()).value(&[1, 0]), Some(100.0));
        assert_eq!(Formula::Average(parts()).value(&[0, 0]), None);
        assert_eq!(Formula::AverageOver(4, parts()).value(&[1, 0]), Some(25.0));
        assert_eq!(Formula::AverageOver(4, parts()).value(&[0, 0]), None);
    }

    #[test]
    fn f1_is_zero_where_nothing_was_found() {
        let call = |item, said, truth| Call { item, said, truth };
        let calls = vec![call(0, true, true), call(1, true, false), call(2, false, true)];
        assert_eq!(Formula::F1(calls.clone()).value(&[1, 1, 1]), Some(50.0));
        assert_eq!(Formula::F1(calls.clone()).value(&[0, 1, 1]), Some(0.0));
        assert_eq!(Formula::F1(calls).value(&[0, 0, 0]), None);
    }
}
