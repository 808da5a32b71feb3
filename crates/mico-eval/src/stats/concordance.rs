//! Whether a score is higher where something succeeded.

/// The share of pairs of a success and a failure in which the success scores higher, equal scores
/// counting half; `None` without both a success and a failure.
pub fn concordance(scored: &[(f64, bool)]) -> Option<f64> {
    let of = |wanted: bool| scored.iter().filter(move |(_, right)| *right == wanted);
    let (mut pairs, mut sum) = (0_usize, 0.0);
    for (success, _) in of(true) {
        for (failure, _) in of(false) {
            pairs += 1;
            sum += match success.partial_cmp(failure) {
                Some(std::cmp::Ordering::Greater) => 1.0,
                Some(std::cmp::Ordering::Equal) => 0.5,
                _ => 0.0,
            };
        }
    }
    (pairs > 0).then(|| sum / pairs as f64)
}

#[cfg(test)]
mod tests {
    use super::concordance;

    #[test]
    fn known_values() {
        let half = [(0.9, true), (0.5, true), (0.5, false), (0.1, false)];
        assert_eq!(concordance(&half), Some(0.875));
        assert_eq!(concordance(&[(0.1, true), (0.2, false)]), Some(0.0));
    }

    #[test]
    fn one_outcome_alone_is_undefined() {
        assert_eq!(concordance(&[(0.2, true), (0.3, true)]), None);
        assert_eq!(concordance(&[(0.2, false)]), None);
        assert_eq!(concordance(&[]), None);
    }
}
