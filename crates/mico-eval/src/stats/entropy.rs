//! Entropy of counts.

/// What Jeffreys' prior adds to every count.
const PRIOR: f64 = 0.5;

/// Entropy in nats of `p_c = (n_c + 1/2) / (N + C/2)` over `classes` classes. Classes that `counts`
/// leaves out count nothing; `None` if it names more than there are, or if nothing was counted.
pub fn jeffreys_entropy(counts: &[f64], classes: usize) -> Option<f64> {
    let total: f64 = counts.iter().sum();
    let unnamed = classes.checked_sub(counts.len())?;
    if !(total > 0.0 && total.is_finite()) {
        return None;
    }
    let of = |count: f64| {
        let p = (count + PRIOR) / (total + PRIOR * classes as f64);
        -p * p.ln()
    };
    Some(counts.iter().map(|&count| of(count)).sum::<f64>() + unnamed as f64 * of(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let found = jeffreys_entropy(&[10.0, 5.0, 1.0], 182).unwrap();
        assert!((found - 4.928_557_061).abs() < 1e-9, "{found}");
        let named = jeffreys_entropy(&[10.0, 0.0, 5.0, 1.0], 182).unwrap();
        assert!((named - found).abs() < 1e-12, "a class with no count may be named");
        let even = jeffreys_entropy(&[7.0; 4], 4).unwrap();
        assert!((even - 4_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn nothing_counted_has_no_entropy() {
        assert_eq!(jeffreys_entropy(&[], 5), None);
        assert_eq!(jeffreys_entropy(&[0.0, 0.0], 5), None);
        assert_eq!(jeffreys_entropy(&[1.0, 1.0], 1), None);
    }
}
