//! The lazy greedy picks what the plain dense greedy picks: same indices, same order.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use mico_select::methods::Mico;
use mico_select::{Gram, Inputs, Matrix, Options, Rows, Selection, Signal, select};
use proptest::prelude::*;

/// Weighted coverage in plain f64 loops, written apart from the library.
struct Plain {
    kernel: Vec<f64>,
    weights: Vec<f64>,
    n: usize,
}

impl Plain {
    /// From the features, everything in f64.
    fn from_features(features: &[f32], weights: &[f32], d: usize) -> Self {
        let n = weights.len();
        let row = |i: usize| features[i * d..(i + 1) * d].iter().map(|&x| f64::from(x));
        let length = |i: usize| row(i).map(|x| x * x).sum::<f64>().sqrt();
        let mut kernel = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let scale = length(i) * length(j);
                let inner: f64 = row(i).zip(row(j)).map(|(a, b)| a * b).sum();
                kernel[i * n + j] = if scale > 0.0 { (inner / scale).max(0.0) } else { 0.0 };
            }
        }
        Self { kernel, weights: weights.iter().map(|&w| f64::from(w)).collect(), n }
    }

    /// On the library's f32 kernel.
    fn on_f32_kernel(features: &[f32], weights: &[f32], d: usize) -> Self {
        let n = weights.len();
        let rows = Rows::all(Matrix::from_f32(features, n, d).unwrap());
        let kernel = Gram::pack(&rows).cosines();
        let kernel = kernel.into_iter().map(|k| f64::from(k.max(0.0))).collect();
        Self { kernel, weights: weights.iter().map(|&w| f64::from(w)).collect(), n }
    }

    fn gain(&self, covered: &[f64], i: usize) -> f64 {
        (0..self.n)
            .map(|v| self.weights[v] * (self.kernel[v * self.n + i] - covered[v]).max(0.0))
            .sum()
    }

    fn add(&self, covered: &mut [f64], i: usize) {
        for (v, m) in covered.iter_mut().enumerate() {
            *m = m.max(self.kernel[v * self.n + i]);
        }
    }

    fn greedy(&self, budget: usize) -> Vec<usize> {
        let mut covered = vec![0.0; self.n];
        let mut order: Vec<usize> = Vec::new();
        while order.len() < budget.min(self.n) {
            let mut best = (usize::MAX, f64::NEG_INFINITY);
            for i in (0..self.n).filter(|i| !order.contains(i)) {
                let gain = self.gain(&covered, i);
                if gain > best.1 {
                    best = (i, gain);
                }
            }
            self.add(&mut covered, best.0);
            order.push(best.0);
        }
        order
    }

    fn value(&self, set: &[usize]) -> f64 {
        let mut covered = vec![0.0; self.n];
        set.iter().for_each(|&i| self.add(&mut covered, i));
        covered.iter().zip(&self.weights).map(|(m, w)| m * w).sum()
    }
}

fn mico(features: &[f32], weights: &[f32], d: usize, budget: usize, memory: usize) -> Selection {
    let inputs = Inputs::new()
        .with(Signal::Features, Matrix::from_f32(features, weights.len(), d).unwrap())
        .with_vector(Signal::Weights, weights)
        .unwrap();
    let options = Options::default().with_memory(memory);
    select(&Mico::default(), &inputs, budget, &options).unwrap()
}

const PLENTY: usize = 1 << 30;

/// Entries in {-1, 0, 1} with a power of four of them non-zero, weights in eighths: every
/// similarity, gain and sum is exact, so ties are real ties.
fn exact_tokens() -> impl Strategy<Value = (Vec<f32>, Vec<f32>, usize)> {
    let d = 16;
    let signs = prop::collection::vec(prop::bool::ANY, d);
    let row = prop_oneof![
        8 => signs.prop_map(|s| s.iter().map(|&b| if b { 1.0 } else { -1.0 }).collect::<Vec<f32>>()),
        2 => (0..d / 4).prop_map(move |q| {
            (0..d).map(|i| if i / 4 == q { 1.0f32 } else { 0.0 }).collect()
        }),
        1 => Just(vec![0.0; d]),
    ];
    (prop::collection::vec(row, 1..70), 0u8..3).prop_flat_map(move |(rows, kind)| {
        let n = rows.len();
        let weight = match kind {
            0 => Just(1.0f32).boxed(),
            1 => (0u8..16).prop_map(|w| f32::from(w) / 8.0).boxed(),
            _ => Just(0.0f32).boxed(),
        };
        (Just(rows.concat()), prop::collection::vec(weight, n), Just(d))
    })
}

/// Random rows around a few centres; some rows repeat, some are zero. Weights in eighths keep the
/// sums of f32 similarities exact in f64, so that their order does not matter.
fn float_tokens() -> impl Strategy<Value = (Vec<f32>, Vec<f32>, usize)> {
    (1usize..90, 1usize..40, 1usize..8, 0.0f32..2.0, any::<u64>()).prop_map(
        |(n, d, centers, spread, seed)| {
            let mut state = seed | 1;
            let mut uniform = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 40) as f32 / (1u64 << 24) as f32
            };
            let means: Vec<f32> = (0..centers * d).map(|_| uniform() - 0.5).collect();
            let mut features: Vec<f32> = Vec::with_capacity(n * d);
            for i in 0..n {
                let kind = uniform();
                if i > 0 && kind < 0.15 {
                    let from = (uniform() * i as f32) as usize * d;
                    features.extend_from_within(from..from + d);
                } else if kind < 0.2 {
                    features.extend(vec![0.0; d]);
                } else {
                    let center = (uniform() * centers as f32) as usize;
                    let row = &means[center * d..(center + 1) * d];
                    features.extend(row.iter().map(|m| m + spread * (uniform() - 0.5)));
                }
            }
            let weights = (0..n).map(|_| (uniform() * 64.0).floor() / 8.0).collect();
            (features, weights, d)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn exact_inputs_match_the_f64_greedy((features, weights, d) in exact_tokens(), share in 0.0f64..1.0) {
        let budget = 1 + (share * weights.len() as f64) as usize;
        let plain = Plain::from_features(&features, &weights, d);
        let answer = mico(&features, &weights, d, budget, PLENTY);
        prop_assert_eq!(&answer.order, &plain.greedy(budget));
        prop_assert_eq!(answer.objective.unwrap(), plain.value(&answer.kept));
    }

    #[test]
    fn float_inputs_match_the_f64_greedy((features, weights, d) in float_tokens(), share in 0.0f64..1.0) {
        let budget = 1 + (share * weights.len() as f64) as usize;
        let answer = mico(&features, &weights, d, budget, PLENTY);
        // The same kernel, dense f64 sums: the very same picks.
        let plain = Plain::on_f32_kernel(&features, &weights, d);
        prop_assert_eq!(&answer.order, &plain.greedy(budget));
        // All in f64: every pick is a best one up to what an f32 similarity can tell apart.
        let exact = Plain::from_features(&features, &weights, d);
        let scale = 1e-6 * exact.weights.iter().sum::<f64>();
        let mut covered = vec![0.0; weights.len()];
        let mut taken = vec![false; weights.len()];
        for (&pick, gain) in answer.order.iter().zip(&answer.gains) {
            let own = exact.gain(&covered, pick);
            for i in (0..weights.len()).filter(|&i| !taken[i]) {
                prop_assert!(exact.gain(&covered, i) <= own + scale);
            }
            prop_assert!((own - gain).abs() <= scale);
            exact.add(&mut covered, pick);
            taken[pick] = true;
        }
        let total: f64 = answer.gains.iter().sum();
        prop_assert!((total - answer.objective.unwrap()).abs() <= 1e-9 * (1.0 + total));
    }

    #[test]
    fn normalized_monotone_submodular((features, weights, d) in float_tokens(), seed in any::<u64>()) {
        let plain = Plain::from_features(&features, &weights, d);
        let n = weights.len();
        prop_assert_eq!(plain.value(&[]), 0.0);
        let in_small = |i: usize| seed >> (i % 32) & 1 == 1;
        let in_large = |i: usize| in_small(i) || seed >> (32 + i % 32) & 1 == 1;
        let small: Vec<usize> = (0..n).filter(|&i| in_small(i)).collect();
        let large: Vec<usize> = (0..n).filter(|&i| in_large(i)).collect();
        let slack = 1e-9 * (1.0 + plain.value(&large));
        prop_assert!(plain.value(&small) <= plain.value(&large) + slack);
        let gain = |set: &[usize], i: usize| {
            let mut more = set.to_vec();
            more.push(i);
            plain.value(&more) - plain.value(set)
        };
        for i in (0..n).filter(|&i| !in_large(i)).take(5) {
            prop_assert!(gain(&small, i) >= gain(&large, i) - slack);
        }
        // The library's gains never grow, as submodularity wants.
        let answer = mico(&features, &weights, d, n, PLENTY);
        prop_assert!(answer.gains.windows(2).all(|w| w[0] >= w[1]));
        prop_assert!(answer.objective.unwrap() <= plain.weights.iter().sum::<f64>() * (1.0 + 1e-6));
    }

    #[test]
    fn greedy_reaches_its_guarantee((features, weights, d) in float_tokens(), budget in 1usize..6) {
        let n = weights.len().min(12);
        let (features, weights) = (&features[..n * d], &weights[..n]);
        let plain = Plain::from_features(features, weights, d);
        let budget = budget.min(n);
        let best = (0u32..1 << n)
            .filter(|set| set.count_ones() as usize == budget)
            .map(|set| plain.value(&(0..n).filter(|&i| set >> i & 1 == 1).collect::<Vec<_>>()))
            .fold(0.0, f64::max);
        let answer = mico(features, weights, d, budget, PLENTY);
        let b = budget as f64;
        let guarantee = 1.0 - (1.0 - 1.0 / b).powf(b);
        prop_assert!(answer.objective.unwrap() >= guarantee * best - 1e-6 * (1.0 + best));
    }
}

fn clustered(n: usize, d: usize, centers: usize) -> (Vec<f32>, Vec<f32>) {
    let noise = |i: usize| ((i as f32 * 12.9898).sin() * 43758.547).fract();
    let features =
        (0..n * d).map(|k| noise((k / d % centers) * d + k % d) + 0.3 * noise(k * 7 + 1)).collect();
    let weights = (0..n).map(|i| noise(i + 5).abs()).collect();
    (features, weights)
}

#[test]
fn memory_limit_and_threads_do_not_change_the_picks() {
    let (n, d, budget) = (1000, 24, 300);
    let (features, weights) = clustered(n, d, 40);
    let whole = mico(&features, &weights, d, budget, PLENTY);
    let rows = Rows::all(Matrix::from_f32(&features, n, d).unwrap());
    let wide: Vec<f64> = weights.iter().map(|&w| f64::from(w)).collect();
    let dense = mico_select::reference::dense_greedy(&rows, &wide, budget);
    assert_eq!(whole.order, dense.order);
    assert_eq!(whole.gains, dense.gains);
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for memory in [1_700_000, 3_300_000, PLENTY] {
            let answer = pool.install(|| mico(&features, &weights, d, budget, memory));
            assert_eq!(answer.order, whole.order, "{threads} threads, {memory} bytes");
            assert_eq!(answer.gains, whole.gains);
            assert_eq!(answer.objective, whole.objective);
        }
    }
}

#[test]
fn too_little_memory_is_named() {
    let (features, weights) = clustered(1000, 24, 40);
    let inputs = Inputs::new()
        .with(Signal::Features, Matrix::from_f32(&features, 1000, 24).unwrap())
        .with_vector(Signal::Weights, &weights)
        .unwrap();
    let options = Options::default().with_memory(100_000);
    let error = select(&Mico::default(), &inputs, 10, &options).unwrap_err();
    assert!(error.to_string().contains("100000 bytes"), "{error}");
}
