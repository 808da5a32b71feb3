//! One engine for many: threads of its own, and requests side by side that carry everything that
//! decides their answers.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use std::ops::ControlFlow;
use std::sync::Barrier;

use mico_engine::prompt::{PLAIN, VICUNA};
use mico_engine::pruner::Pruning;
use mico_engine::{
    Engine, EngineOptions, GenerationOptions, ImageInput, ImageLimits, Observe, Outcome, Prompt,
    PromptStyle, Request, Session, SessionOptions, Sink, Step, TurnRequest,
};
use mico_select::Settings;
use mico_select::methods::pruner_by_name;
use mico_select::schedule::Budget;
use support::{Case, folder, logits, weights};

/// Remembers how many threads the work had, at every step.
#[derive(Default)]
struct Threads(Vec<usize>);

impl Sink for Threads {
    fn progress(&mut self, _: Step) -> ControlFlow<()> {
        self.0.push(rayon::current_num_threads());
        ControlFlow::Continue(())
    }
}

fn assert_same(found: &Outcome, expected: &Outcome, what: &str) {
    assert_eq!(logits(found), logits(expected), "{what}");
    assert_eq!(found.answer, expected.answer, "{what}");
    assert_eq!(found.usage, expected.usage, "{what}");
    assert_eq!(found.stage1, expected.stage1, "{what}");
    assert_eq!((&found.cuts, &found.merged), (&expected.cuts, &expected.merged), "{what}");
    assert_eq!(found.cache_lengths, expected.cache_lengths, "{what}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for &name in weights() {
        let case = Case::load(name);
        let requests =
            [case.request(&case.runs("unpruned")[0]), case.request(&case.runs("pruned")[0])];
        let alone = requests.each_ref().map(|request| case.run(request));
        for threads in [1, 2] {
            let options = EngineOptions { threads: Some(threads), ..EngineOptions::default() };
            let (engine, _) = Engine::open(&folder(name), &options).unwrap();
            for (request, expected) in requests.iter().zip(&alone) {
                let mut sink = Threads::default();
                let outcome = engine.run(request, &mut sink).unwrap();
                assert_same(&outcome, expected, &format!("{name} on {threads} threads"));
                assert!(sink.0.len() > 1 && sink.0.iter().all(|&found| found == threads));
            }
        }
    }
}

fn options(
    switches: &str,
    limits: ImageLimits,
    style: Option<PromptStyle>,
    pruning: Pruning,
) -> SessionOptions {
    let mut options = SessionOptions::from(pruning);
    (options.switches, options.limits, options.style) = (switches.parse().unwrap(), limits, style);
    options
}

fn method(name: &str, budget: usize) -> Pruning {
    Pruning::new(pruner_by_name(name, Settings::default()).unwrap(), Budget::Tokens(budget))
}

/// A case with settings that lead to different answers.
fn settings() -> Vec<(&'static str, &'static str, Vec<SessionOptions>)> {
    let own = ImageLimits::default();
    let tiles = |count| ImageLimits { max_tiles: Some(count), ..own };
    let pixels = |count| ImageLimits { max_pixels: Some(count), ..own };
    let mico = |tokens| Pruning::mico(Budget::Tokens(tokens));
    let (vicuna, plain) = (Some(PromptStyle::Format(&VICUNA)), Some(PromptStyle::Format(&PLAIN)));
    let next = vec![
        options("next_packing=spatial,anyres_axis=hf", own, vicuna, Pruning::off()),
        options("next_packing=spatial_unpad,position_mode=compact", own, plain, mico(6)),
        options("relevance=visual_only", own, None, method("divprune", 9)),
    ];
    let qwen = vec![
        options("", pixels(1_024), None, mico(4)),
        options("position_mode=compact", own, plain, method("vispruner", 6)),
        options("resize_backend=torch", pixels(4_096), plain, Pruning::off()),
    ];
    let intern = vec![
        options("intern_feature=concat", tiles(12), None, mico(9)),
        options("", tiles(1), plain, method("random", 2)),
        options("image_limits=paper", own, None, Pruning::off()),
    ];
    vec![("next-llama", "wide", next), ("qwen25", "odd", qwen), ("internvl3", "wide", intern)]
}

fn request(image: &ImageInput, options: SessionOptions) -> Request {
    Request::new(vec![image.clone()], Prompt::question("What is it?", 1))
        .with(options)
        .generating(GenerationOptions { ignore_eos: true, ..GenerationOptions::greedy(4) })
        .observing(Observe::TENSORS)
}

#[test]
fn requests_side_by_side_answer_as_if_alone() {
    for (name, image, settings) in settings() {
        let (case, image) = (Case::load(name), Case::load(name).image(image));
        let requests: Vec<Request> =
            settings.into_iter().map(|options| request(&image, options)).collect();
        let alone: Vec<Outcome> = requests.iter().map(|request| case.run(request)).collect();
        for (index, one) in alone.iter().enumerate() {
            let others = &alone[index + 1..];
            assert!(others.iter().all(|other| logits(one) != logits(other)), "{name} {index}");
            assert!(others.iter().all(|other| one.usage != other.usage), "{name} {index}");
        }
        let start = Barrier::new(2);
        let ask_all = |first: usize| {
            start.wait();
            for index in (0..3 * requests.len()).map(|step| (first + step) % requests.len()) {
                let outcome = case.run(&requests[index]);
                assert_same(&outcome, &alone[index], &format!("{name}, request {index}"));
            }
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(|| ask_all(1));
            ask_all(0);
            other.join().unwrap();
        });
    }
}

/// Conversations share nothing but the engine.
#[test]
fn conversations_in_turn_answer_as_if_alone() {
    for (name, image, settings) in settings() {
        let (case, image) = (Case::load(name), Case::load(name).image(image));
        let turns = |options: &SessionOptions| {
            let first = request(&image, options.clone()).turn;
            let mut second = first.clone();
            second.images.clear();
            second.prompt = Prompt::question("And the sky?", 0);
            [first, second]
        };
        let ask = |session: &mut Session, turn: &TurnRequest| {
            session.ask(&case.engine, turn, &mut ()).unwrap()
        };
        let mut alone = Vec::new();
        for options in &settings {
            let mut session = case.engine.session(options.clone());
            alone.push(turns(options).map(|turn| ask(&mut session, &turn)));
        }
        let mut sessions: Vec<_> =
            settings.iter().map(|options| case.engine.session(options.clone())).collect();
        for turn in 0..2 {
            for ((session, options), alone) in sessions.iter_mut().zip(&settings).zip(&alone) {
                let outcome = ask(session, &turns(options)[turn]);
                assert_same(&outcome, &alone[turn], &format!("{name}, turn {turn}"));
            }
        }
    }
}
