//! Requests that are worked on step by step: each is bit for bit what it is when it runs from beginning to
//! end, and can be given up anywhere.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use mico_engine::{
    Advance, Engine, Error, Observe, Outcome, Prefill, Progress, Request, Sequence, Session,
};
use mico_model::Caches;
use support::running::{Told, assert_same, cache_bits, requests, whole};
use support::{Case, later, logits, weights};

/// The same, step by step.
fn stepped(engine: &Engine, request: &Request) -> (Outcome, Told, Session) {
    let mut told = Told::default();
    let prepared = engine.prepare(request, &mut told).unwrap();
    let expected = (
        prepared.plan().clone(),
        prepared.cache_lengths().to_vec(),
        [prepared.prompt_tokens(), prepared.visual_tokens()],
        [prepared.visual_tokens_entering(), prepared.visual_tokens_kept()],
    );
    let layouts: Vec<usize> =
        prepared.layouts().map(mico_vision::layout::VisualLayout::len).collect();
    let most = prepared.max_new_tokens();
    let mut sequence = engine.begin(prepared).unwrap();
    loop {
        match sequence.advance(engine).unwrap() {
            Progress::Step(step) => told.steps.push(step),
            Progress::Token(accepted) => told.accept(&accepted),
            _ => break,
        }
    }
    assert!(sequence.is_finished());
    let (outcome, session) = sequence.finish().unwrap();
    let usage = outcome.usage;
    let found = (
        outcome.plan.clone(),
        outcome.cache_lengths.clone(),
        [usage.prompt_tokens, usage.visual_tokens],
        [usage.visual_tokens_entered, usage.visual_tokens_kept],
    );
    assert_eq!(expected, found, "what was known before is what happened");
    let images: Vec<usize> = outcome.images.iter().map(|image| image.layout.len()).collect();
    assert_eq!((layouts, most), (images, usage.generated_tokens));
    (outcome, told, session)
}

#[test]
fn a_request_step_by_step_is_the_request_as_a_whole() {
    for &name in weights() {
        let case = Case::load(name);
        for (index, request) in requests(&case).iter().enumerate() {
            let what = format!("{name}, request {index}");
            let (expected, told, mut before) = whole(&case.engine, request);
            let (found, steps, mut after) = stepped(&case.engine, request);
            assert_same(&found, &expected, &what);
            assert_eq!((steps.steps, steps.text), (told.steps, told.text), "{what}");
            assert_eq!(cache_bits(after.caches()), cache_bits(before.caches()), "{what}");
            assert_eq!(after.positions(), before.positions(), "{what}");
            let seconds = found.seconds;
            for part in
                [seconds.preprocess, seconds.vision, seconds.decoder_prefill, seconds.decode]
            {
                assert!(part > 0.0, "{what}: {seconds:?}");
            }
            // A later turn sees every kind of state, recurrent ones too.
            let mut turn = later(&request.turn, vec![5, 6, 7]);
            turn.observe = Observe::TENSORS;
            let expected = before.ask(&case.engine, &turn, &mut ()).unwrap();
            let prepared = after.prepare(&case.engine, &turn, &mut ()).unwrap();
            assert_eq!(prepared.cache_lengths(), expected.cache_lengths, "{what}");
            let mut sequence = after.begin(&case.engine, prepared).unwrap();
            while !matches!(sequence.advance(&case.engine).unwrap(), Progress::Finished) {}
            let (found, session) = sequence.finish().unwrap();
            assert_same(&found, &expected, &what);
            after = session;
            assert_eq!(cache_bits(after.caches()), cache_bits(before.caches()), "{what}");
        }
    }
}

/// The decoder on one token, by hand.
fn step(engine: &Engine, caches: &mut Caches, id: u32, positions: &[u32]) -> Vec<f32> {
    let decoder = engine.model().decoder();
    let mut hidden = decoder.embed(&[id]).unwrap();
    for (block, &position) in positions.iter().enumerate() {
        let at = decoder.positions(&[position]).unwrap();
        hidden = decoder.run(block..block + 1, &hidden, &at, caches, &[]).unwrap().hidden;
    }
    decoder.logits(&hidden).unwrap().squeeze(0).unwrap().to_vec1().unwrap()
}

#[test]
fn a_prefill_and_its_answer_work_on_any_caches() {
    for &name in weights() {
        let case = Case::load(name);
        for request in &requests(&case)[1..3] {
            let (expected, told, session) = whole(&case.engine, request);
            let prepared = case.engine.prepare(request, &mut ()).unwrap();
            let mut caches = case.engine.model().decoder().new_caches();
            let mut prefill = Prefill::new(prepared);
            let mut steps = 0;
            let ready = loop {
                match prefill.advance(&case.engine, &mut caches).unwrap() {
                    Advance::Step(_) => steps += 1,
                    Advance::Ready(ready) => break ready,
                    other => panic!("{other:?}"),
                }
            };
            assert!(steps > case.engine.model().decoder().blocks(), "{name}");
            assert!(prefill.advance(&case.engine, &mut caches).is_err(), "{name}: it was over");
            let (mut generation, mut logits) = (ready.generation, ready.logits);
            let mut seen: Vec<Vec<u32>> = Vec::new();
            while generation.finish().is_none() {
                seen.push(logits.iter().map(|logit| logit.to_bits()).collect());
                generation.accept(&logits).unwrap();
                if let Some(id) = generation.input() {
                    logits = step(&case.engine, &mut caches, id, generation.positions());
                }
            }
            assert_eq!(seen, told.logits, "{name}");
            assert!(generation.accept(&logits).is_err(), "{name}: it was finished");
            assert_eq!((generation.text(), generation.ids()), (&*told.text, &*expected.answer.ids));
            assert_eq!(cache_bits(&caches), cache_bits(session.caches()), "{name}");
            let found = ready.report.finish(generation, 0.5).unwrap();
            assert_same(&found, &expected, name);
            assert_eq!(found.seconds.decode, 0.5);
        }
    }
}

#[test]
fn a_turn_given_up_at_any_step_leaves_the_conversation_as_it_was() {
    for &name in weights() {
        let case = Case::load(name);
        let request = requests(&case).pop().unwrap();
        let turn = request.turn.clone();
        let mut next = later(&turn, vec![5, 6, 7]);
        next.observe = Observe::TENSORS;
        let begun = || {
            let mut session = case.engine.session(request.options.clone());
            session.ask(&case.engine, &turn, &mut ()).unwrap();
            session
        };
        let mut straight = begun();
        let state = cache_bits(straight.caches());
        let expected = straight.ask(&case.engine, &next, &mut ()).unwrap();
        let mut session = begun();
        for steps in 0.. {
            let prepared = session.prepare(&case.engine, &turn, &mut ()).unwrap();
            let mut sequence = session.begin(&case.engine, prepared).unwrap();
            let mut over = false;
            for _ in 0..steps {
                over = matches!(sequence.advance(&case.engine).unwrap(), Progress::Finished);
            }
            session = sequence.abandon().unwrap();
            assert_eq!(cache_bits(session.caches()), state, "{name} after {steps}");
            if over {
                break;
            }
        }
        let found = session.ask(&case.engine, &next, &mut ()).unwrap();
        assert_eq!(logits(&found), logits(&expected), "{name}");
        assert_eq!(found.answer, expected.answer, "{name}");
    }
}

#[test]
fn a_turn_runs_where_it_was_prepared_and_nowhere_else() {
    let case = Case::load("llava15");
    let request = requests(&case).pop().unwrap();
    let (engine, other) = (&case.engine, Case::load("llava15").engine);
    let refused = |result: Result<Sequence, Error>| {
        assert!(matches!(result.unwrap_err(), Error::Conversation(_)));
    };
    refused(other.begin(engine.prepare(&request, &mut ()).unwrap()));
    let mut session = engine.session(request.options.clone());
    session.ask(engine, &request.turn, &mut ()).unwrap();
    let early = engine.session(request.options.clone()).prepare(engine, &request.turn, &mut ());
    let later = session.prepare(engine, &request.turn, &mut ()).unwrap();
    refused(engine.begin(later));
    refused(session.begin(engine, early.unwrap()));
    let mut sequence = engine.begin(engine.prepare(&request, &mut ()).unwrap()).unwrap();
    assert!(matches!(sequence.advance(&other).unwrap_err(), Error::Conversation(_)));
    sequence.advance(engine).unwrap();
    assert!(sequence.finish().is_err(), "it was not finished");
}
