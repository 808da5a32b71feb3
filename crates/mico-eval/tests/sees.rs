//! The embedded model answers questions about pictures it was never shown.

use mico_engine::pruner::Pruning;
use mico_engine::{Engine, EngineOptions, ImageInput, Prompt, Request};
use mico_eval::{Journal, Manifest, Run, Setting, Shard, Source, Split, Summary, TinySuite, run};
use mico_select::schedule::Budget;

/// Items per track; the published numbers come from many more.
const ITEMS: usize = 16;

#[test]
fn it_is_the_picture_that_answers() {
    let (engine, report) = Engine::open(&mico_tiny::MODEL, &EngineOptions::default()).unwrap();
    assert!(report.unexpected.is_empty());
    let suite = TinySuite::new(Split::Benchmark, 1, ITEMS);
    let settings = [Setting::Unpruned, Setting::Blank];
    let sources: [&dyn Source; 1] = [&suite];
    let measured = Run {
        engine: &engine,
        model: "tiny",
        sources: &sources,
        settings: &settings,
        shard: Shard::default(),
        video: mico_video::VideoOptions::default(),
        jobs: None,
        album: None,
    };
    let journal = Journal::in_memory();
    run(&measured, &journal, &|_, _| {}).unwrap();
    let manifest = Manifest {
        title: String::new(),
        version: String::new(),
        model: "tiny".into(),
        fingerprint: String::new(),
        argv: Vec::new(),
        asked: measured.asked(),
        settings: settings.to_vec(),
        refused: Vec::new(),
        limit: None,
        shard: Shard::default(),
        finished: true,
        damaged: Vec::new(),
    };
    let summary = Summary::new(&manifest, &journal).unwrap();
    let [unpruned, blank] = &summary.rows[..] else { panic!("two rows") };
    assert!(unpruned.acc.unwrap().value >= 85.0, "{}", summary.markdown(""));
    for (seen, blind) in unpruned.tracks.iter().zip(&blank.tracks) {
        assert!(seen.right > blind.right, "{}: {}", seen.track, summary.markdown(""));
    }
}

#[test]
fn it_is_known_by_its_shape_and_keeps_the_papers_counts() {
    let (engine, _) = Engine::open(&mico_tiny::MODEL, &EngineOptions::default()).unwrap();
    let about = engine.describe();
    assert_eq!((about.preset, about.uncalibrated), (Some("tiny"), false));
    assert_eq!((about.layers, about.tokens_per_view), (8, Some(576)));
    let picture = TinySuite::new(Split::Benchmark, 2, 1).picture(0).unwrap();
    for tokens in [128, 64, 32] {
        let image = ImageInput::Decoded(picture.clone());
        let mut request = Request::new(vec![image], Prompt::question("How many objects?", 1));
        request.pruning = Pruning::mico(Budget::Tokens(tokens));
        let trace = engine.run(&request, &mut ()).unwrap().trace;
        assert_eq!(trace.stage1.unwrap().kept.len(), 2 * tokens);
        assert!((trace.layer_average - tokens as f64).abs() < 0.5, "{}", trace.layer_average);
    }
}
