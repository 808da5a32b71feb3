//! Stopping a request wherever it can be stopped: the conversation is then as if the turn had never
//! begun.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mico_engine::{
    Engine, EngineOptions, Error, ErrorKind, GenerationOptions, ImageInput, Message, Observe,
    Outcome, Phase, Prompt, Session, SessionOptions, Sink, Step, TurnRequest,
};
use mico_model::config::QwenVision;
use mico_model::{LoadOptions, Progress};
use mico_vision::layout::VisualLayout;
use serde_json::Value;
use support::{Case, folder, number, strings, usizes, weights};

/// Views that go through a block of the tower together, and so are one stopping point.
const VIEWS_AT_ONCE: usize = 4;
/// Tokens of an answer.
const ANSWER: usize = 3;

/// A call that can be answered with a break.
#[derive(Debug, Clone, PartialEq)]
enum Event {
    Step(Phase, usize, usize),
    Text(String),
}

/// Remembers what it is told and stops the work at the event of a given number, if there is one.
#[derive(Debug, Default, PartialEq)]
struct Follower {
    events: Vec<Event>,
    /// The logits before every token, bit by bit.
    logits: Vec<Vec<u32>>,
    stop: Option<usize>,
}

impl Follower {
    fn stopping_at(event: usize) -> Self {
        Self { stop: Some(event), ..Self::default() }
    }

    fn take(&mut self, event: Event) -> ControlFlow<()> {
        self.events.push(event);
        match self.stop {
            Some(stop) if self.events.len() > stop => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Sink for Follower {
    fn progress(&mut self, step: Step) -> ControlFlow<()> {
        self.take(Event::Step(step.phase, step.done, step.total))
    }

    fn text(&mut self, piece: &str) -> ControlFlow<()> {
        self.take(Event::Text(piece.into()))
    }

    fn steer(&mut self, logits: &[f32]) -> Option<u32> {
        self.logits.push(logits.iter().map(|logit| logit.to_bits()).collect());
        None
    }
}

/// A conversation of two turns, pruned in both stages.
struct Talk {
    case: Case,
    options: SessionOptions,
    first: TurnRequest,
    second: TurnRequest,
}

fn turn(text: &str, images: Vec<ImageInput>) -> TurnRequest {
    let prompt = Prompt::question(text, images.len());
    let mut turn = TurnRequest::new(images, prompt);
    turn.generation = GenerationOptions { ignore_eos: true, ..GenerationOptions::greedy(ANSWER) };
    turn.observe = Observe::TRACE;
    turn
}

impl Talk {
    /// About the images of the case's largest run that drops tokens before the decoder, if one does,
    /// and inside.
    fn load(name: &str) -> Self {
        let mut case = Case::load(name);
        let runs = case.runs("pruned");
        let kept = |run: &Value, stage: &str| usizes(&run[stage]["kept"]).len();
        let cuts = runs.iter().filter(|run| kept(run, "stage2") < kept(run, "stage1"));
        let size = |run: &&Value| {
            let drops = kept(run, "stage1") < number(&run["visual_tokens"]);
            (drops, strings(&run["images"]).len())
        };
        let run = cuts.max_by_key(size).unwrap();
        case.switch(run);
        let request = case.request(run);
        let mut images = request.turn.images;
        if case.engine.takes_video() {
            let frames = images.iter().enumerate();
            let frame = |(index, image)| case.engine.decode_image(index, image).unwrap();
            images = vec![ImageInput::Frames(frames.map(frame).collect())];
        }
        let first = turn("What is it?", images[..1].to_vec());
        Self { options: request.options, first, second: turn("And this?", images), case }
    }

    fn fresh(&self) -> Session {
        self.case.engine.session(self.options.clone())
    }

    /// With the first turn behind it.
    fn begun(&self) -> Session {
        let mut session = self.fresh();
        session.ask(&self.case.engine, &self.first, &mut ()).unwrap();
        session
    }
}

/// What a conversation knows of itself.
fn state(session: &Session) -> (Vec<Option<usize>>, Vec<u32>, Vec<Message>) {
    (session.cache_lengths(), session.positions().to_vec(), session.history().to_vec())
}

fn assert_cancelled(error: &Error, what: &str) {
    assert!(matches!(error, Error::Cancelled), "{what}: {error}");
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{what}");
}

fn assert_same(found: &Outcome, expected: &Outcome, what: &str) {
    assert_eq!(found.answer, expected.answer, "{what}");
    assert_eq!(found.first_logits, expected.first_logits, "{what}");
    assert_eq!(found.usage, expected.usage, "{what}");
    assert_eq!((&found.stage1, &found.cuts), (&expected.stage1, &expected.cuts), "{what}");
    assert_eq!(found.cache_lengths, expected.cache_lengths, "{what}");
}

/// Stops a turn at every event, each time in a conversation of its own and once more in one that is
/// stopped again and again. Gives the events and the outcome of the turn when nobody stops it.
fn stop_everywhere(
    talk: &Talk,
    begin: impl Fn() -> Session,
    turn: &TurnRequest,
) -> (Vec<Event>, Outcome) {
    let engine = &talk.case.engine;
    let (mut session, mut whole) = (begin(), Follower::default());
    let outcome = session.ask(engine, turn, &mut whole).unwrap();
    let after = state(&session);
    let mut often_stopped = begin();
    for (stop, event) in whole.events.iter().enumerate() {
        let what = format!("{} stopped at {stop}, {event:?}", talk.case.name);
        let mut session = begin();
        for session in [&mut session, &mut often_stopped] {
            let (before, mut sink) = (state(session), Follower::stopping_at(stop));
            assert_cancelled(&session.ask(engine, turn, &mut sink).unwrap_err(), &what);
            assert_eq!(sink.events, whole.events[..=stop], "{what}");
            assert_eq!(state(session), before, "{what}");
        }
        let mut sink = Follower::default();
        assert_same(&session.ask(engine, turn, &mut sink).unwrap(), &outcome, &what);
        assert_eq!((&sink, state(&session)), (&whole, after.clone()), "{what}");
    }
    let mut sink = Follower::default();
    assert_same(&often_stopped.ask(engine, turn, &mut sink).unwrap(), &outcome, &talk.case.name);
    assert_eq!((&sink, state(&often_stopped)), (&whole, after), "{}", talk.case.name);
    (whole.events, outcome)
}

/// The steps of the tower on one image or video: every block on every view.
fn tower_steps(engine: &Engine, layout: &VisualLayout) -> Vec<Event> {
    let vision = &engine.model().config().vision;
    let blocks = vision.blocks().unwrap();
    // Qwen's tower takes an image as one view, whatever its size.
    let views = if vision.get::<QwenVision>().is_some() { 1 } else { layout.groups().len() };
    let mut steps = Vec::new();
    for start in (0..views).step_by(VIEWS_AT_ONCE) {
        let together = VIEWS_AT_ONCE.min(views - start);
        let done = |block: usize| start * blocks + together * block;
        let step = |block| Event::Step(Phase::Vision, done(block), blocks * views);
        steps.extend((1..=blocks).map(step));
    }
    steps
}

/// Every step of a turn with images that is pruned in both stages.
fn all_steps(engine: &Engine, outcome: &Outcome) -> Vec<Event> {
    let each = |phase, count: usize| (1..=count).map(move |done| Event::Step(phase, done, count));
    let images = outcome.images.len();
    let mut steps: Vec<Event> = each(Phase::Preprocess, images).collect();
    for image in &outcome.images {
        steps.extend(tower_steps(engine, &image.layout));
    }
    steps.extend(each(Phase::Stage1, images));
    for (block, step) in each(Phase::Prefill, outcome.model.layers).enumerate() {
        steps.push(step);
        if let Some(cut) = outcome.cuts.iter().position(|cut| cut.block == block + 1) {
            steps.push(Event::Step(Phase::Stage2, cut + 1, outcome.cuts.len()));
        }
    }
    steps.extend(each(Phase::Decode, ANSWER));
    steps
}

fn check_events(talk: &Talk, events: Vec<Event>, outcome: &Outcome) {
    let name = &talk.case.name;
    assert_eq!((outcome.stage1.is_some(), outcome.cuts.len()), (true, 1), "{name}");
    assert_eq!(outcome.answer.ids.len(), ANSWER, "{name}");
    let usage = outcome.usage;
    // Linear attention leaves no schedule of this toy that drops tokens in both.
    assert!(usage.visual_tokens_entered < usage.visual_tokens || name == "qwen35", "{name}");
    assert!(usage.visual_tokens_kept < usage.visual_tokens_entered, "{name}");
    let (mut steps, mut text, mut pieces) = (Vec::new(), String::new(), 0);
    for event in events {
        match event {
            Event::Text(piece) => {
                text.push_str(&piece);
                pieces += 1;
            }
            step @ Event::Step(..) => steps.push(step),
        }
    }
    assert_eq!(steps, all_steps(&talk.case.engine, outcome), "{name}");
    assert_eq!(text, outcome.answer.text, "{name}");
    assert!(pieces > 0, "{name} said nothing");
}

#[test]
fn a_later_turn_stops_anywhere_and_is_forgotten() {
    for &name in weights() {
        let talk = Talk::load(name);
        let (events, outcome) = stop_everywhere(&talk, || talk.begun(), &talk.second);
        assert_eq!(talk.begun().history().len(), 2, "{name}");
        check_events(&talk, events, &outcome);
    }
}

#[test]
fn a_first_turn_stops_anywhere_and_leaves_a_fresh_conversation() {
    for &name in weights() {
        let talk = Talk::load(name);
        let empty = state(&talk.fresh());
        assert!(empty.0.iter().flatten().chain(&[0]).all(|&length| length == 0), "{name}");
        assert!(empty.1.iter().all(|&position| position == 0) && empty.2.is_empty(), "{name}");
        let (events, outcome) = stop_everywhere(&talk, || talk.fresh(), &talk.first);
        check_events(&talk, events, &outcome);
    }
}

#[test]
fn work_on_the_engines_own_threads_stops_as_well() {
    for name in ["llava15", "qwen35"] {
        let mut talk = Talk::load(name);
        let (elsewhere, _) = stop_everywhere(&talk, || talk.fresh(), &talk.first);
        talk.case.engine = talk.case.engine.with_threads(2).unwrap();
        let (events, outcome) = stop_everywhere(&talk, || talk.fresh(), &talk.first);
        assert_eq!(events, elsewhere, "{name}");
        check_events(&talk, events, &outcome);
    }
}

#[test]
fn encoding_an_image_stops_at_every_block() {
    for &name in weights() {
        let talk = Talk::load(name);
        let (engine, image) = (&talk.case.engine, talk.second.images.last().unwrap());
        let encode = |sink: &mut Follower| engine.encode_image(image, &talk.options, sink);
        let mut whole = Follower::default();
        let encoded = encode(&mut whole).unwrap();
        let mut steps = vec![Event::Step(Phase::Preprocess, 1, 1)];
        steps.extend(tower_steps(engine, encoded.layout()));
        assert_eq!(whole.events, steps, "{name}");
        for stop in 0..steps.len() {
            let mut sink = Follower::stopping_at(stop);
            assert_cancelled(&encode(&mut sink).unwrap_err(), name);
            assert_eq!(sink.events, steps[..=stop], "{name}");
        }
        let again = encode(&mut Follower::default()).unwrap();
        assert_eq!(again.reliability(), encoded.reliability(), "{name}");
    }
}

/// Loads a model that is stopped after so many tensors; how many were told of.
fn load(name: &str, stop: usize, threads: Option<usize>) -> (mico_engine::Result<Engine>, usize) {
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let progress = move |progress: Progress| {
        let done = count.fetch_add(1, Ordering::Relaxed) + 1;
        assert_eq!(progress.tensors_done, done);
        if done == stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let load = LoadOptions { progress: Some(Arc::new(progress)), ..LoadOptions::default() };
    let options = EngineOptions { load, threads, ..EngineOptions::default() };
    let loaded = Engine::open(&folder(name), &options).map(|(engine, _)| engine);
    (loaded, told.load(Ordering::Relaxed))
}

#[test]
fn loading_stops_after_any_tensor() {
    for (name, threads) in
        [("llava15", None), ("qwen35", Some(2)), ("internvl3", None), ("video", Some(1))]
    {
        let (loaded, tensors) = load(name, usize::MAX, threads);
        assert!(loaded.is_ok() && tensors > 10, "{name}: {tensors} tensors");
        for stop in 1..=tensors {
            let (stopped, told) = load(name, stop, threads);
            assert_cancelled(&stopped.unwrap_err(), name);
            assert_eq!(told, stop, "{name}");
        }
    }
}
