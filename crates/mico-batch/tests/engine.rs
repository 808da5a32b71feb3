//! The scheduler on the embedded model: answers made together are those made alone.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use std::sync::Arc;

use mico_batch::engine::{EngineBackend, EngineJob};
use mico_batch::{
    Core, EncoderCache, EndReason, Event, Failure, Limits, ManualClock, Memory, Message, Scheduler,
    Setup, Shutdown, SubmitOptions, channel, run_all,
};
use mico_engine::{
    Engine, EngineOptions, GenerationOptions, ImageInput, Outcome, Prompt, Request, Setting,
};
use mico_scenes::{Split, scene};

const SETTINGS: [&str; 4] = ["mico T=16", "divprune T=24", "fastv T=192", "mico T=9"];
const QUESTION: &str = "How many circles are there?";

fn engine() -> Arc<Engine> {
    let (engine, _) = Engine::open(&mico_tiny::MODEL, &EngineOptions::default()).unwrap();
    Arc::new(engine.with_threads(2).unwrap())
}

fn backend(engine: &Arc<Engine>, cache_bytes: u64) -> Arc<EngineBackend> {
    let cache = Arc::new(EncoderCache::new(cache_bytes));
    Arc::new(EngineBackend::new(Arc::clone(engine), cache))
}

fn picture(index: u64) -> ImageInput {
    ImageInput::Encoded(scene(Split::Calibration, 5, index).0.render().to_png().unwrap())
}

/// Two pictures, four methods and no pruning; answers of different lengths.
fn requests() -> Vec<Request> {
    let mut requests = Vec::new();
    for index in 0..2 {
        let request = Request::new(vec![picture(index)], Prompt::question(QUESTION, 1));
        requests.push(request.clone().generating(GenerationOptions::greedy(5)));
        for setting in SETTINGS {
            let options = setting.parse::<Setting>().unwrap().options().unwrap();
            let mut generation = GenerationOptions::greedy(40 + requests.len());
            generation.ignore_eos = true;
            requests.push(request.clone().with(options).generating(generation));
        }
    }
    requests
}

fn job(engine: &Engine, request: &Request) -> Result<EngineJob, mico_engine::Error> {
    let prepared = engine.prepare(request, &mut ())?;
    Ok(EngineJob { prepared, memory: Memory { kept: 10, working: 5 } })
}

fn alone(engine: &Engine, requests: &[Request]) -> Vec<Outcome> {
    requests.iter().map(|request| engine.run(request, &mut ()).unwrap()).collect()
}

fn assert_same(found: &Outcome, expected: &Outcome) {
    assert_eq!(found.answer, expected.answer);
    assert_eq!(found.usage, expected.usage);
    assert_eq!(found.cache_lengths, expected.cache_lengths);
    assert_eq!(found.stage1.as_ref().map(|s| &s.kept), expected.stage1.as_ref().map(|s| &s.kept));
}

#[test]
fn answers_made_together_are_those_made_alone() {
    let engine = engine();
    let requests = requests();
    let expected = alone(&engine, &requests);
    for cache_bytes in [0, 1 << 30] {
        let backend = backend(&engine, cache_bytes);
        let limits = Limits { sequences: 6, rows: 4, memory_bytes: 65, ..Limits::default() };
        let jobs = requests.iter().map(|request| job(&engine, request));
        // A clock that stands still lets one slice of a prompt run per step, however fast the machine is.
        let clock = Arc::new(ManualClock::default());
        let setup = Setup { clock, ..limits.into() };
        let mut results = run_all(Arc::clone(&backend), setup, jobs);
        let mut hits = 0;
        for expected in &expected {
            let found = results.next().unwrap().unwrap();
            assert_same(&found.outcome, expected);
            hits += found.cached.iter().filter(|hit| **hit).count() as u64;
        }
        let now = results.snapshot();
        assert_eq!((now.kept_bytes, now.working_bytes, now.panics), (0, 0, 0));
        assert!(now.rows > now.steps);
        assert_eq!(backend.cache().stats().hits, hits);
        assert_eq!(hits > 0, cache_bytes > 0);
    }
}

#[test]
fn pieces_of_text_are_the_answer_and_others_do_not_notice_a_cancellation() {
    let engine = engine();
    let requests = requests();
    let expected = alone(&engine, &requests);
    let scheduler = Scheduler::spawn(backend(&engine, 1 << 30), Limits::default()).unwrap();
    let mut running = Vec::new();
    for (number, request) in requests.iter().enumerate() {
        let (sink, events) = channel(3);
        let options = SubmitOptions::of(format!("client {}", number % 3));
        let ticket = scheduler.submit(job(&engine, request).unwrap(), options, sink).unwrap();
        if number % 5 == 4 {
            ticket.cancel();
        }
        running.push((ticket, events));
    }
    for (number, ((_ticket, events), expected)) in running.into_iter().zip(&expected).enumerate() {
        let mut text = String::new();
        for message in events {
            match message {
                Message::Event(Event::Token(accepted)) => text += &accepted.text,
                Message::Event(_) => {}
                Message::End(end) => match end.result {
                    Ok(answer) => {
                        assert_same(&answer.outcome, expected);
                        assert_eq!(text, expected.answer.text);
                    }
                    Err(failure) => {
                        assert!(number % 5 == 4 && matches!(failure, Failure::Cancelled));
                    }
                },
            }
        }
    }
    scheduler.shutdown(Shutdown::Drain);
    let now = scheduler.snapshot();
    assert_eq!((now.running, now.kept_bytes, now.working_bytes, now.panics), (0, 0, 0, 0));
}

#[test]
fn an_answer_without_tokens_ends_after_its_prompt() {
    let engine = engine();
    let request = Request::new(vec![picture(0)], Prompt::question(QUESTION, 1))
        .generating(GenerationOptions::greedy(0));
    let mut core = Core::new(backend(&engine, 0), Limits::default());
    let (sink, events) = channel(99);
    let submitted = core.submit(job(&engine, &request).unwrap(), SubmitOptions::default(), sink);
    let _ticket = submitted.unwrap();
    while core.turn() == mico_batch::Turn::Worked {}
    assert_eq!(events.wait().unwrap().result.unwrap().outcome.answer.text, "");
    assert_eq!((core.snapshot().tokens, core.snapshot().ended(EndReason::Length)), (0, 1));
}
