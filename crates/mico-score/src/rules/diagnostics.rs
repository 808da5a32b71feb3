//! Statistics for the paper's diagnostics: rank correlation, entropy and concordance.

/// Spearman's rank correlation with average ranks for ties; `None` if the lengths differ, a side is
/// constant or a value is not finite.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() != y.len() || x.iter().chain(y).any(|value| !value.is_finite()) {
        return None;
    }
    let (x, y) = (ranks(x), ranks(y));
    let mean = f64::midpoint(x.len() as f64, 1.0);
    let product = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let scale = (product(&x, &x) * product(&y, &y)).sqrt();
    (scale > 0.0).then(|| product(&x, &y) / scale)
}

/// Ranks from 1; equal values share the mean of their ranks.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for group in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = before as f64 + f64::midpoint(group.len() as f64, 1.0);
        group.iter().for_each(|at| ranks[*at] = rank);
        before += group.len();
    }
    ranks
}

/// The entropy in nats of counts over `classes` classes with half a count added to each (Jeffreys
/// prior); classes that are not listed have count 0.
pub fn jeffreys_entropy(counts: &[f64], classes: usize) -> f64 {
    let total = counts.iter().sum::<f64>() + 0.5 * classes as f64;
    let term = |count: f64| {
        let share = (count + 0.5) / total;
        -share * share.ln()
    };
    let absent = classes.saturating_sub(counts.len()) as f64;
    counts.iter().map(|count| term(*count)).sum::<f64>() + absent * term(0.0)
}

/// The concordance (area under the ROC curve): the share of pairs of a right and a wrong answer in
/// which the right one has the higher score, with ties counted half. `None` without such a pair.
pub fn concordance(scores: &[f64], right: &[bool]) -> Option<f64> {
    let of = |wanted: bool| scores.iter().zip(right).filter(move |(_, right)| **right == wanted);
    let mut pairs = 0_usize;
    let mut sum = 0.0;
    for (good, _) in of(true) {
        for (bad, _) in of(false) {
            pairs += 1;
            sum += if good > bad {
                1.0
            } else if good == bad {
                0.5
            } else {
                0.0
            };
        }
    }
    (pairs > 0).then(|| sum / pairs as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_their_ranks() {
        assert_eq!(ranks(&[2.0, 1.0, 2.0, 3.0]), [2.5, 1.0, 2.5, 4.0]);
        assert!(
            (spearman(&[1.0, 2.0, 2.0, 3.0], &[1.0, 3.0, 2.0, 4.0]).unwrap() - 0.948_683_298).abs()
                < 1e-9
        );
        assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[1.0, f64::NAN], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[], &[]), None);
    }

    #[test]
    fn one_kind_alone_has_no_concordance() {
        assert_eq!(concordance(&[0.2, 0.3], &[true, true]), None);
        assert_eq!(concordance(&[0.9, 0.5, 0.5, 0.1], &[true, true, false, false]), Some(0.875));
    }

    #[test]
    fn equal_counts_have_the_largest_entropy() {
        assert!((jeffreys_entropy(&[], 4) - 4_f64.ln()).abs() < 1e-12);
        assert!(jeffreys_entropy(&[9.0], 4) < 4_f64.ln());
    }
}
