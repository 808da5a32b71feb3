//! Every proxy variant of the ablations, against values worked out by hand.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use mico_select::methods::selector_by_name;
use mico_select::{Inputs, Matrix, Options, Selection, Settings, Signal, select};

/// Five tokens of width 2, with everything a proxy may read.
struct Fixture;

const FEATURES: [f32; 10] = [3.0, 0.0, 0.0, 1.0, 2.0, 2.0, -1.0, 0.0, 0.0, 0.5];
const RELIABILITY: [f32; 5] = [0.1, 0.2, 0.3, 0.3, 0.1];
const RELEVANCE: [f32; 5] = [0.05, 0.4, 0.05, 0.4, 0.1];
const TEXT: [f32; 4] = [0.0, 2.0, 0.0, -1.0];
const TEXT_UP: [f32; 4] = [0.0, 2.0, 0.0, 1.0];
const ATTENTION: [f32; 10] = [0.6, 0.1, 0.1, 0.1, 0.1, 0.0, 0.2, 0.1, 0.3, 0.4];

impl Fixture {
    fn run(set: &[(&str, &str)], signals: &[Signal], budget: usize) -> Selection {
        let mut inputs =
            Inputs::new().with(Signal::Features, Matrix::from_f32(&FEATURES, 5, 2).unwrap());
        for &signal in signals {
            inputs = match signal {
                Signal::Reliability => inputs.with_vector(signal, &RELIABILITY).unwrap(),
                Signal::Relevance => inputs.with_vector(signal, &RELEVANCE).unwrap(),
                Signal::Text => inputs.with(signal, Matrix::from_f32(&TEXT_UP, 2, 2).unwrap()),
                Signal::TextAttention => {
                    inputs.with(signal, Matrix::from_f32(&ATTENTION, 2, 5).unwrap())
                }
                _ => unreachable!(),
            };
        }
        let pairs = set.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        let selector = selector_by_name("mico", Settings::new(pairs)).unwrap();
        select(&*selector, &inputs, budget, &Options::default()).unwrap()
    }

    /// The tokens by falling weight: coverage off.
    fn ranking(set: &[(&str, &str)], signals: &[Signal]) -> Vec<usize> {
        let mut set = set.to_vec();
        set.push(("coverage", "off"));
        Self::run(&set, signals, 4).order
    }
}

#[test]
fn information() {
    // Norms 3, 1, 2.83, 1, 0.5.
    assert_eq!(Fixture::ranking(&[], &[]), [0, 2, 1, 3]);
    assert_eq!(Fixture::ranking(&[("information", "one")], &[]), [0, 1, 2, 3]);
    // Softmax entropy: flat (2,2) first, then the closest pairs.
    assert_eq!(Fixture::ranking(&[("information", "entropy")], &[]), [2, 4, 1, 3]);
    // Energy entropy: only (2,2) spreads its energy.
    assert_eq!(Fixture::ranking(&[("information", "energy-entropy")], &[]), [2, 0, 1, 3]);
}

#[test]
fn reliability() {
    let one = ("information", "one");
    let given = [Signal::Reliability];
    assert_eq!(Fixture::ranking(&[one], &given), [2, 3, 1, 0]);
    assert_eq!(Fixture::ranking(&[one, ("reliability", "attention")], &given), [2, 3, 1, 0]);
    assert_eq!(Fixture::ranking(&[one, ("reliability", "one")], &given), [0, 1, 2, 3]);
    // The mean is (0.8, 0.7): (2,2) is nearest, then (3,0), then the upright ones.
    let set = [one, ("reliability", "global-similarity")];
    assert_eq!(Fixture::ranking(&set, &given), [2, 0, 1, 4]);
}

#[test]
fn relevance() {
    let one = ("information", "one");
    let rank =
        |value: &str, signals: &[Signal]| Fixture::ranking(&[one, ("relevance", value)], signals);
    assert_eq!(rank("auto", &[Signal::Relevance]), [1, 3, 4, 0]);
    assert_eq!(rank("attention", &[Signal::Relevance]), [1, 3, 4, 0]);
    // Column means 0.3, 0.15, 0.1, 0.2, 0.25; last row 0, 0.2, 0.1, 0.3, 0.4.
    assert_eq!(rank("attention", &[Signal::TextAttention]), [0, 4, 3, 1]);
    assert_eq!(rank("last-token", &[Signal::TextAttention]), [4, 3, 1, 2]);
    assert_eq!(rank("one", &[Signal::Relevance]), [0, 1, 2, 3]);
    // The text points up: upright tokens first; the complement turns it round.
    assert_eq!(rank("text-similarity", &[Signal::Text]), [1, 4, 2, 0]);
    assert_eq!(rank("inverse-text-similarity", &[Signal::Text]), [0, 3, 2, 1]);
}

#[test]
fn coverage() {
    // Weight times similarity to the mean (0.8, 0.7).
    let order = Fixture::run(&[("coverage", "visual-mean")], &[], 5).order;
    assert_eq!(order, [2, 0, 1, 4, 3]);
    // The objective proper: (2,2) speaks for everything that points right or up.
    assert_eq!(Fixture::run(&[], &[], 5).order[0], 2);
    let all_off = [("information", "one"), ("coverage", "off")];
    assert_eq!(Fixture::run(&all_off, &[], 3).order, [0, 1, 2], "equal scores: index order");
}

#[test]
fn missing_signals_are_named() {
    let features = Matrix::from_f32(&FEATURES, 5, 2).unwrap();
    let wide = Matrix::from_f32(&TEXT, 1, 4).unwrap();
    for (set, extra, word) in [
        (("reliability", "attention"), None, "reliability"),
        (("relevance", "attention"), None, "relevance"),
        (("relevance", "last-token"), None, "text_attention"),
        (("relevance", "text-similarity"), None, "text"),
        (("relevance", "text-similarity"), Some(wide), "width"),
    ] {
        let mut inputs = Inputs::new().with(Signal::Features, features);
        if let Some(text) = extra {
            inputs = inputs.with(Signal::Text, text);
        }
        let pair = (set.0.to_string(), set.1.to_string());
        let selector = selector_by_name("mico", Settings::new([pair])).unwrap();
        let error = select(&*selector, &inputs, 2, &Options::default()).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
}
