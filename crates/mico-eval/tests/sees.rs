//! The embedded model answers questions about pictures it was never shown.

use mico_engine::pruner::Pruning;
use mico_engine::{Engine, EngineOptions, ImageInput, Prompt, Request, Setting};
use mico_eval::{
    Condition, Conditions, Evaluation, EvaluationOptions, ModelIdentity, Split, Tasks, TinySuite,
};
use mico_select::schedule::Budget;
use std::ops::ControlFlow;

/// Items per track; the published numbers come from many more.
const ITEMS: usize = 16;

#[test]
fn it_is_the_picture_that_answers() {
    let (engine, report) = Engine::open(&mico_tiny::MODEL, &EngineOptions::default()).unwrap();
    assert!(report.unexpected.is_empty());
    let base = Setting::default();
    let compared = Conditions::Explicit(vec![Condition::unpruned(&base), Condition::blank(&base)]);
    let tasks = Tasks::tiny(Split::Benchmark, 1, ITEMS);
    let evaluation = Evaluation::open(EvaluationOptions::new(tasks, base, compared)).unwrap();
    let identity = ModelIdentity::new("tiny", (&mico_tiny::MODEL).into(), "", &engine).unwrap();
    let summary =
        evaluation.run(&engine, &identity, &|_, _| ControlFlow::Continue(())).unwrap().summary;
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
        request = request.with(Pruning::mico(Budget::Tokens(tokens)));
        let usage = engine.run(&request, &mut ()).unwrap().usage;
        assert_eq!(usage.visual_tokens_entered, 2 * tokens);
        assert!((usage.layer_average - tokens as f64).abs() < 0.5, "{}", usage.layer_average);
    }
}
