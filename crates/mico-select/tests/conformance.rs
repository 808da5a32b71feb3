//! One suite over every method: counts, order, determinism, degenerate inputs.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use mico_select::methods::{selector_by_name, selectors};
use mico_select::{Inputs, Matrix, Options, Remainder, Selection, Settings, Signal, select};

/// Every signal there is, for `n` tokens.
struct Case {
    n: usize,
    signals: Vec<(Signal, Vec<f32>, usize)>,
    groups: Option<Vec<i64>>,
}

const TEXT: usize = 5;
const WIDTH: usize = 12;

fn noise(seed: usize, i: usize) -> f32 {
    (((i + seed * 7919) as f32 * 12.9898).sin() * 43758.547).fract()
}

impl Case {
    /// Features of some kind, everything else ordinary.
    fn new(n: usize, feature: impl Fn(usize, usize) -> f32) -> Self {
        let rows = |seed: usize, rows: usize, cols: usize| -> Vec<f32> {
            (0..rows * cols).map(|i| noise(seed, i)).collect()
        };
        let attention = |seed: usize, len: usize| -> Vec<f32> {
            (0..len).map(|i| noise(seed, i).abs() + 0.01).collect()
        };
        let features: Vec<f32> = (0..n * WIDTH).map(|k| feature(k / WIDTH, k % WIDTH)).collect();
        let signals = vec![
            (Signal::Features, features.clone(), n),
            (Signal::Reliability, attention(1, n), n),
            (Signal::Relevance, attention(2, n), n),
            (Signal::Projected, features.clone(), n),
            (Signal::Text, rows(3, TEXT, WIDTH), TEXT),
            (Signal::Keys, features.clone(), n),
            (Signal::TextKeys, rows(4, TEXT, WIDTH), TEXT),
            (Signal::ReliabilityShallow, attention(5, n), n),
            (Signal::ClipImage, features, n),
            (Signal::ClipText, rows(6, TEXT, WIDTH), TEXT),
            (Signal::TextAttention, attention(7, TEXT * n), TEXT),
        ];
        Self { n, signals, groups: None }
    }

    fn grouped(mut self, groups: usize) -> Self {
        self.groups =
            Some((0..self.n).map(|i| i64::try_from(i * groups / self.n).unwrap()).collect());
        self
    }

    fn inputs(&self) -> Inputs<'_> {
        let mut inputs = Inputs::new();
        for (signal, values, rows) in &self.signals {
            let cols = values.len() / rows;
            inputs = inputs.with(*signal, Matrix::from_f32(values, *rows, cols).unwrap());
        }
        match &self.groups {
            Some(groups) => inputs.with_groups(groups),
            None => inputs,
        }
    }

    fn run(&self, method: &str, budget: usize) -> Selection {
        let selector = selector_by_name(method, Settings::default()).unwrap();
        select(&*selector, &self.inputs(), budget, &Options::default())
            .unwrap_or_else(|error| panic!("{method}, n={}, B={budget}: {error}", self.n))
    }
}

fn ordinary(n: usize) -> Case {
    Case::new(n, |i, j| noise(0, i * WIDTH + j) + noise(9, i % 6 * WIDTH + j))
}

/// How many tokens a method keeps of `n` at budget `B` in one group.
fn expected_count(method: &str, n: usize, budget: usize) -> std::ops::RangeInclusive<usize> {
    if budget >= n {
        return n..=n;
    }
    match method {
        // The centres of the merged clusters come on top.
        "sparsevlm" => {
            let merged = (n - budget) * 3 / 10 + 1;
            let count = budget + merged / 10 + 1;
            count..=count
        }
        // Quota a short run cannot use becomes zero vectors without a position.
        "holov" => 1..=budget,
        // Half the budget is spread evenly over the windows.
        "vscan" => {
            let windows = (n.isqrt() / 6).max(1).pow(2);
            let count = budget / 2 / windows * windows + budget - budget / 2;
            count..=count
        }
        _ => budget..=budget,
    }
}

fn check(case: &Case, method: &str, budget: usize, answer: &Selection) {
    let at = format!("{method}, n={}, B={budget}", case.n);
    assert!(answer.kept.windows(2).all(|w| w[0] < w[1]), "{at}: kept not ascending and unique");
    assert!(answer.kept.iter().all(|&i| i < case.n), "{at}: index out of range");
    let mut order = answer.order.clone();
    order.sort_unstable();
    assert_eq!(order, answer.kept, "{at}: order and kept differ");
    for merge in &answer.merges {
        assert!(answer.kept.contains(&merge.target), "{at}: merged into a dropped token");
        assert!(merge.sources.windows(2).all(|w| w[0] < w[1]), "{at}: sources not ascending");
        assert!(!merge.sources.contains(&merge.target), "{at}: merged into itself");
        assert_eq!(merge.sources.len(), merge.shares.len());
    }
    if case.groups.is_none() {
        let count = expected_count(method, case.n, budget);
        assert!(count.contains(&answer.kept.len()), "{at}: kept {}", answer.kept.len());
    }
}

fn cases() -> Vec<Case> {
    vec![
        ordinary(1),
        ordinary(4),
        ordinary(49),
        ordinary(144),
        Case::new(64, |_, j| noise(1, j)), // all alike
        Case::new(64, |i, j| noise(1, i % 7 * WIDTH + j)), // repeated
        Case::new(64, |_, _| 0.0),         // all zero
        Case::new(64, |i, j| if i % 3 == 0 { 0.0 } else { noise(2, i * WIDTH + j) }),
        Case::new(36, |i, j| if i == j { 1.0 } else { 0.0 }), // mostly orthogonal
        Case::new(36, |i, j| noise(3, i * WIDTH + j) * 1e30), // huge
        Case::new(36, |i, j| noise(3, i * WIDTH + j) * 1e-30), // tiny
    ]
}

#[test]
fn counts_and_order() {
    for case in cases() {
        for method in selectors() {
            for budget in [1, 2, case.n / 4, case.n / 2, case.n - 1, case.n, case.n + 9] {
                if budget > 0 {
                    check(&case, method.name, budget, &case.run(method.name, budget));
                }
            }
        }
    }
}

#[test]
fn groups_run_alone() {
    for groups in [1, 2, 3] {
        let case = ordinary(36 * groups).grouped(groups);
        for method in selectors() {
            let budget = 12 * groups + groups - 1;
            let answer = case.run(method.name, budget);
            check(&case, method.name, budget, &answer);
            let counts = expected_count(method.name, 36, 12);
            for g in 0..groups {
                let inside = answer.kept.iter().filter(|&&i| i / 36 == g).count();
                assert!(counts.contains(&inside), "{}: {inside} of group {g}", method.name);
            }
            assert!(case.run(method.name, case.n).kept.len() == case.n);
        }
    }
}

#[test]
fn a_remainder_goes_to_the_first_groups() {
    let case = ordinary(108).grouped(3);
    for method in ["mico", "fastv", "divprune", "random"] {
        let selector = selector_by_name(method, Settings::default()).unwrap();
        let options = Options::default().with_remainder(Remainder::First);
        let answer = select(&*selector, &case.inputs(), 38, &options).unwrap();
        let inside = |g: usize| answer.kept.iter().filter(|&&i| i / 36 == g).count();
        assert_eq!([inside(0), inside(1), inside(2)], [13, 13, 12], "{method}");
    }
}

#[test]
fn the_same_answer_on_every_run_and_thread_count() {
    for case in [ordinary(144), ordinary(108).grouped(3)] {
        for method in selectors() {
            let strip = |mut s: Selection| {
                s.seconds = mico_select::Seconds::default();
                s
            };
            let first = strip(case.run(method.name, 40));
            for threads in [1, 2, 5] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let again = pool.install(|| strip(case.run(method.name, 40)));
                assert_eq!(first, again, "{} on {threads} threads", method.name);
            }
        }
    }
}

#[test]
fn random_follows_its_seed() {
    let case = ordinary(144).grouped(4);
    let draw = |seed| {
        let selector = selector_by_name("random", Settings::default()).unwrap();
        let options = Options::default().with_seed(seed);
        select(&*selector, &case.inputs(), 40, &options).unwrap().order
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    let per_group = |g: usize| -> Vec<usize> {
        draw(1).into_iter().filter(|i| i / 36 == g).map(|i| i % 36).collect()
    };
    assert_ne!(per_group(0), per_group(1), "groups must not repeat each other's draw");
}

#[test]
fn bad_inputs_are_named() {
    let good = ordinary(16);
    for method in selectors() {
        let selector = selector_by_name(method.name, Settings::default()).unwrap();
        let read = selector.reads(good.inputs().present()).unwrap();
        for signal in read.iter() {
            let mut bad = ordinary(16);
            let slot = bad.signals.iter_mut().find(|(t, ..)| *t == signal).unwrap();
            slot.1[3] = f32::NAN;
            let error = select(&*selector, &bad.inputs(), 4, &Options::default()).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains(signal.name()) && text.contains("NaN"),
                "{}: {text}",
                method.name
            );
        }
        let error = select(&*selector, &good.inputs(), 0, &Options::default()).unwrap_err();
        assert!(error.to_string().contains("budget"), "{error}");
        let error = select(&*selector, &Inputs::new(), 4, &Options::default()).unwrap_err();
        assert!(error.to_string().contains("missing tensor"), "{}: {error}", method.name);
        let unknown = Settings::new([("no-such".to_string(), "1".to_string())]);
        let error = selector_by_name(method.name, unknown).err().unwrap();
        assert!(error.to_string().contains("no-such"), "{error}");
    }
    let error = selector_by_name("nosuch", Settings::default()).err().unwrap().to_string();
    assert!(selectors().all(|method| error.contains(method.name)), "{error}");
}

#[test]
fn settings_out_of_range_are_named() {
    for (method, key, value) in [
        ("vispruner", "ratio", "1.5"),
        ("vispruner", "ratio", "half"),
        ("holov", "runs", "0"),
        ("mmtok", "tau_v", "0"),
        ("mmtok", "alpha", "NaN"),
        ("apet", "basis", "-1"),
        ("mico", "coverage", "cosine"),
    ] {
        let settings = Settings::new([(key.to_string(), value.to_string())]);
        let text = selector_by_name(method, settings).err().unwrap().to_string();
        assert!(text.contains(key) && text.contains(value) && text.contains("accepted"), "{text}");
    }
    let case = ordinary(16);
    for (method, key, value) in [("visionzip", "contextual", "9"), ("apet", "start", "16")] {
        let settings = Settings::new([(key.to_string(), value.to_string())]);
        let selector = selector_by_name(method, settings).unwrap();
        let text = select(&*selector, &case.inputs(), 4, &Options::default()).unwrap_err();
        assert!(text.to_string().contains(value), "{text}");
    }
}

#[test]
fn negative_weights_and_wrong_shapes_are_named() {
    for signal in [Signal::Reliability, Signal::Relevance] {
        let mut bad = ordinary(16);
        bad.signals.iter_mut().find(|(t, ..)| *t == signal).unwrap().1[2] = -0.5;
        let selector = selector_by_name("mico", Settings::default()).unwrap();
        let text = select(&*selector, &bad.inputs(), 4, &Options::default()).unwrap_err();
        assert!(text.to_string().contains("-0.5 at [2]"), "{text}");
    }
    let mut short = ordinary(16);
    let slot = short.signals.iter_mut().find(|(t, ..)| *t == Signal::Reliability).unwrap();
    slot.1.truncate(15);
    slot.2 = 15;
    let selector = selector_by_name("mico", Settings::default()).unwrap();
    let text = select(&*selector, &short.inputs(), 4, &Options::default()).unwrap_err();
    assert!(text.to_string().contains("shape [15], expected [16]"), "{text}");
}
