//! Requests that share an engine step by step, in turn and together: each answers as if it were alone, and
//! one that fails does not disturb the others.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use candle_core::{DType, Device, Tensor};
use mico_engine::{Engine, EngineOptions, Error, Outcome, Progress, Request, Sequence, Session};
use mico_util::SplitMix64;
use support::running::{Told, assert_same, cache_bits, methods, whole};
use support::{Case, weights};

#[test]
fn requests_in_turn_in_any_order_answer_as_if_alone() {
    for (name, budget) in [("llava15", 8), ("next-llama", 9), ("qwen25", 6), ("qwen35", 20)] {
        for threads in [1, 2] {
            let mut case = Case::load(name);
            case.engine = case.engine.with_threads(threads).unwrap();
            let requests = methods(&case, budget);
            assert!(requests.len() > 5, "{name}: {}", requests.len());
            let alone: Vec<_> =
                requests.iter().map(|request| whole(&case.engine, request)).collect();
            let begin = |request| {
                let prepared = case.engine.prepare(request, &mut ()).unwrap();
                case.engine.begin(prepared).unwrap()
            };
            let mut running: Vec<(usize, Sequence)> =
                requests.iter().map(begin).enumerate().collect();
            let (mut dice, mut done) = (SplitMix64::new(threads as u64), 0);
            while !running.is_empty() {
                let at = dice.below(running.len());
                if !matches!(running[at].1.advance(&case.engine).unwrap(), Progress::Finished) {
                    continue;
                }
                let (index, sequence) = running.swap_remove(at);
                let (found, session) = sequence.finish().unwrap();
                let (expected, _, alone) = &alone[index];
                let what = format!("{name}, {}", requests[index].options.pruning.pruner.name());
                assert_same(&found, expected, &what);
                assert_eq!(cache_bits(session.caches()), cache_bits(alone.caches()), "{what}");
                done += 1;
            }
            assert_eq!(done, requests.len());
        }
    }
}

/// Answers requests together: they join one after the other, one is given up midway, and they end when
/// they end.
fn together(case: &Case, requests: &[Request], alone: &[(Outcome, Told, Session)]) {
    let engine = &case.engine;
    let (mut waiting, mut answering) = (Vec::new(), Vec::<(usize, Sequence)>::new());
    for (index, request) in requests.iter().enumerate().rev() {
        let prepared = engine.prepare(request, &mut ()).unwrap();
        waiting.push((index, engine.begin(prepared).unwrap()));
    }
    let (mut ended, mut given_up) = (0, 0);
    while !(waiting.is_empty() && answering.is_empty()) {
        // One prompt comes in between two steps of the others.
        if let Some((index, mut sequence)) = waiting.pop() {
            while sequence.generation().is_none() {
                sequence.advance(engine).unwrap();
            }
            answering.push((index, sequence));
        }
        let mut rows: Vec<&mut Sequence> = answering.iter_mut().map(|(_, s)| s).collect();
        for progress in engine.step_many(&mut rows) {
            assert!(!matches!(progress.unwrap(), Progress::Step(_)));
        }
        if given_up == 0 && answering.len() > 3 && !answering[1].1.is_finished() {
            let session = answering.remove(1).1.abandon().unwrap();
            assert!(session.caches().is_empty());
            given_up += 1;
        }
        for (index, sequence) in answering.extract_if(.., |(_, sequence)| sequence.is_finished()) {
            let (found, session) = sequence.finish().unwrap();
            let (expected, _, alone) = &alone[index];
            let what = format!("{}, {}", case.name, requests[index].options.pruning.pruner.name());
            assert_same(&found, expected, &what);
            assert_eq!(cache_bits(session.caches()), cache_bits(alone.caches()), "{what}");
            assert!(found.seconds.decode > 0.0, "{what}");
            ended += 1;
        }
    }
    assert_eq!(ended + given_up, requests.len(), "{}", case.name);
}

#[test]
fn answers_made_together_are_those_made_alone() {
    for &name in weights() {
        let case = Case::load(name);
        let mut requests = methods(&case, if name.starts_with("qwen35") { 20 } else { 8 });
        requests.extend(support::running::requests(&case));
        let alone: Vec<_> = requests.iter().map(|request| whole(&case.engine, request)).collect();
        together(&case, &requests, &alone);
    }
}

#[test]
fn one_that_fails_does_not_disturb_the_others() {
    let case = Case::load("llava15");
    let mut requests = methods(&case, 8);
    requests.truncate(3);
    requests.iter_mut().for_each(|request| request.turn.generation.max_new_tokens = 4);
    let alone: Vec<_> = requests.iter().map(|request| whole(&case.engine, request)).collect();
    let begin = |engine: &Engine, request: &Request| {
        engine.begin(engine.prepare(request, &mut ()).unwrap()).unwrap()
    };
    let fill = |sequence: &mut Sequence| {
        while sequence.generation().is_none() {
            sequence.advance(&case.engine).unwrap();
        }
    };
    let [mut first, mut prompt, mut last] =
        [0, 1, 2].map(|index: usize| begin(&case.engine, &requests[index]));
    let stranger_engine = Case::load("llava15").engine;
    let mut stranger = begin(&stranger_engine, &requests[0]);
    fill(&mut first);
    fill(&mut last);
    while !(first.is_finished() && last.is_finished()) {
        let mut rows = [&mut first, &mut prompt, &mut stranger, &mut last];
        let found = case.engine.step_many(&mut rows);
        let failed: Vec<bool> = found.iter().map(Result::is_err).collect();
        assert_eq!(failed, [false, true, true, false]);
    }
    assert_same(&first.finish().unwrap().0, &alone[0].0, "first");
    assert_same(&last.finish().unwrap().0, &alone[2].0, "last");
    // Who was not ready may go on.
    fill(&mut prompt);
    while !prompt.is_finished() {
        case.engine.step_many(&mut [&mut prompt]).pop().unwrap().unwrap();
    }
    assert_same(&prompt.finish().unwrap().0, &alone[1].0, "the one whose prompt was not through");
}

/// A model whose last logit overflows where a component of the last hidden state is large.
fn overflowing(component: usize) -> Engine {
    let folder = support::copy("llava15-tf5");
    let file = folder.path().join("model.safetensors");
    let mut tensors = candle_core::safetensors::load(&file, &Device::Cpu).unwrap();
    let head = tensors.iter_mut().find(|(name, _)| name.ends_with("lm_head.weight")).unwrap().1;
    let mut rows: Vec<Vec<f32>> = head.to_dtype(DType::F32).unwrap().to_vec2().unwrap();
    let shape = (rows.len(), rows[0].len());
    let last = rows.last_mut().unwrap();
    last.fill(0.0);
    last[component] = -3e38;
    *head = Tensor::from_vec(rows.concat(), shape, &Device::Cpu).unwrap();
    std::fs::remove_file(&file).unwrap();
    candle_core::safetensors::save(&tensors, &file).unwrap();
    Engine::open(folder.path(), &EngineOptions::default()).unwrap().0
}

/// An engine on which some of the requests fail in the middle of their answers, and others do not.
fn half_spoiled(requests: &[Request]) -> (Engine, Vec<Result<Outcome, Error>>) {
    for component in 0..24 {
        let engine = overflowing(component);
        let alone: Vec<_> = requests.iter().map(|request| engine.run(request, &mut ())).collect();
        let midway = |error: &Error| matches!(error, Error::NotFinite { generated: 1.., .. });
        let spoiled = alone.iter().filter_map(|outcome| outcome.as_ref().err()).any(midway);
        if spoiled && alone.iter().any(Result::is_ok) {
            return (engine, alone);
        }
    }
    panic!("no such model");
}

#[test]
fn logits_that_are_no_numbers_end_one_answer_alone() {
    let case = Case::load("llava15");
    let mut requests = methods(&case, 8);
    requests.iter_mut().for_each(|request| request.turn.generation.max_new_tokens = 5);
    let (engine, alone) = half_spoiled(&requests);
    let mut running = Vec::new();
    for (request, alone) in requests.iter().zip(&alone) {
        let mut sequence = engine.begin(engine.prepare(request, &mut ()).unwrap()).unwrap();
        let mut error = None;
        while sequence.generation().is_none() && error.is_none() {
            error = sequence.advance(&engine).err();
        }
        running.push((sequence, error, alone));
    }
    for _ in 0..6 {
        let mut rows: Vec<&mut Sequence> = running.iter_mut().map(|(s, ..)| s).collect();
        let found = engine.step_many(&mut rows);
        for ((_, error, _), found) in running.iter_mut().zip(found) {
            *error = error.take().or(found.err());
        }
    }
    for (sequence, error, alone) in running {
        match alone {
            Ok(expected) => assert_same(&sequence.finish().unwrap().0, expected, "unharmed"),
            Err(expected) => {
                assert_eq!(error.unwrap().to_string(), expected.to_string());
                assert!(sequence.finish().is_err());
            }
        }
    }
}
