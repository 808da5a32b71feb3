//! Reads the parity cases of `fixtures/data` and compares tensors.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod running;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use mico_engine::pruner::Pruning;
use mico_engine::{
    Engine, EngineOptions, GenerationOptions, ImageInput, LogitsTrace, Message, Observe, Outcome,
    Part, Prompt, Request, Role, SessionOptions, Switches, TurnRequest,
};
use mico_select::schedule::Budget;
use serde_json::Value;

/// Tokens of every answer in the fixtures.
pub(crate) const ANSWER: usize = 8;

/// Folders of `fixtures/data` that hold parity cases.
const KINDS: [&str; 4] = ["llava", "qwen", "internvl", "llava_video"];

/// Every case, one of each weights first, then the other layouts.
pub(crate) const CASES: &[&str] = &[
    "llava15",
    "llava15-tied",
    "next-llama",
    "next-mistral",
    "qwen25",
    "qwen25-tied",
    "qwen3",
    "qwen3-tied",
    "qwen35",
    "qwen35-tied",
    "internvl3",
    "internvl3-tied",
    "video",
    "video-even",
    "llava15-tf5",
    "llava15-memory",
    "llava15-original",
    "next-original",
    "qwen25-memory",
    "internvl3-original",
    "video-onevision",
];

/// The cases that differ in more than their layout.
pub(crate) fn weights() -> &'static [&'static str] {
    &CASES[..14]
}

pub(crate) fn folder(case: &str) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data");
    let places = KINDS.iter().map(|kind| data.join(kind).join(case));
    places.into_iter().find(|place| place.is_dir()).unwrap_or_else(|| panic!("no case {case}"))
}

/// An engine and what transformers computed with the same weights.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) engine: Engine,
    /// What every request starts from.
    pub(crate) options: SessionOptions,
    pub(crate) expected: Value,
    source: PathBuf,
    tensors: HashMap<String, Tensor>,
}

impl Case {
    pub(crate) fn load(name: &str) -> Self {
        let (engine, report) = Engine::open(&folder(name), &EngineOptions::default()).unwrap();
        assert_eq!(report.unexpected, Vec::<String>::new(), "{name}");
        let own = json(&folder(name).join("expected.json"));
        let source = match own.get("same_weights_as") {
            Some(other) => folder(other.as_str().unwrap()),
            None => folder(name),
        };
        let file = source.join("expected.safetensors");
        let tensors = candle_core::safetensors::load(file, &Device::Cpu).unwrap();
        let expected = json(&source.join("expected.json"));
        let options = SessionOptions::default();
        Self { name: name.into(), engine, options, expected, source, tensors }
    }

    pub(crate) fn image(&self, name: &str) -> ImageInput {
        let file = self.expected["images"][name]["file"].as_str().unwrap();
        ImageInput::Encoded(std::fs::read(self.source.join(file)).unwrap())
    }

    /// The request of a run, with ids as they stand in the fixture.
    pub(crate) fn request(&self, run: &Value) -> Request {
        let images = strings(&run["images"]).iter().map(|name| self.image(name)).collect();
        let mut request = Request::new(images, Prompt::InputIds(u32s(&run["input_ids"])))
            .with(self.options.clone())
            .generating(GenerationOptions::greedy(ANSWER))
            .observing(Observe::TENSORS);
        if run.get("budget").is_some() {
            let mut pruning = Pruning::mico(Budget::Tokens(number(&run["budget"])));
            pruning.refine_layer = Some(number(&run["refine_layer"]));
            pruning.pool = number(&run["pool"]);
            request.options.pruning = pruning;
        }
        request
    }

    /// Those of the switches that the family has: it refuses others.
    pub(crate) fn own_switches(&self, words: &str) -> Switches {
        let mut switches = Switches::default();
        for word in words.split(',') {
            let one: Switches = word.parse().unwrap();
            if self.engine.family().check_switches(&one).is_ok() {
                let (name, value) = word.split_once('=').unwrap();
                switches.set(name, value).unwrap();
            }
        }
        switches
    }

    /// Sets the switches a run was made with.
    pub(crate) fn switch(&mut self, run: &Value) {
        let mut switches = Switches::default();
        for (name, key) in [("position_mode", "position_mode"), ("relevance", "relevance")] {
            if let Some(value) = run.get(key) {
                switches.set(name, value.as_str().unwrap()).unwrap();
            }
        }
        if run["packing"] == "spatial" {
            let videos = self.engine.takes_video();
            let (name, value) =
                if videos { ("video_newline", "none") } else { ("next_packing", "spatial") };
            switches.set(name, value).unwrap();
        }
        self.options.switches = switches;
    }

    pub(crate) fn run(&self, request: &Request) -> Outcome {
        self.engine.run(request, &mut ()).unwrap()
    }

    pub(crate) fn runs(&self, kind: &str) -> Vec<Value> {
        self.expected[kind].as_array().unwrap().clone()
    }

    pub(crate) fn tensor(&self, name: &str) -> &Tensor {
        self.tensors.get(name).unwrap_or_else(|| panic!("{}: no {name}", self.name))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// Holds `found` against the stored tensor, relative to its largest magnitude.
    pub(crate) fn check(&self, name: &str, found: &Tensor, tolerance: f32) {
        close(&format!("{}: {name}", self.name), found, self.tensor(name), tolerance);
    }
}

pub(crate) fn close(what: &str, found: &Tensor, expected: &Tensor, tolerance: f32) {
    assert_eq!(found.dims(), expected.dims(), "{what}");
    let difference = largest(&(found - expected).unwrap());
    let scale = largest(expected);
    assert!(difference <= tolerance * scale, "{what} differs by {difference} of {scale}");
}

/// Messages as the fixtures write them.
pub(crate) fn messages(value: &Value) -> Vec<Message> {
    let message = |value: &Value| {
        let role = match value["role"].as_str().unwrap() {
            "system" => Role::System,
            "user" => Role::User,
            _ => Role::Assistant,
        };
        let part = |part: &Value| match part["type"].as_str().unwrap() {
            "image" => Part::Image,
            _ => Part::Text(part["text"].as_str().unwrap().into()),
        };
        Message { role, parts: value["content"].as_array().unwrap().iter().map(part).collect() }
    };
    value.as_array().unwrap().iter().map(message).collect()
}

pub(crate) fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

pub(crate) fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}

pub(crate) fn number(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

pub(crate) fn usizes(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(number).collect()
}

pub(crate) fn u32s(value: &Value) -> Vec<u32> {
    usizes(value).into_iter().map(|v| v as u32).collect()
}

pub(crate) fn largest(tensor: &Tensor) -> f32 {
    tensor.to_dtype(DType::F32).unwrap().abs().unwrap().max_all().unwrap().to_scalar().unwrap()
}

pub(crate) fn bits(tensor: &Tensor) -> Vec<u32> {
    let values: Vec<f32> = tensor.flatten_all().unwrap().to_vec1().unwrap();
    values.into_iter().map(f32::to_bits).collect()
}

/// A copy of a case's files, to change some of them.
pub(crate) fn copy(case: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(folder(case)).unwrap() {
        let file = file.unwrap();
        if file.path().is_file() {
            std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
        }
    }
    copy
}

/// A turn without images that is answered and observed like another.
pub(crate) fn later(turn: &TurnRequest, ids: Vec<u32>) -> TurnRequest {
    let mut later = turn.clone();
    later.images.clear();
    later.prompt = Prompt::InputIds(ids);
    later
}

/// MiCo at a budget, refined after a block of the caller's.
pub(crate) fn refined(tokens: usize, block: usize) -> Pruning {
    let mut pruning = Pruning::mico(Budget::Tokens(tokens));
    pruning.refine_layer = Some(block);
    pruning
}

/// MiCo at a budget with a first stage of so many times as many tokens.
pub(crate) fn pooled(tokens: usize, pool: usize) -> Pruning {
    let mut pruning = Pruning::mico(Budget::Tokens(tokens));
    pruning.pool = pool;
    pruning
}

/// The first logits' bits, all of them.
pub(crate) fn logits(outcome: &Outcome) -> Vec<u32> {
    bits(outcome.tensors.as_ref().unwrap().get("first_logits").unwrap())
}

/// The likeliest first tokens.
pub(crate) fn top(outcome: &Outcome) -> &LogitsTrace {
    outcome.first_logits.as_ref().unwrap()
}

/// What the last selection inside the decoder kept, if there was one.
pub(crate) fn stage2(outcome: &Outcome) -> Option<&[usize]> {
    outcome.cuts.last().map(|cut| cut.kept.as_slice())
}

/// Cache lengths as the fixtures write them; none for a block that keeps a state instead.
pub(crate) fn expected_lengths(value: &Value) -> Vec<Option<usize>> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().map(|v| v as usize)).collect()
}

/// Position ids as a dump has them: one row, or three.
pub(crate) fn positions(value: &Value) -> Vec<Vec<i64>> {
    let row = |value: &Value| -> Vec<i64> {
        value.as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect()
    };
    match value[0] {
        Value::Array(_) => value.as_array().unwrap().iter().map(row).collect(),
        _ => vec![row(value)],
    }
}

/// The position ids of a dump.
pub(crate) fn dumped_positions(outcome: &Outcome) -> Vec<Vec<i64>> {
    let found = outcome.tensors.as_ref().unwrap().get("position_ids").unwrap();
    let rows = if found.rank() == 1 { found.unsqueeze(0).unwrap() } else { found.clone() };
    rows.to_vec2().unwrap()
}
