//! Ranking by score with one rule for ties, so that results are reproducible: larger score first, then
//! lower index.

use std::cmp::Ordering;

/// Larger score first, lower index first among equals. `-0.0` and `0.0` are equal.
pub(crate) fn descending(scores: &[f64], a: usize, b: usize) -> Ordering {
    (scores[b] + 0.0).total_cmp(&(scores[a] + 0.0)).then(a.cmp(&b))
}

/// All indices by descending score.
pub(crate) fn argsort(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_unstable_by(|&a, &b| descending(scores, a, b));
    order
}

/// The `k` best indices by descending score.
pub(crate) fn top(scores: &[f64], k: usize) -> Vec<usize> {
    top_of((0..scores.len()).collect(), scores, k)
}

/// The `k` best of `indices` by descending score.
pub(crate) fn top_of(mut indices: Vec<usize>, scores: &[f64], k: usize) -> Vec<usize> {
    if k < indices.len() {
        if k > 0 {
            indices.select_nth_unstable_by(k - 1, |&a, &b| descending(scores, a, b));
        }
        indices.truncate(k);
    }
    indices.sort_unstable_by(|&a, &b| descending(scores, a, b));
    indices
}

/// The best of `indices`, the first among equals.
pub(crate) fn best(
    indices: impl Iterator<Item = usize>,
    score: impl Fn(usize) -> f64,
) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for i in indices {
        let s = score(i);
        if best.is_none_or(|(_, b)| s > b) {
            best = Some((i, s));
        }
    }
    best.map(|(i, _)| i)
}

/// Rounds to the nearest integer, halves to the even one.
///
/// ```
/// assert_eq!(mico_select::round_ratio(5, 2), 2);
/// assert_eq!(mico_select::round_ratio(7, 2), 4);
/// assert_eq!(mico_select::round_ratio(-1, 2), 0);
/// assert_eq!(mico_select::round_ratio(-5, 3), -2);
/// ```
///
/// `denominator` must be positive.
pub fn round_ratio(numerator: i128, denominator: i128) -> i128 {
    let floor = numerator.div_euclid(denominator);
    let twice = 2 * numerator.rem_euclid(denominator);
    match twice.cmp(&denominator) {
        Ordering::Less => floor,
        Ordering::Greater => floor + 1,
        Ordering::Equal => floor + floor.rem_euclid(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lowest_index() {
        let scores = [1.0, 2.0, 2.0, -0.0, 0.0, 1.0];
        assert_eq!(argsort(&scores), [1, 2, 0, 5, 3, 4]);
        assert_eq!(top(&scores, 3), [1, 2, 0]);
        assert_eq!(top(&scores, 0), [] as [usize; 0]);
        assert_eq!(best(0..6, |i| scores[i]), Some(1));
    }
}
