//! Runs requests as a whole, to hold against those that are worked on in other ways.

use std::ops::ControlFlow;

use mico_engine::pruner::Pruning;
use mico_engine::{
    Accepted, Engine, GenerationOptions, Observe, Outcome, Request, Session, Sink, Step,
};
use mico_model::Caches;
use mico_select::Settings;
use mico_select::methods::{pruner_by_name, pruners};
use mico_select::schedule::Budget;

use super::{Case, bits};

/// Steps and logits of a request, as they are told to a sink.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Told {
    pub(crate) steps: Vec<Step>,
    pub(crate) text: String,
    pub(crate) logits: Vec<Vec<u32>>,
}

impl Sink for Told {
    fn progress(&mut self, step: Step) -> ControlFlow<()> {
        self.steps.push(step);
        ControlFlow::Continue(())
    }

    fn text(&mut self, piece: &str) -> ControlFlow<()> {
        self.text.push_str(piece);
        ControlFlow::Continue(())
    }

    fn steer(&mut self, logits: &[f32]) -> Option<u32> {
        self.logits.push(logits.iter().map(|logit| logit.to_bits()).collect());
        None
    }
}

impl Told {
    pub(crate) fn accept(&mut self, accepted: &Accepted) {
        self.text.push_str(&accepted.text);
        self.steps.extend(accepted.step);
    }
}

/// The first unpruned and pruned runs of a case, answered with log-probabilities.
pub(crate) fn requests(case: &Case) -> Vec<Request> {
    let mut requests: Vec<Request> = ["unpruned", "pruned"]
        .iter()
        .flat_map(|kind| case.runs(kind).into_iter().take(2))
        .map(|run| case.request(&run))
        .collect();
    for (index, request) in requests.iter_mut().enumerate() {
        let generation = GenerationOptions { logprobs: Some(3), ..GenerationOptions::greedy(3) };
        request.turn.generation = GenerationOptions { ignore_eos: true, ..generation };
        request.turn.generation.max_new_tokens += index;
        request.turn.observe = if index % 2 == 0 { Observe::TENSORS } else { Observe::TRACE };
    }
    requests
}

/// Requests of one image under every method that takes it at this budget.
pub(crate) fn methods(case: &Case, budget: usize) -> Vec<Request> {
    let mut requests = Vec::new();
    for method in pruners() {
        let mut request = case.request(&case.runs("unpruned")[0]);
        let pruner = pruner_by_name(method.name, Settings::default()).unwrap();
        request.options.pruning = if pruner.prunes() {
            Pruning::new(pruner, Budget::Tokens(budget))
        } else {
            Pruning::off()
        };
        request.turn.observe = Observe::TRACE;
        request.turn.generation = GenerationOptions {
            ignore_eos: true,
            logprobs: Some(2),
            ..GenerationOptions::greedy(2 + requests.len() % 4)
        };
        if case.engine.prepare(&request, &mut ()).is_ok() {
            requests.push(request);
        }
    }
    requests
}

pub(crate) fn cache_bits(caches: &Caches) -> Vec<Option<(Vec<u32>, Vec<u32>)>> {
    let block = |block| {
        let entry = caches.get(block).unwrap();
        entry.map(|(k, v)| (bits(&k.contiguous().unwrap()), bits(&v.contiguous().unwrap())))
    };
    (0..caches.blocks()).map(block).collect()
}

pub(crate) fn assert_same(found: &Outcome, expected: &Outcome, what: &str) {
    assert_eq!(found.answer, expected.answer, "{what}");
    assert_eq!(found.first_logits, expected.first_logits, "{what}");
    assert_eq!((&found.usage, &found.plan), (&expected.usage, &expected.plan), "{what}");
    assert_eq!(found.stage1, expected.stage1, "{what}");
    assert_eq!((&found.cuts, &found.merged), (&expected.cuts, &expected.merged), "{what}");
    assert_eq!(found.cache_lengths, expected.cache_lengths, "{what}");
    assert_eq!((&found.model, found.images.len()), (&expected.model, expected.images.len()));
    match (&found.tensors, &expected.tensors) {
        (Some(found), Some(expected)) => {
            let names = |dump: &mico_engine::Dump| dump.tensors().keys().cloned().collect();
            let (ours, theirs): (Vec<String>, Vec<String>) = (names(found), names(expected));
            assert_eq!(ours, theirs, "{what}");
            assert_eq!(found.to_bytes().unwrap(), expected.to_bytes().unwrap(), "{what}");
        }
        (found, expected) => assert_eq!(found.is_none(), expected.is_none(), "{what}"),
    }
}

/// A request as a whole: its outcome, what was told, and the conversation behind it.
pub(crate) fn whole(engine: &Engine, request: &Request) -> (Outcome, Told, Session) {
    let (mut session, mut told) = (engine.session(request.options.clone()), Told::default());
    let outcome = session.ask(engine, &request.turn, &mut told).unwrap();
    (outcome, told, session)
}
