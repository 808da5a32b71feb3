//! The decoder against transformers: unpruned and pruned prefill, relevance, answers, caches.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use candle_core::{D, Device, Tensor};
use mico_model::{
    Caches, Decoder, DeepStack, LoadOptions, Normalization, Position, Positions, Precision, Tap,
    Tokens, VisionTaps, text_to_visual_attention,
};
use serde_json::Value;
use support::{Case, largest, select, u32s, usizes};

const ANSWER: usize = 8;

/// What stands at one place of the unpruned prompt.
#[derive(Clone, Copy, PartialEq)]
enum Slot {
    Text(u32),
    Visual(u32),
}

/// The prompt with `visual` tokens per placeholder.
fn slots(case: &Case, run: &Value, per_image: &[usize]) -> Vec<Slot> {
    let placeholder = case.model.config().image_token_id;
    let (mut image, mut next) = (0, 0);
    let mut out = Vec::new();
    for id in u32s(&run["input_ids"]) {
        if id == placeholder {
            out.extend((0..per_image[image] as u32).map(|i| Slot::Visual(next + i)));
            next += per_image[image] as u32;
            image += 1;
        } else {
            out.push(Slot::Text(id));
        }
    }
    out
}

fn embed(decoder: &Decoder, slots: &[Slot], visual: &Tensor) -> Tensor {
    let rows: Vec<Tensor> = slots
        .iter()
        .map(|slot| match slot {
            Slot::Text(id) => decoder.embed(&[*id]).unwrap(),
            Slot::Visual(i) => visual.narrow(0, *i as usize, 1).unwrap(),
        })
        .collect();
    Tensor::cat(&rows, 0).unwrap()
}

fn last_logits(decoder: &Decoder, hidden: &Tensor) -> Tensor {
    let last = hidden.dim(0).unwrap() - 1;
    decoder.logits(&hidden.narrow(0, last, 1).unwrap()).unwrap().squeeze(0).unwrap()
}

/// Cache lengths as stored; null where a block keeps a state.
fn lengths(stored: &Value) -> Vec<Option<usize>> {
    let length = |value: &Value| value.as_u64().map(|length| length as usize);
    stored.as_array().unwrap().iter().map(length).collect()
}

/// Greedy continuation; the last id is not fed back.
fn answer(decoder: &Decoder, first: &Tensor, start: u32, caches: &mut Caches) -> Vec<usize> {
    let mut logits = first.clone();
    let mut ids = Vec::new();
    for step in 0..ANSWER {
        let id = logits.argmax(D::Minus1).unwrap().to_scalar::<u32>().unwrap();
        ids.push(id as usize);
        if step + 1 < ANSWER {
            let positions = decoder.positions(&[start + step as u32]).unwrap();
            let hidden = decoder.embed(&[id]).unwrap();
            let run = decoder.run(0..decoder.blocks(), &hidden, &positions, caches, &[]).unwrap();
            logits = last_logits(decoder, &run.hidden);
        }
    }
    ids
}

fn visual_of(case: &Case, run: &Value, native: bool) -> (Tensor, Vec<usize>) {
    let images: Vec<&str> =
        run["images"].as_array().unwrap().iter().map(|i| i.as_str().unwrap()).collect();
    let embeds: Vec<Tensor> = images
        .iter()
        .map(|image| {
            let stored = format!("{image}.visual_embeds_native");
            let has_native = case.expected["family"] == "llava_next" && native;
            if has_native { case.tensor(&stored).clone() } else { case.visual_embeds(image) }
        })
        .collect();
    let counts = embeds.iter().map(|e| e.dim(0).unwrap()).collect();
    (Tensor::cat(&embeds, 0).unwrap(), counts)
}

fn unpruned(case: &Case, tolerance: f32) {
    let decoder = case.model.decoder();
    for run in case.expected["unpruned"].as_array().unwrap() {
        let name = run["name"].as_str().unwrap();
        let (visual, counts) = visual_of(case, run, run["packing"] == "native");
        let slots = slots(case, run, &counts);
        let hidden = embed(decoder, &slots, &visual);
        let positions = decoder.positions(&u32s(&run["position_ids"])).unwrap();
        let mut caches = decoder.new_caches();
        let done = decoder.run(0..decoder.blocks(), &hidden, &positions, &mut caches, &[]).unwrap();
        assert_eq!(caches.lengths(), lengths(&run["cache_lengths"]));
        let logits = last_logits(decoder, &done.hidden);
        case.check(&format!("{name}.first_logits"), &logits, tolerance);
        let mut others = decoder.new_caches();
        let last = decoder.run_to_last(0, &hidden, &positions, &mut others).unwrap();
        assert_eq!(others.lengths(), caches.lengths());
        case.check(&format!("{name}.first_logits"), &last_logits(decoder, &last), tolerance);
        let ids = answer(decoder, &logits, slots.len() as u32, &mut caches);
        assert_eq!(ids, usizes(&run["generated_ids"]), "{} {name}", case.name);
    }
}

#[test]
fn unpruned_runs_agree() {
    for name in [
        "llava15",
        "llava15-tf5",
        "llava15-memory",
        "llava15-original",
        "llava15-tied",
        "next-llama",
        "next-mistral",
        "next-original",
    ] {
        unpruned(&Case::load(name), 1e-5);
    }
}

#[test]
fn half_precision_storage_computes_the_same() {
    // The fixture's weights are exact in bfloat16, so widening them loses nothing.
    let options = LoadOptions { precision: Precision::Bf16, ..LoadOptions::default() };
    unpruned(&Case::load_with("next-mistral", &options), 1e-5);
}

/// The run whose blocks a case dumps.
fn dumped_run(case: &Case) -> Value {
    let stored = |run: &&Value| case.has(&format!("{}.hidden.0", run["name"].as_str().unwrap()));
    case.expected["unpruned"].as_array().unwrap().iter().find(stored).unwrap().clone()
}

/// Where its tokens stand: one number each, or three.
fn stored_positions(decoder: &Decoder, run: &Value) -> Positions {
    let stored = &run["position_ids"];
    if stored[0].is_number() {
        return decoder.positions(&u32s(stored)).unwrap();
    }
    let [time, row, column] = [0, 1, 2].map(|axis| u32s(&stored[axis]));
    let axes = time.into_iter().zip(row).zip(column);
    let place = |((time, row), column)| Position { time, row, column };
    decoder.positions_at(axes.map(place).collect()).unwrap()
}

#[test]
fn every_block_agrees() {
    for name in ["llava15", "qwen25", "qwen3", "qwen35", "internvl3", "video"] {
        let case = Case::load(name);
        let decoder = case.model.decoder();
        let run = dumped_run(&case);
        let name = |k: usize| format!("{}.hidden.{k}", run["name"].as_str().unwrap());
        let mut hidden = case.tensor(&name(0)).clone();
        let positions = stored_positions(decoder, &run);
        let image = run["images"][0].as_str().unwrap();
        let seen = case.model.encode(case.pixels(image), VisionTaps::default()).unwrap();
        let layers = case.model.embed(&seen).unwrap().deepstack;
        for (index, layer) in layers.iter().enumerate() {
            case.check(&format!("{image}.deepstack.{index}"), layer, 1e-5);
        }
        let placeholder = case.model.config().image_token_id;
        let ids = u32s(&run["input_ids"]);
        let first = ids.iter().position(|&id| id == placeholder).unwrap_or(0) as u32;
        let visual = run["visual_tokens"].as_u64().unwrap() as u32;
        let deepstack = DeepStack::new((first..first + visual).collect(), layers);
        let deepstack = (!deepstack.layers().is_empty()).then_some(&deepstack);
        let mut caches = decoder.new_caches();
        for k in 0..decoder.blocks() {
            let tokens = Tokens { hidden: &hidden, positions: &positions, deepstack };
            hidden = decoder.run_tokens(k..k + 1, tokens, &mut caches, &[]).unwrap().hidden;
            case.check(&name(k + 1), &hidden, 1e-5);
        }
    }
}

fn keep(slots: &[Slot], kept: &[u32]) -> Vec<u32> {
    let stays = |slot: &Slot| match slot {
        Slot::Text(_) => true,
        Slot::Visual(i) => kept.contains(i),
    };
    (0_u32..).zip(slots).filter(|(_, slot)| stays(slot)).map(|(row, _)| row).collect()
}

fn rows_where(slots: &[Slot], visual: bool) -> Vec<u32> {
    (0_u32..)
        .zip(slots)
        .filter(|(_, slot)| matches!(slot, Slot::Visual(_)) == visual)
        .map(|(row, _)| row)
        .collect()
}

fn pruned(case: &Case, run: &Value) {
    let name = run["name"].as_str().unwrap();
    let decoder = case.model.decoder();
    let (visual, counts) = visual_of(case, run, false);
    let all = slots(case, run, &counts);
    let kept = keep(&all, &u32s(&run["stage1"]["kept"]));
    let slots: Vec<Slot> = kept.iter().map(|&row| all[row as usize]).collect();
    let ids = u32s(&run["stage1"]["position_ids"]);
    if run["position_mode"] == "original" {
        assert_eq!(ids, kept);
    }
    let positions = decoder.positions(&ids).unwrap();
    let hidden = embed(decoder, &slots, &visual);
    let refine = run["refine_layer"].as_u64().unwrap() as usize;
    let (text, seen) = (rows_where(&slots, false), rows_where(&slots, true));
    let taps = [Tap { block: refine - 1, query_rows: text }];
    let mut caches = decoder.new_caches();
    let first = decoder.run(0..refine, &hidden, &positions, &mut caches, &taps).unwrap();
    case.check(&format!("{name}.stage2.features"), &select(&first.hidden, &seen), 1e-5);
    for (suffix, normalization) in
        [("", Normalization::FullCausal), ("_visual_only", Normalization::VisualOnly)]
    {
        let relevance = text_to_visual_attention(&first.taps[0], &seen, normalization).unwrap();
        let relevance = Tensor::new(relevance, &Device::Cpu).unwrap();
        case.check(&format!("{name}.stage2.relevance{suffix}"), &relevance, 1e-5);
    }
    let kept = keep(&slots, &u32s(&run["stage2"]["kept"]));
    let positions = positions.select(&kept).unwrap();
    let ids: Vec<u32> = positions.ids().iter().map(|id| id.time).collect();
    assert_eq!(ids, u32s(&run["stage2"]["position_ids"]));
    let hidden = select(&first.hidden, &kept);
    let rest = refine..decoder.blocks();
    let second = decoder.run(rest, &hidden, &positions, &mut caches, &[]).unwrap();
    assert_eq!(caches.lengths(), lengths(&run["cache_lengths"]), "{name}");
    let logits = last_logits(decoder, &second.hidden);
    case.check(&format!("{name}.first_logits"), &logits, 1e-5);
    let next = run["next_position"].as_u64().unwrap() as u32;
    let ids = answer(decoder, &logits, next, &mut caches);
    assert_eq!(ids, usizes(&run["generated_ids"]), "{} {name}", case.name);
    if let Some(turn) = run.get("second_turn") {
        let hidden = decoder.embed(&u32s(&turn["fed_ids"])).unwrap();
        let ids = u32s(&turn["position_ids"]);
        let positions = decoder.positions(&ids).unwrap();
        let all = 0..decoder.blocks();
        let third = decoder.run(all, &hidden, &positions, &mut caches, &[]).unwrap();
        assert_eq!(caches.lengths(), lengths(&turn["cache_lengths"]), "{name}");
        let logits = last_logits(decoder, &third.hidden);
        case.check(&format!("{name}.second_turn.first_logits"), &logits, 1e-5);
        let next = ids.last().unwrap() + 1;
        let ids = answer(decoder, &logits, next, &mut caches);
        assert_eq!(ids, usizes(&turn["generated_ids"]), "{} {name} second turn", case.name);
    }
}

#[test]
fn pruned_runs_agree() {
    let mut runs = 0;
    for name in ["llava15", "llava15-tied", "next-llama", "next-mistral", "next-original"] {
        let case = Case::load(name);
        for run in case.expected["pruned"].as_array().unwrap() {
            pruned(&case, run);
            runs += 1;
        }
    }
    assert!(runs > 20, "only {runs} pruned runs were found");
}

#[test]
fn keeping_everything_is_bit_identical() {
    let case = Case::load("next-mistral");
    let decoder = case.model.decoder();
    let hidden = case.visual_embeds("strip");
    let rows: Vec<u32> = (0..hidden.dim(0).unwrap() as u32).collect();
    let positions = decoder.positions(&rows).unwrap();
    let mut caches = decoder.new_caches();
    let whole =
        decoder.run(0..decoder.blocks(), &hidden, &positions, &mut caches, &[]).unwrap().hidden;
    let mut caches = decoder.new_caches();
    let taps = [Tap { block: 1, query_rows: vec![3, 60] }];
    let first = decoder.run(0..2, &hidden, &positions, &mut caches, &taps).unwrap();
    let kept = select(&first.hidden, &rows);
    let positions = positions.select(&rows).unwrap();
    let second =
        decoder.run(2..decoder.blocks(), &kept, &positions, &mut caches, &[]).unwrap().hidden;
    assert_eq!(largest(&(whole - second).unwrap()).to_bits(), 0);
}

#[test]
fn bad_calls_are_refused_by_name() {
    let case = Case::load("llava15");
    let decoder = case.model.decoder();
    let mut caches = decoder.new_caches();
    let hidden = decoder.embed(&[1, 2, 3]).unwrap();
    let positions = decoder.positions(&[0, 1, 2]).unwrap();
    let error = decoder.embed(&[1, 128]).unwrap_err().to_string();
    assert!(error.contains("128"), "{error}");
    let two = decoder.positions(&[0, 1]).unwrap();
    assert!(decoder.run(0..1, &hidden, &two, &mut caches, &[]).is_err());
    assert!(decoder.run(0..5, &hidden, &positions, &mut caches, &[]).is_err());
    let tap = [Tap { block: 2, query_rows: vec![0] }];
    assert!(decoder.run(0..2, &hidden, &positions, &mut caches, &tap).is_err());
    let tap = [Tap { block: 1, query_rows: vec![3] }];
    assert!(decoder.run(0..2, &hidden, &positions, &mut caches, &tap).is_err());
    assert!(decoder.run_to_last(4, &hidden, &positions, &mut caches).is_err());
    let mut wrong = Caches::new(3);
    assert!(decoder.run(0..2, &hidden, &positions, &mut wrong, &[]).is_err());
    assert!(caches.is_empty(), "a refused call must not touch the caches");
}
