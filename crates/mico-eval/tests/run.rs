//! Runs on the embedded model: interruptions, threads, and what a summary says.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use std::fs;
use std::sync::Mutex;

use mico_engine::{Engine, EngineOptions};
use mico_eval::{
    CalibrationOptions, Error, Journal, Manifest, Run, Setting, Shard, Source, Split, Summary,
    TinySuite, calibrate, fingerprint, merge, run,
};
use mico_video::VideoOptions;

fn engine() -> Engine {
    Engine::open(&mico_tiny::MODEL, &EngineOptions::default()).unwrap().0
}

fn settings() -> Vec<Setting> {
    let pruned = ["mico", "mico-s1", "random"].map(|method| Setting::pruned(method, 32));
    [Setting::Unpruned, Setting::Blank].into_iter().chain(pruned).collect()
}

fn measured<'a>(
    engine: &'a Engine,
    sources: &'a [&'a dyn Source],
    settings: &'a [Setting],
) -> Run<'a> {
    let (video, shard) = (VideoOptions::default(), Shard::default());
    Run { engine, model: "m", sources, settings, shard, video, jobs: None, album: None }
}

fn manifest(run: &Run<'_>) -> Manifest {
    Manifest {
        title: String::new(),
        version: String::new(),
        model: "tiny".into(),
        fingerprint: "f".into(),
        argv: Vec::new(),
        asked: run.asked(),
        settings: run.settings.to_vec(),
        refused: Vec::new(),
        limit: None,
        shard: run.shard,
        finished: true,
        damaged: Vec::new(),
    }
}

/// The answers of a run, without times.
fn answers(journal: &Journal) -> Vec<(String, String, String)> {
    let all = journal.records().into_iter();
    all.map(|record| (record.item, record.setting, record.answer)).collect()
}

/// A summary without the times of its rows.
fn summary(run: &Run<'_>, journal: &Journal) -> Summary {
    let mut summary = Summary::new(&manifest(run), journal).unwrap();
    summary.rows.iter_mut().for_each(|row| row.seconds = 0.0);
    summary
}

#[test]
fn an_interrupted_run_ends_like_one_that_was_not() {
    let (engine, suite, settings) = (engine(), TinySuite::new(Split::Benchmark, 5, 3), settings());
    let sources: [&dyn Source; 1] = [&suite];
    let measured = measured(&engine, &sources, &settings);
    let whole = tempfile::tempdir().unwrap();
    let journal = Journal::open(whole.path(), false).unwrap();
    let told = Mutex::new((0, None));
    run(&measured, &journal, &|done, total| *told.lock().unwrap() = (done, total)).unwrap();
    assert_eq!(*told.lock().unwrap(), (135, Some(135)));
    let expected = answers(&journal);
    assert_eq!(expected.len(), 3 * 9 * 5);
    let busy = Journal::open(whole.path(), true);
    assert!(matches!(busy, Err(Error::Busy { .. })), "{busy:?}");

    // Cut the journal in the middle of a line, as a kill would.
    let text = fs::read(whole.path().join("records.jsonl")).unwrap();
    let part = tempfile::tempdir().unwrap();
    fs::write(part.path().join("records.jsonl"), &text[..text.len() / 2 + 7]).unwrap();
    let refused = Journal::open(part.path(), false);
    assert!(matches!(refused, Err(Error::Occupied { .. })), "{refused:?}");
    let resumed = Journal::open(part.path(), true).unwrap();
    let had = resumed.len();
    assert!(had > 0 && had < expected.len(), "{had} records were there");
    run(&measured, &resumed, &|_, _| {}).unwrap();
    assert_eq!(answers(&resumed), expected);
    assert_eq!(summary(&measured, &resumed), summary(&measured, &journal));
    drop(resumed);
    let read_back = Journal::open(part.path(), true).unwrap();
    assert_eq!(answers(&read_back), expected);
    let summary = summary(&measured, &read_back);
    assert_eq!(summary.rows.len(), settings.len());
    // Three budgets' worth of pairs would be more; here one budget and three methods.
    assert_eq!(summary.comparisons.len(), 3);
    assert!(summary.markdown("").contains("| mico | 32 |"));
}

#[test]
fn threads_change_nothing() {
    let (engine, suite, settings) = (engine(), TinySuite::new(Split::Benchmark, 6, 2), settings());
    let sources: [&dyn Source; 1] = [&suite];
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let journal = Journal::in_memory();
        let measured = measured(&engine, &sources, &settings);
        pool.install(|| run(&measured, &journal, &|_, _| {})).unwrap();
        (answers(&journal), pool.install(|| summary(&measured, &journal)))
    };
    assert_eq!(with(1), with(2));
}

#[test]
fn parts_put_together_are_the_whole() {
    let (engine, suite) = (engine(), TinySuite::new(Split::Benchmark, 7, 3));
    let settings = [Setting::Unpruned, Setting::pruned("mico", 32)];
    let sources: [&dyn Source; 1] = [&suite];
    let measured = measured(&engine, &sources, &settings);
    let whole = Journal::in_memory();
    run(&measured, &whole, &|_, _| {}).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let parts = ["1/2", "2/2"].map(|part| {
        let place = folder.path().join(part.replace('/', "-"));
        let journal = Journal::open(&place, false).unwrap();
        let part = Run { shard: part.parse().unwrap(), ..measured };
        run(&part, &journal, &|_, _| {}).unwrap();
        assert!(!journal.is_empty() && journal.len() < whole.len());
        let text = serde_json::to_vec(&manifest(&part)).unwrap();
        fs::write(place.join("run.json"), text).unwrap();
        place
    });
    let merged = Journal::in_memory();
    let found = merge(&parts, &merged, false).unwrap();
    assert!(found.shard.is_whole());
    assert_eq!(answers(&merged), answers(&whole));
    assert_eq!(summary(&measured, &merged), summary(&measured, &whole));
    // One part is not the whole, and parts of different runs are no run.
    let message = merge(&parts[..1], &Journal::in_memory(), false).unwrap_err().to_string();
    assert!(message.contains("part 2/2"), "{message}");
    assert!(!merge(&parts[..1], &Journal::in_memory(), true).unwrap().finished);
    let mut other = Manifest::read(&parts[1]).unwrap();
    other.fingerprint = "another".into();
    fs::write(parts[1].join("run.json"), serde_json::to_vec(&other).unwrap()).unwrap();
    let message = merge(&parts, &Journal::in_memory(), false).unwrap_err().to_string();
    assert!(message.contains("model"), "{message}");
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
    let sources: [&dyn Source; 1] = [&suite];
    let run = measured(&engine, &sources, &[]);
    let layers = vec![5, 3, 1, 3];
    let options = CalibrationOptions { tokens: 64, layers, pool: 2, sample: None, seed: 0 };
    let found = calibrate(&run, &options, &|_, _| {}).unwrap();
    let layers: Vec<_> = found.candidates.iter().filter_map(|each| each.refine_layer).collect();
    assert_eq!(layers, [1, 3]);
    assert_eq!(found.refused.len(), 1);
    assert!(found.refused[0].1.contains("in place of 64"), "{:?}", found.refused);
    assert!(found.candidates.iter().all(|each| (each.layer_average - 64.0).abs() < 0.5));
    assert!(layers.contains(&found.best) && Some(found.items) == suite.expected());
    assert!(found.candidates.iter().all(|each| each.kl >= 0.0));
    assert_eq!(found.stage1_only.delta_kl.value, 0.0);
    assert!(
        found.drawing().svg().contains("<polygon") && found.markdown().contains("Stage 1 alone")
    );
    assert!(found.ties.contains(&found.best) && found.ties.iter().min() == Some(&found.best));
    for layers in [vec![5, 6], vec![8], vec![0], Vec::new()] {
        let none = CalibrationOptions { layers, ..options.clone() };
        assert!(calibrate(&run, &none, &|_, _| panic!("nothing is to be run")).is_err());
    }
    // Keeping everything changes nothing, so the first of all blocks is chosen.
    let whole = CalibrationOptions { tokens: 576, layers: vec![2, 4], sample: Some(1), ..options };
    let found = calibrate(&run, &whole, &|_, _| {}).unwrap();
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
