//! Whether two settings differ on the same items.

/// McNemar's exact two-sided p-value: `first` items only the first setting got right, `second` only
/// the second.
pub fn mcnemar(first: usize, second: usize) -> f64 {
    let n = first + second;
    if n == 0 {
        return 1.0;
    }
    // Sum of the binomial's lower tail at one half, in logarithms so that large counts stay finite.
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut tail = log_term.exp();
    for k in 0..first.min(second) {
        log_term += ((n - k) as f64 / (k + 1) as f64).ln();
        tail += log_term.exp();
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::mcnemar;

    /// Values of scipy's `binomtest(min, n).pvalue`.
    #[test]
    fn known_values() {
        let close =
            |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-9, "{found}");
        close(mcnemar(5, 15), 0.041_389_465_332_031_25);
        close(mcnemar(0, 6), 0.03125);
        close(mcnemar(10, 10), 1.0);
        close(mcnemar(0, 0), 1.0);
        close(mcnemar(15, 5), mcnemar(5, 15));
        assert!(mcnemar(900, 1100) > 0.0 && mcnemar(0, 4000) >= 0.0);
    }
}
