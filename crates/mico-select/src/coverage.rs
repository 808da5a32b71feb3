//! The weighted coverage objective over kernel columns.

#![allow(
    clippy::inline_always,
    reason = "the body must be compiled inside the closure that enables the vector instructions"
)]

use pulp::Arch;

/// Independent f64 partial sums per gain, so that the loop vectorises without reordering.
const LANES: usize = 8;

/// Coverage of each source token by the tokens picked so far (`M_v`), and the marginal gain of
/// one more pick:
///
/// `Δ(i | S) = Σ_v W_v [κ(v,i) − M_v]₊`, `M_v = max_{s∈S} κ(v,s)`.
///
/// Kernel values are f32, sums f64 in an order that depends on the length alone. Subtraction,
/// product and sum round monotonically, so a gain computed for a smaller `S` is an upper bound on
/// the same gain computed later: the lazy greedy needs no tolerance.
pub(crate) struct Coverage {
    weights: Vec<f64>,
    covered: Vec<f32>,
    arch: Arch,
}

impl Coverage {
    pub(crate) fn new(weights: Vec<f64>) -> Self {
        let covered = vec![0.0; weights.len()];
        Self { weights, covered, arch: Arch::new() }
    }

    /// The marginal gain of adding the token with this kernel column.
    pub(crate) fn gain(&self, column: &[f32]) -> f64 {
        self.gains([column])[0]
    }

    /// The marginal gains of several tokens in one pass over the weights and the coverage.
    pub(crate) fn gains<const C: usize>(&self, columns: [&[f32]; C]) -> [f64; C] {
        self.arch.dispatch(
            #[inline(always)]
            || gains(columns, &self.covered, &self.weights),
        )
    }

    /// Adds the token with this kernel column to the set: raises `M_v` to `κ(v,i)` where larger.
    pub(crate) fn add(&mut self, column: &[f32]) {
        for (m, &k) in self.covered.iter_mut().zip(column) {
            *m = m.max(k);
        }
    }

    /// The objective of the current set, `I(S) = Σ_v W_v M_v`.
    pub(crate) fn value(&self) -> f64 {
        self.weights.iter().zip(&self.covered).map(|(w, &m)| w * f64::from(m)).sum()
    }

    /// `M_v` of every source token: its largest kernel value with a picked token, 0 before the first.
    pub(crate) fn covered(&self) -> &[f32] {
        &self.covered
    }

    pub(crate) fn weights(&self) -> &[f64] {
        &self.weights
    }
}

#[inline(always)]
fn gains<const C: usize>(columns: [&[f32]; C], covered: &[f32], weights: &[f64]) -> [f64; C] {
    let mut sums = [[0.0f64; LANES]; C];
    let (m8, m_rest) = covered.as_chunks::<LANES>();
    let (w8, w_rest) = weights.as_chunks::<LANES>();
    let columns = columns.map(<[f32]>::as_chunks::<LANES>);
    for (block, (m, w)) in m8.iter().zip(w8).enumerate() {
        for (sums, (k8, _)) in sums.iter_mut().zip(&columns) {
            let k = &k8[block];
            for l in 0..LANES {
                sums[l] += w[l] * positive(f64::from(k[l]) - f64::from(m[l]));
            }
        }
    }
    for (l, (&m, w)) in m_rest.iter().zip(w_rest).enumerate() {
        for (sums, (_, k_rest)) in sums.iter_mut().zip(&columns) {
            sums[l] += w * positive(f64::from(k_rest[l]) - f64::from(m));
        }
    }
    sums.map(|[a, b, c, d, e, f, g, h]| ((a + e) + (c + g)) + ((b + f) + (d + h)))
}

/// `[x]₊` as one vector instruction.
#[inline(always)]
fn positive(x: f64) -> f64 {
    if x > 0.0 { x } else { 0.0 }
}
