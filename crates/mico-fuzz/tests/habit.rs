//! Every target on all its seeds and on some thousand mutations, the same ones every time.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use std::sync::{Mutex, PoisonError};

use mico_fuzz::campaign::Campaign;
use mico_fuzz::{TARGETS, Target, seeds};

/// What decides the mutations.
const SEED: u64 = 20_261_118;
/// One target at a time, so that the memory that is measured is that of one input.
static ALONE: Mutex<()> = Mutex::new(());

fn habit(name: &str) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let target = Target::find(name).unwrap();
    let mut campaign = Campaign::new(target, SEED).unwrap();
    for (name, seed) in seeds::read(target.name).unwrap() {
        if let Err(finding) = campaign.attempt(&seed) {
            panic!("seed {name}: {}", finding.what);
        }
    }
    for number in 0..target.short_run {
        let input = campaign.next_input();
        if let Err(finding) = campaign.attempt(&input) {
            let place = std::env::temp_dir().join(format!("mico-fuzz-{}-{number}", target.name));
            std::fs::write(&place, &finding.input).unwrap();
            panic!("mutation {number}, saved as {}: {}", place.display(), finding.what);
        }
    }
    // A target whose every input ends at the first check tries nothing.
    let shapes: Vec<&str> = campaign.seen().shapes().collect();
    assert!(shapes.len() > 10, "{shapes:?}");
    assert!(shapes.iter().any(|shape| shape.starts_with("accepted")), "{shapes:?}");
    assert!(shapes.iter().any(|shape| shape.starts_with("refused")), "{shapes:?}");
}

macro_rules! habits {
    ($($name:ident),*) => {
        $(#[test] fn $name() { habit(stringify!($name)); })*
        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

habits!(
    image,
    video,
    safetensors,
    config,
    preprocessor,
    tokenizer,
    template,
    tables,
    journal,
    select,
    setting,
    score,
    diagnose
);

#[test]
fn every_target_is_tried() {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names, TESTED);
}

#[test]
fn seeds_are_few_and_small() {
    let mut total = 0;
    for target in TARGETS {
        let seeds = seeds::read(target.name).unwrap();
        assert!(!seeds.is_empty(), "{}", target.name);
        total += seeds.iter().map(|(_, seed)| seed.len()).sum::<usize>();
    }
    assert!(total < 2_000_000, "{total} bytes");
}
