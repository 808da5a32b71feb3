//! Runs on the embedded model: interruptions, threads, and what a summary says.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use std::fs;

use mico_engine::{Engine, EngineOptions};
use mico_eval::{
    CalibrationOptions, Error, Journal, Record, Run, Setting, Split, Suite, Summary, TinySuite,
    calibrate, fingerprint, run,
};

fn engine() -> Engine {
    Engine::open(&mico_tiny::MODEL, &EngineOptions::default()).unwrap().0
}

fn settings() -> Vec<Setting> {
    let pruned = ["mico", "mico-s1", "random"].map(|method| Setting::pruned(method, 32));
    [Setting::Unpruned, Setting::Blank].into_iter().chain(pruned).collect()
}

/// The answers of a run, without times.
fn answers(run: &Run<'_>, journal: &Journal) -> Vec<(String, String)> {
    let keys = run.keys();
    let of = |item, setting| journal.get(&keys.of(item, setting)).cloned();
    let all = run.suite.items().iter().flat_map(|item| {
        run.settings.iter().map(move |setting| of(item, setting).expect("a record"))
    });
    all.map(|record: Record| (record.item, record.answer)).collect()
}

#[test]
fn an_interrupted_run_ends_like_one_that_was_not() {
    let (engine, suite, settings) = (engine(), TinySuite::new(Split::Benchmark, 5, 3), settings());
    let measured = Run { engine: &engine, model: "m", suite: &suite, settings: &settings };
    let whole = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(whole.path(), false).unwrap();
    run(&measured, &mut journal, &|_, _| {}).unwrap();
    let expected = answers(&measured, &journal);

    // Cut the journal in the middle of a line, as a kill would.
    let text = fs::read(whole.path().join("records.jsonl")).unwrap();
    let part = tempfile::tempdir().unwrap();
    fs::write(part.path().join("records.jsonl"), &text[..text.len() / 2 + 7]).unwrap();
    let refused = Journal::open(part.path(), false);
    assert!(matches!(refused, Err(Error::Occupied { .. })), "{refused:?}");
    let mut resumed = Journal::open(part.path(), true).unwrap();
    let first = std::sync::Mutex::new(None);
    run(&measured, &mut resumed, &|done, _| {
        first.lock().unwrap().get_or_insert(done);
    })
    .unwrap();
    let had = first.lock().unwrap().unwrap();
    assert!(had > 0 && had < expected.len(), "{had} records were there");
    assert_eq!(answers(&measured, &resumed), expected);
    let read_back = Journal::open(part.path(), true).unwrap();
    assert_eq!(answers(&measured, &read_back), expected);
    let summary = Summary::new(&measured, &resumed);
    assert_eq!(summary, Summary::new(&measured, &journal));
    assert_eq!(summary.rows.len(), settings.len());
    // Three budgets' worth of pairs would be more; here one budget and three methods.
    assert_eq!(summary.comparisons.len(), 3);
    assert!(summary.markdown().contains("| mico | 32 |"));
}

#[test]
fn threads_change_nothing() {
    let (engine, suite, settings) = (engine(), TinySuite::new(Split::Benchmark, 6, 2), settings());
    let measured = Run { engine: &engine, model: "m", suite: &suite, settings: &settings };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut journal = Journal::in_memory();
        pool.install(|| run(&measured, &mut journal, &|_, _| {})).unwrap();
        answers(&measured, &journal)
    };
    assert_eq!(with(1), with(2));
}

#[test]
fn a_damaged_journal_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("records.jsonl"), "{\"key\": 3}\n").unwrap();
    let message = Journal::open(folder.path(), true).unwrap_err().to_string();
    assert!(message.contains("records.jsonl line 1"), "{message}");
}

#[test]
fn calibration_tries_every_block_and_says_which_cannot_be() {
    let (engine, suite) = (engine(), TinySuite::new(Split::Calibration, 0, 1));
    let options = CalibrationOptions { tokens: 64, layers: vec![5, 3, 1, 3], pool: 2 };
    let found = calibrate(&engine, &suite, &options, &|_, _| {}).unwrap();
    let layers: Vec<_> = found.candidates.iter().filter_map(|each| each.refine_layer).collect();
    assert_eq!(layers, [1, 3]);
    assert_eq!(found.refused.len(), 1);
    assert!(found.refused[0].1.contains("in place of 64"), "{:?}", found.refused);
    assert!(found.candidates.iter().all(|each| (each.layer_average - 64.0).abs() < 0.5));
    assert!(layers.contains(&found.best) && found.items == suite.items().len());
    assert!(found.candidates.iter().all(|each| each.kl >= 0.0));
    assert_eq!(found.stage1_only.delta_kl.value, 0.0);
    assert!(found.svg().contains("<polygon") && found.markdown().contains("Stage 1 alone"));
    assert!(found.ties.contains(&found.best) && found.ties.iter().min() == Some(&found.best));
    for layers in [vec![5, 6], vec![8], vec![0], Vec::new()] {
        let none = CalibrationOptions { layers, ..options.clone() };
        assert!(calibrate(&engine, &suite, &none, &|_, _| panic!("nothing is to be run")).is_err());
    }
    // Keeping everything changes nothing, so the first of all blocks is chosen.
    let whole = CalibrationOptions { tokens: 576, layers: vec![2, 4], pool: 2 };
    let found = calibrate(&engine, &suite, &whole, &|_, _| {}).unwrap();
    assert!(found.candidates.iter().all(|each| each.kl == 0.0));
    assert_eq!((found.best, &found.ties[..]), (2, &[2, 4][..]));
}

#[test]
fn the_same_files_have_the_same_fingerprint_wherever_they_are() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in mico_tiny::MODEL.files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let path = folder.path().to_path_buf();
    let on_disk = fingerprint((&path).into()).unwrap();
    assert_eq!(on_disk, fingerprint((&mico_tiny::MODEL).into()).unwrap());
    fs::write(path.join("config.json"), "{}").unwrap();
    assert_ne!(on_disk, fingerprint((&path).into()).unwrap());
}
