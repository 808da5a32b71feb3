//! An interval for a share of independent items.

/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Wilson's 95 % interval for `right` of `asked`, as shares; all of it if nothing was asked.
pub fn wilson(right: usize, asked: usize) -> (f64, f64) {
    if asked == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (asked as f64, right as f64 / asked as f64);
    let center = p + Z * Z / (2.0 * n);
    let spread = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    // Rounding must not put the share itself outside.
    (((center - spread) / scale).max(0.0).min(p), ((center + spread) / scale).min(1.0).max(p))
}

#[cfg(test)]
mod tests {
    use super::wilson;

    /// Values of statsmodels' `proportion_confint(..., method="wilson")`.
    #[test]
    fn known_values() {
        let close = |(low, high): (f64, f64), expected: (f64, f64)| {
            assert!((low - expected.0).abs() < 1e-10, "{low}");
            assert!((high - expected.1).abs() < 1e-10, "{high}");
        };
        close(wilson(8, 10), (0.490_162_471_536_642, 0.943_317_848_545_625));
        close(wilson(0, 20), (0.0, 0.161_125_158_052_819));
        close(wilson(225, 250), (0.856_548_289_391_935, 0.931_345_071_011_709));
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }
}
