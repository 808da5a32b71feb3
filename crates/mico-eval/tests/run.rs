//! Runs on the embedded model: interruptions, threads, and what a summary says.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;

use mico_engine::{Engine, EngineOptions, ErrorKind, Setting};
use mico_eval::{
    CalibrationOptions, Condition, Conditions, Error, Evaluation, EvaluationOptions,
    EvaluationResult, FileError, Journal, Manifest, ModelIdentity, Run, Shard, Source, Split,
    Summary, Tasks, TinySuite, calibrate, fingerprint, merge,
};
use mico_video::VideoOptions;

fn engine() -> Engine {
    Engine::open(&mico_tiny::MODEL, &EngineOptions::default()).unwrap().0
}

fn conditions() -> Vec<Condition> {
    let base = Setting::default();
    let pruned = ["mico", "mico-s1", "random"].map(|name| Condition::pruned(name, 32).unwrap());
    [Condition::unpruned(&base), Condition::blank(&base)].into_iter().chain(pruned).collect()
}

fn options(seed: u64, limit: usize, conditions: Vec<Condition>) -> EvaluationOptions {
    let tasks = Tasks::tiny(Split::Benchmark, seed, limit);
    EvaluationOptions::new(tasks, Setting::default(), Conditions::Explicit(conditions))
}

/// The same with its records in a folder.
fn kept(options: &EvaluationOptions, folder: &Path, resume: bool) -> EvaluationOptions {
    let mut options = options.clone();
    (options.out, options.resume) = (Some(folder.to_owned()), resume);
    options
}

fn evaluate(engine: &Engine, options: EvaluationOptions) -> EvaluationResult {
    let identity = ModelIdentity::new("tiny", (&mico_tiny::MODEL).into(), "", engine).unwrap();
    Evaluation::open(options)
        .unwrap()
        .run(engine, &identity, &|_, _| ControlFlow::Continue(()))
        .unwrap()
}

/// The answers of a run, without times.
fn answers(journal: &Journal) -> Vec<(String, String, String)> {
    let all = journal.records().into_iter();
    all.map(|record| (record.item, record.setting, record.answer)).collect()
}

/// A summary without the times of its rows.
fn timeless(mut summary: Summary) -> Summary {
    summary.rows.iter_mut().for_each(|row| row.seconds = 0.0);
    summary
}

#[test]
fn an_interrupted_run_ends_like_one_that_was_not() {
    let (engine, options) = (engine(), options(5, 3, conditions()));
    let whole = tempfile::tempdir().unwrap();
    let told = Mutex::new((0, None));
    let identity = ModelIdentity::new("tiny", (&mico_tiny::MODEL).into(), "", &engine).unwrap();
    let opened = Evaluation::open(kept(&options, whole.path(), false)).unwrap();
    let tell = |done, total| {
        *told.lock().unwrap() = (done, total);
        ControlFlow::Continue(())
    };
    let finished = opened.run(&engine, &identity, &tell).unwrap();
    assert_eq!(*told.lock().unwrap(), (135, Some(135)));
    assert!(finished.manifest.finished && finished.manifest.refused.is_empty());
    assert_eq!(finished.manifest, Manifest::read(whole.path()).unwrap());
    let expected = answers(&finished.journal);
    assert_eq!(expected.len(), 3 * 9 * 5);
    let busy = Journal::open(whole.path(), true);
    assert!(matches!(busy, Err(Error::File(FileError::Busy { .. }))), "{busy:?}");

    // Cut the journal in the middle of a line, as a kill would.
    let text = fs::read(whole.path().join("records.jsonl")).unwrap();
    let part = tempfile::tempdir().unwrap();
    fs::write(part.path().join("records.jsonl"), &text[..text.len() / 2 + 7]).unwrap();
    let refused = Evaluation::open(kept(&options, part.path(), false));
    assert!(matches!(refused, Err(Error::File(FileError::Occupied { .. }))), "{refused:?}");
    let had = Journal::open(part.path(), true).unwrap().len();
    assert!(had > 0 && had < expected.len(), "{had} records were there");
    let resumed = evaluate(&engine, kept(&options, part.path(), true));
    assert_eq!(answers(&resumed.journal), expected);
    assert_eq!(timeless(resumed.summary), timeless(finished.summary));
    drop(resumed.journal);
    let read_back = Journal::open(part.path(), true).unwrap();
    assert_eq!(answers(&read_back), expected);
    let summary = Summary::new(&Manifest::read(part.path()).unwrap(), &read_back).unwrap();
    assert_eq!(summary.rows.len(), conditions().len());
    // Three budgets' worth of pairs would be more; here one budget and three methods.
    assert_eq!(summary.comparisons.len(), 3);
    assert!(summary.markdown("").contains("| mico | 32 |"));
}

#[test]
fn a_stopped_run_keeps_its_answers_and_goes_on() {
    let (engine, options) = (engine(), options(7, 1, conditions()));
    let expected = evaluate(&engine, options.clone());
    let identity = ModelIdentity::new("tiny", (&mico_tiny::MODEL).into(), "", &engine).unwrap();
    let folder = tempfile::tempdir().unwrap();
    // Stopped at once, then in the middle: between answers or inside one, as it happens.
    for most in [0, 12] {
        let calls = Mutex::new(0);
        let stop = |done: usize, _: Option<usize>| {
            *calls.lock().unwrap() += 1;
            if done >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let opened = Evaluation::open(kept(&options, folder.path(), most > 0)).unwrap();
        let error = opened.run(&engine, &identity, &stop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        // The engine's own steps ask, too, so that nobody waits for a whole answer.
        assert!(most == 0 || *calls.lock().unwrap() > 2 * most, "{:?}", calls.lock().unwrap());
    }
    assert!(!Manifest::read(folder.path()).unwrap().finished);
    let had = Journal::open(folder.path(), true).unwrap().len();
    assert!((1..expected.journal.len()).contains(&had), "{had} records were there");
    let resumed = evaluate(&engine, kept(&options, folder.path(), true));
    assert_eq!(answers(&resumed.journal), answers(&expected.journal));
    assert_eq!(timeless(resumed.summary), timeless(expected.summary));
}

#[test]
fn threads_change_nothing() {
    let with = |threads: usize| {
        let engine = engine().with_threads(threads).unwrap();
        let done = evaluate(&engine, options(6, 2, conditions()));
        (answers(&done.journal), timeless(done.summary))
    };
    assert_eq!(with(1), with(2));
}

#[test]
fn parts_put_together_are_the_whole() {
    let engine = engine();
    let compared =
        vec![Condition::unpruned(&Setting::default()), Condition::pruned("mico", 32).unwrap()];
    let options = options(7, 3, compared);
    let whole = evaluate(&engine, options.clone());
    let folder = tempfile::tempdir().unwrap();
    let parts = ["1/2", "2/2"].map(|part| {
        let place = folder.path().join(part.replace('/', "-"));
        let mut options = kept(&options, &place, false);
        options.shard = part.parse().unwrap();
        let done = evaluate(&engine, options).journal;
        assert!(!done.is_empty() && done.len() < whole.journal.len());
        place
    });
    let merged = EvaluationResult::merged(&parts, false).unwrap();
    assert!(merged.manifest.shard.is_whole());
    assert_eq!(answers(&merged.journal), answers(&whole.journal));
    assert_eq!(timeless(merged.summary.clone()), timeless(whole.summary));
    // What was put together is a run like any other, and is not written over one.
    let place = folder.path().join("whole");
    merged.write_whole(&parts, &place).unwrap();
    assert_eq!(answers(&Journal::read(&place).unwrap()), answers(&merged.journal));
    let message = merged.write_whole(&parts, &place).unwrap_err().to_string();
    assert!(message.contains("holds a run"), "{message}");
    // One part is not the whole, and parts of different runs are no run.
    let message = merge(&parts[..1], &Journal::in_memory(), false).unwrap_err().to_string();
    assert!(message.contains("part 2/2"), "{message}");
    assert!(!merge(&parts[..1], &Journal::in_memory(), true).unwrap().finished);
    let mut other = Manifest::read(&parts[1]).unwrap();
    other.fingerprint = "another".into();
    other.write(&parts[1]).unwrap();
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
    let base = Setting::default();
    let run = Run {
        engine: &engine,
        model: "m",
        sources: &sources,
        base: &base,
        settings: &[],
        shard: Shard::default(),
        video: VideoOptions::default(),
        jobs: None,
        overlays: None,
    };
    let layers = vec![5, 3, 1, 3];
    let options = CalibrationOptions { tokens: 64, layers, pool: 2, sample: None, seed: 0 };
    let found = calibrate(&run, &options, &|_, _| ControlFlow::Continue(())).unwrap();
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
    let found = calibrate(&run, &whole, &|_, _| ControlFlow::Continue(())).unwrap();
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
