//! A family and a pruning method that live outside the workspace's crates: one value in one file each,
//! handed to `EngineOptions::families` and to `Pruning::new`, and they run like the others.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

#[path = "extend/abacus.rs"]
mod abacus;
mod support;
#[path = "extend/tally.rs"]
mod tally;

use std::path::Path;
use std::sync::Arc;

use candle_core::{Device, Tensor};
use mico_engine::families::{FAMILIES, FamilySpec, LLAVA};
use mico_engine::pruner::Pruning;
use mico_engine::{
    Engine, EngineOptions, ErrorKind, GenerationOptions, ImageInput, Observe, Outcome, Prompt,
    Request, SessionOptions,
};
use mico_select::Merge;
use mico_select::schedule::Budget;
use serde_json::json;
use support::{folder, logits, stage2};
use tally::Tally;

/// The families of the engine and one more.
static KNOWN: [&FamilySpec; 2] = [&LLAVA, &abacus::ABACUS];

/// Writes a checkpoint of the made-up family: a tiny LLaVA's tower and decoder, another projector.
fn write_checkpoint(to: &Path) {
    let from = folder("llava15");
    let mut config = support::json(&from.join("config.json"));
    config["model_type"] = json!("abacus");
    config["image_token_index"] = json!(null);
    std::fs::write(to.join("config.json"), config.to_string()).unwrap();
    let tokenizer = std::fs::read_to_string(from.join("tokenizer.json")).unwrap();
    std::fs::write(to.join("tokenizer.json"), tokenizer.replace("<image>", "<bead>")).unwrap();
    let mut tensors = std::collections::HashMap::new();
    for shard in ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"] {
        tensors.extend(candle_core::safetensors::load(from.join(shard), &Device::Cpu).unwrap());
    }
    tensors.retain(|name, _| !name.contains("multi_modal_projector"));
    let (tower, decoder) = (20, 24);
    let wave = |shape: &[usize], phase: f32| {
        let count: usize = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|i| (i as f32 * 0.7 + phase).sin() * 0.4).collect();
        Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
    };
    for (name, shape, phase) in [
        ("layer_norm.weight", &[tower][..], 1.5),
        ("layer_norm.bias", &[tower], 0.1),
        ("linear_1.weight", &[decoder, tower], 0.3),
        ("linear_1.bias", &[decoder], 0.9),
    ] {
        tensors.insert(format!("multi_modal_projector.{name}"), wave(shape, phase));
    }
    candle_core::safetensors::save(&tensors, to.join("model.safetensors")).unwrap();
}

fn open(families: &'static [&'static FamilySpec]) -> mico_engine::Result<Engine> {
    let checkpoint = tempfile::tempdir().unwrap();
    write_checkpoint(checkpoint.path());
    let options = EngineOptions { families, ..EngineOptions::default() };
    let (engine, report) = Engine::open(checkpoint.path(), &options)?;
    assert_eq!(report.unexpected, Vec::<String>::new());
    Ok(engine)
}

fn try_to_ask(engine: &Engine, pruning: Pruning) -> mico_engine::Result<Outcome> {
    let image = std::fs::read_dir(folder("llava15").join("inputs")).unwrap().next().unwrap();
    let image = ImageInput::Encoded(std::fs::read(image.unwrap().path()).unwrap());
    let request = Request::new(vec![image], Prompt::question("what is it?", 1))
        .with(pruning)
        .generating(GenerationOptions { ignore_eos: true, ..GenerationOptions::greedy(6) })
        .observing(Observe::TENSORS);
    engine.run(&request, &mut ())
}

fn ask(engine: &Engine, pruning: Pruning) -> Outcome {
    try_to_ask(engine, pruning).unwrap()
}

#[test]
fn a_family_of_ones_own_loads_answers_and_prunes() {
    let engine = open(&KNOWN).unwrap();
    let about = engine.describe();
    assert_eq!((about.family, about.prompt_style), ("abacus", "abacus"));
    // Nobody calibrated it: the block is scaled from the paper's 7 of 32.
    assert_eq!((about.preset, about.refine_layer), (None, 1));
    assert_eq!(about.image_token_id, 120);

    let plain = ask(&engine, Pruning::off());
    assert_eq!(plain.usage.visual_tokens, 16);
    let all = ask(&engine, Pruning::mico(Budget::Share(1.0)));
    assert_eq!(logits(&plain), logits(&all));
    assert_eq!(plain.answer.ids, all.answer.ids);

    let few = ask(&engine, Pruning::mico(Budget::Tokens(4)));
    assert_eq!(few.stage1.as_ref().unwrap().kept.len(), 8);
    assert!(stage2(&few).unwrap().len() < 8);
    assert_ne!(logits(&plain), logits(&few));
}

#[test]
fn its_prompt_stands_between_its_own_marks() {
    let engine = open(&KNOWN).unwrap();
    let messages = [mico_engine::Message::user("what?", 1)];
    let ids = engine.encode_messages(&messages, None).unwrap();
    let tokenizer = engine.tokenizer().unwrap();
    let place = ids.iter().position(|&id| id == 120).unwrap();
    let text = |ids: &[u32]| tokenizer.decode(ids).unwrap();
    assert!(text(&ids[..place]).ends_with("user("), "{}", text(&ids[..place]));
    assert!(text(&ids[place + 1..]).ends_with("what? answer:"), "{}", text(&ids[place + 1..]));
}

#[test]
fn who_does_not_know_it_says_so() {
    let error = open(FAMILIES).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let error = error.to_string();
    assert!(error.contains("`model_type` is `abacus`, accepted: llava, llava_next"), "{error}");
    let engine = open(&KNOWN).unwrap();
    let mut options = SessionOptions::default();
    options.switches = "llava15_pad=crop".parse().unwrap();
    let error = engine.check(&options).unwrap_err().to_string();
    assert!(error.ends_with("the family abacus knows no such switch"), "{error}");
}

fn tally(method: Tally, tokens: usize) -> Pruning {
    Pruning::new(Arc::new(method), Budget::Tokens(tokens))
}

#[test]
fn a_method_of_ones_own_keeps_what_it_planned() {
    let engine = open(&KNOWN).unwrap();
    let plain = ask(&engine, Pruning::off());
    let few = ask(&engine, tally(Tally::default(), 3));
    assert_eq!(few.stage1.as_ref().unwrap().kept.len(), 6);
    assert_eq!((few.cuts.len(), few.cuts[0].block), (1, tally::BLOCK));
    assert_eq!(stage2(&few).unwrap().len(), 3);
    // Two of the four blocks see 6 visual tokens, two see 3.
    assert_eq!(few.usage.layer_average, 4.5);
    let lengths = plain.cache_lengths.iter().zip(&few.cache_lengths);
    let gone: Vec<usize> = lengths.map(|(all, left)| all.unwrap() - left.unwrap()).collect();
    assert_eq!(gone, [10, 10, 13, 13]);
    assert_ne!(logits(&plain), logits(&few));
    // Shares are not its way.
    let share = Pruning::new(Arc::new(Tally::default()), Budget::Share(0.5));
    let error = try_to_ask(&engine, share).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
}

#[test]
fn a_method_that_merges_what_is_not_there_is_at_fault_itself() {
    let engine = open(&KNOWN).unwrap();
    let merge =
        |target, source| Some(Merge { target, own: 0.5, sources: vec![source], shares: vec![0.5] });
    for (target, source) in [(0, 99), (99, 0), (usize::MAX, usize::MAX)] {
        let bad = merge(target, source);
        for method in [
            Tally { in_rule: bad.clone(), ..Tally::default() },
            Tally { after_block: bad, ..Tally::default() },
        ] {
            let error = try_to_ask(&engine, tally(method, 3)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
            assert!(error.to_string().contains("'tally'"), "{error}");
        }
    }
    // The engine is none the worse for it.
    ask(&engine, tally(Tally::default(), 3));
}
