//! The published pruners inside the engine against runs of transformers' modules that prune by references
//! written apart from it (`fixtures/methods.py`).
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use candle_core::{Device, Tensor};
use mico_engine::Outcome;
use mico_engine::pruner::Pruning;
use mico_select::Settings;
use mico_select::methods::pruner_by_name;
use mico_select::schedule::Budget;
use serde_json::Value;
use support::{Case, close, expected_lengths, json, later, number, stage2, u32s, usizes};

const METHODS: [&str; 11] = [
    "fastv",
    "visionzip",
    "divprune",
    "vispruner",
    "holov",
    "vscan",
    "mmtok",
    "apet",
    "sparsevlm",
    "pyramiddrop",
    "dart",
];

/// A case's weights, and what the references made of one of its pictures.
struct Methods {
    case: Case,
    unpruned: Value,
    runs: Vec<Value>,
    second_turn: Vec<u32>,
    tensors: BTreeMap<String, Tensor>,
}

impl Methods {
    fn load(name: &str) -> Self {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data/methods");
        let expected = json(&data.join(format!("{name}.json")));
        let file = data.join(format!("{name}.safetensors"));
        let tensors =
            candle_core::safetensors::load(file, &Device::Cpu).unwrap().into_iter().collect();
        let case = Case::load(name);
        let unpruned = case.runs("unpruned");
        let unpruned = unpruned.into_iter().find(|run| run["name"] == expected["unpruned"]);
        let runs = expected["runs"].as_array().unwrap().clone();
        let second_turn = u32s(&expected["second_turn"]);
        Self { case, unpruned: unpruned.unwrap(), runs, second_turn, tensors }
    }

    /// The answer of a run, and that of a second turn.
    fn pruned(&self, run: &Value) -> (Outcome, Outcome) {
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let settings = run["settings"].as_object().unwrap();
        let settings = settings.iter().map(|(key, value)| (key.clone(), text(value)));
        let method = run["method"].as_str().unwrap();
        let pruner = pruner_by_name(method, Settings::new(settings)).unwrap();
        let mut request = self.case.request(&self.unpruned);
        request.options.pruning = Pruning::new(pruner, Budget::Tokens(number(&run["budget"])));
        request.turn.generation.max_new_tokens = usizes(&run["generated_ids"]).len();
        let mut session = self.case.engine.session(request.options.clone());
        let first = session.ask(&self.case.engine, &request.turn, &mut ()).unwrap();
        let second = later(&request.turn, self.second_turn.clone());
        (first, session.ask(&self.case.engine, &second, &mut ()).unwrap())
    }

    /// Holds the tensors of a run, and what it saw of the vision side, against a dump; gives their names.
    fn check_tensors(&self, name: &str, (first, second): (&Outcome, &Outcome)) -> Vec<&str> {
        let dumped = |outcome: &Outcome, tensor: &str| {
            outcome.tensors.as_ref().unwrap().get(tensor).cloned()
        };
        let mut compared = Vec::new();
        for (key, expected) in &self.tensors {
            let own = key.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
            let found = match (own, own.and_then(|own| own.strip_prefix("second_turn."))) {
                (_, Some(own)) => Some(dumped(second, own).unwrap()),
                (Some(own), None) => Some(dumped(first, own).unwrap()),
                (None, _) if key.starts_with("stage1.") => dumped(first, key),
                (None, _) => None,
            };
            if let Some(found) = found {
                close(&format!("{}: {name} {key}", self.case.name), &found, expected, 1e-4);
                compared.push(key.as_str());
            }
        }
        compared
    }

    /// Checks a run and gives the names of the tensors that were compared.
    fn check(&self, run: &Value) -> Vec<&str> {
        let name = run["name"].as_str().unwrap();
        let what = format!("{} {name}", self.case.name);
        let (outcome, second) = self.pruned(run);
        match (&run["stage1"], &outcome.stage1) {
            (Value::Null, found) => assert!(found.is_none(), "{what}"),
            (kept, found) => assert_eq!(found.as_ref().unwrap().kept, usizes(kept), "{what}"),
        }
        let cuts: Vec<Vec<usize>> =
            run["cuts"].as_array().unwrap().iter().map(|cut| usizes(&cut["kept"])).collect();
        assert_eq!(stage2(&outcome), cuts.last().map(Vec::as_slice), "{what}");
        let found: Vec<Vec<usize>> = outcome.cuts.iter().map(|cut| cut.kept.clone()).collect();
        assert_eq!(found, cuts, "{what}");
        assert_eq!(outcome.cache_lengths, expected_lengths(&run["cache_lengths"]), "{what}");
        let average = run["layer_average"].as_f64().unwrap();
        let found = outcome.usage.layer_average;
        assert!((found - average).abs() < 1e-9, "{what}: {found}");
        let compared = self.check_tensors(name, (&outcome, &second));
        assert_eq!(outcome.answer.ids, u32s(&run["generated_ids"]), "{what}");
        compared
    }
}

fn agree(name: &str, expected: &[&str]) {
    let methods = Methods::load(name);
    for method in expected {
        assert!(methods.runs.iter().any(|run| run["method"] == *method), "{name} {method}");
    }
    let compared: BTreeSet<&str> = methods.runs.iter().flat_map(|run| methods.check(run)).collect();
    let stored: BTreeSet<&str> = methods.tensors.keys().map(String::as_str).collect();
    assert_eq!(compared, stored, "{name}");
}

#[test]
fn methods_agree_on_llava() {
    agree("llava15", &METHODS);
}

#[test]
fn methods_agree_on_llava_next() {
    agree("next-llama", &METHODS);
}

#[test]
fn methods_agree_on_qwen() {
    agree("qwen25", &METHODS);
}

#[test]
fn methods_agree_on_internvl() {
    agree("internvl3", &METHODS);
}

/// DeepStack's rows go with their tokens.
#[test]
fn methods_agree_on_qwen3() {
    agree("qwen3", &["fastv", "divprune", "vispruner", "holov", "mmtok", "pyramiddrop", "dart"]);
}

#[test]
fn methods_agree_on_llava_video() {
    agree("video-even", &METHODS);
}
