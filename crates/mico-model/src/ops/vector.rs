//! Scalar and reduction functions written so that the compiler vectorises them.

/// Lanes summed separately, so that the compiler may keep them in vector registers.
const LANES: usize = 16;

/// `e^x` within two units in the last place for `x` in the range of finite results; smaller
/// arguments give 0, larger ones are clamped. NaN stays NaN.
///
/// Cody-Waite reduction `x = n ln 2 + r`, a degree-6 polynomial for `e^r`, and `2^n` put together
/// from its bits; there is no branch and no table.
#[inline]
pub(super) fn exp(x: f32) -> f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    /// Adding and subtracting 1.5 * 2^23 rounds to the nearest whole number.
    const ROUND: f32 = 12_582_912.0;
    let clamped = x.clamp(-87.0, 88.0);
    let n = (clamped * LOG2_E + ROUND) - ROUND;
    let r = n.mul_add(-LN2_LOW, n.mul_add(-LN2_HIGH, clamped));
    let mut p = 1.987_569_2e-4_f32;
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = p.mul_add(r, c);
    }
    let value = (p * r).mul_add(r, r + 1.0);
    let power = f32::from_bits((((n as i32) + 127) << 23).cast_unsigned());
    if x < -87.0 { 0.0 } else { value * power }
}

/// The logistic function, `1 / (1 + e^-x)`.
#[inline]
pub(super) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// Inner product, summed in lanes so that it vectorises.
#[inline]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    let mut lanes = [0.0_f32; LANES];
    for (x, y) in a_chunks.iter().zip(b_chunks) {
        for i in 0..LANES {
            lanes[i] = x[i].mul_add(y[i], lanes[i]);
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    lanes.iter().sum::<f32>() + rest
}

/// The largest element, -inf for an empty slice.
#[inline]
pub(super) fn max(values: &[f32]) -> f32 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for chunk in chunks {
        for i in 0..LANES {
            lanes[i] = if chunk[i] > lanes[i] { chunk[i] } else { lanes[i] };
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max)
}

/// The sum of all elements, in lanes so that it vectorises.
#[inline]
pub(super) fn sum(values: &[f32]) -> f32 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0_f32; LANES];
    for chunk in chunks {
        for i in 0..LANES {
            lanes[i] += chunk[i];
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these results are exact")]
mod tests {
    use super::*;

    #[test]
    fn exp_is_accurate_over_its_range() {
        for i in -86_000..88_000 {
            let x = i as f32 * 1e-3;
            let exact = f64::from(x).exp();
            let error = (f64::from(exp(x)) - exact).abs() / exact;
            assert!(error < 2.5e-7, "exp({x}) off by {error}");
        }
        assert_eq!(exp(-1000.0), 0.0);
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn reductions_cover_the_rest_of_the_last_chunk() {
        let values: Vec<f32> = (0..37).map(|i| i as f32).collect();
        assert_eq!(sum(&values), 666.0);
        assert_eq!(max(&values), 36.0);
        assert_eq!(dot(&values, &values), values.iter().map(|x| x * x).sum::<f32>());
    }
}
