//! The hybrid decoder of Qwen3.5 against transformers: every block, runs of lengths around the chunks
//! of the delta rule, pruned runs, answers and second turns.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use candle_core::{D, Device, Tensor};
use mico_model::{Caches, Decoder, Normalization, Position, Tap, text_to_visual_attention};
use serde_json::Value;
use support::{Case, select, u32s};

const TOLERANCE: f32 = 1e-5;
/// For logits of a second turn: some heads of the fixture give next to nothing before they are
/// normalised, and there the single precision of transformers itself is 1.4e-5 away from double
/// precision.
const SECOND_TURN: f32 = 5e-5;

/// Positions stored one axis after the other.
fn positions(stored: &Value) -> Vec<Position> {
    let axes: Vec<Vec<u32>> = stored.as_array().unwrap().iter().map(u32s).collect();
    let [times, rows, columns] = axes.as_slice() else { panic!("{} axes", axes.len()) };
    let places = times.iter().zip(rows).zip(columns);
    places.map(|((&time, &row), &column)| Position { time, row, column }).collect()
}

/// Cache lengths as stored: null where a block keeps a state.
fn lengths(stored: &Value) -> Vec<Option<usize>> {
    let length = |value: &Value| value.as_u64().map(|length| length as usize);
    stored.as_array().unwrap().iter().map(length).collect()
}

/// The embeddings of a run's unpruned prompt, and which of its rows are visual.
fn prompt(case: &Case, run: &Value) -> (Tensor, Vec<u32>) {
    let decoder = case.model.decoder();
    let mut images = run["images"].as_array().unwrap().iter();
    let (mut parts, mut visual, mut count) = (Vec::new(), Vec::new(), 0);
    for id in u32s(&run["input_ids"]) {
        if id == case.model.config().image_token_id {
            let image = images.next().unwrap().as_str().unwrap();
            // As stored: the tower is compared elsewhere.
            let embeds = case.tensor(&format!("{image}.visual_embeds")).clone();
            let end = count + embeds.dim(0).unwrap() as u32;
            visual.extend(count..end);
            parts.push(embeds);
            count = end;
        } else {
            parts.push(decoder.embed(&[id]).unwrap());
            count += 1;
        }
    }
    (Tensor::cat(&parts, 0).unwrap(), visual)
}

fn last_logits(decoder: &Decoder, hidden: &Tensor) -> Tensor {
    let last = hidden.dim(0).unwrap() - 1;
    decoder.logits(&hidden.narrow(0, last, 1).unwrap()).unwrap().squeeze(0).unwrap()
}

/// Greedy continuation by as many ids as are expected; the last is not fed back.
fn check_answer(case: &Case, run: &Value, first: &Tensor, start: u32, caches: &mut Caches) {
    let decoder = case.model.decoder();
    let expected = u32s(&run["generated_ids"]);
    let mut logits = first.clone();
    for (step, &expected_id) in expected.iter().enumerate() {
        let id = logits.argmax(D::Minus1).unwrap().to_scalar::<u32>().unwrap();
        assert_eq!(id, expected_id, "step {step}");
        let positions = decoder.positions(&[start + step as u32]).unwrap();
        if step + 1 < expected.len() {
            let hidden = decoder.embed(&[id]).unwrap();
            let all = 0..decoder.blocks();
            let next = decoder.run(all, &hidden, &positions, caches, &[]).unwrap();
            logits = last_logits(decoder, &next.hidden);
        }
    }
}

#[test]
fn every_block_agrees() {
    let case = Case::load("qwen35");
    let decoder = case.model.decoder();
    let runs = case.expected["unpruned"].as_array().unwrap();
    let run = runs.iter().find(|run| run["name"] == "small.unpruned-native").unwrap();
    let places = decoder.positions_at(positions(&run["position_ids"])).unwrap();
    let name = |k: usize| format!("small.unpruned-native.hidden.{k}");
    let mut hidden = case.tensor(&name(0)).clone();
    let mut caches = decoder.new_caches();
    for k in 0..decoder.blocks() {
        hidden = decoder.run(k..k + 1, &hidden, &places, &mut caches, &[]).unwrap().hidden;
        case.check(&name(k + 1), &hidden, TOLERANCE);
    }
}

/// Runs every unpruned prompt and gives their lengths.
fn unpruned(case: &Case) -> Vec<usize> {
    let decoder = case.model.decoder();
    let mut seen = Vec::new();
    for run in case.expected["unpruned"].as_array().unwrap() {
        let name = format!("{}.first_logits", run["name"].as_str().unwrap());
        let (hidden, _) = prompt(case, run);
        let places = decoder.positions_at(positions(&run["position_ids"])).unwrap();
        let mut caches = decoder.new_caches();
        let all = 0..decoder.blocks();
        let done = decoder.run(all, &hidden, &places, &mut caches, &[]).unwrap();
        assert_eq!(caches.lengths(), lengths(&run["cache_lengths"]), "{name}");
        let logits = last_logits(decoder, &done.hidden);
        case.check(&name, &logits, TOLERANCE);
        let last = decoder.run_to_last(0, &hidden, &places, &mut decoder.new_caches()).unwrap();
        case.check(&name, &last_logits(decoder, &last), TOLERANCE);
        let next = run["next_position"].as_u64().unwrap() as u32;
        check_answer(case, run, &logits, next, &mut caches);
        seen.push(places.len());
    }
    seen
}

#[test]
fn unpruned_runs_agree() {
    assert_eq!(unpruned(&Case::load("qwen35-tied")).len(), 3);
    let seen = unpruned(&Case::load("qwen35"));
    for length in [63, 64, 65, 130] {
        assert!(seen.contains(&length), "no run of {length} tokens among {seen:?}");
    }
}

/// Rows of `all` that are text or among the `kept` visual ones.
fn survivors(all: usize, visual: &[u32], kept: &[u32]) -> Vec<u32> {
    let stays = |row: &u32| match visual.iter().position(|at| at == row) {
        Some(place) => kept.contains(&(place as u32)),
        None => true,
    };
    (0..all as u32).filter(stays).collect()
}

fn pruned(case: &Case, run: &Value) {
    let name = run["name"].as_str().unwrap();
    let decoder = case.model.decoder();
    let (hidden, visual) = prompt(case, run);
    let first_kept = u32s(&run["stage1"]["kept"]);
    let rows = survivors(hidden.dim(0).unwrap(), &visual, &first_kept);
    let hidden = select(&hidden, &rows);
    let places = decoder.positions_at(positions(&run["stage1"]["position_ids"])).unwrap();
    let (seen, text): (Vec<u32>, Vec<u32>) =
        (0..rows.len() as u32).partition(|&row| visual.contains(&rows[row as usize]));
    let refine = run["refine_layer"].as_u64().unwrap() as usize;
    let taps = [Tap { block: refine - 1, query_rows: text }];
    let mut caches = decoder.new_caches();
    let first = decoder.run(0..refine, &hidden, &places, &mut caches, &taps).unwrap();
    case.check(&format!("{name}.stage2.features"), &select(&first.hidden, &seen), TOLERANCE);
    for (suffix, normalization) in
        [("", Normalization::FullCausal), ("_visual_only", Normalization::VisualOnly)]
    {
        let relevance = text_to_visual_attention(&first.taps[0], &seen, normalization).unwrap();
        let relevance = Tensor::new(relevance, &Device::Cpu).unwrap();
        case.check(&format!("{name}.stage2.relevance{suffix}"), &relevance, TOLERANCE);
    }
    // Survivors are numbered as in the unpruned prompt.
    let kept = u32s(&run["stage2"]["kept"]);
    let kept: Vec<u32> =
        (0_u32..).zip(&first_kept).filter(|(_, at)| kept.contains(at)).map(|p| p.0).collect();
    let rows = survivors(rows.len(), &seen, &kept);
    let places = places.select(&rows).unwrap();
    assert_eq!(places.ids(), positions(&run["stage2"]["position_ids"]), "{name}");
    let hidden = select(&first.hidden, &rows);
    let rest = refine..decoder.blocks();
    let second = decoder.run(rest, &hidden, &places, &mut caches, &[]).unwrap();
    assert_eq!(caches.lengths(), lengths(&run["cache_lengths"]), "{name}");
    let logits = last_logits(decoder, &second.hidden);
    case.check(&format!("{name}.first_logits"), &logits, TOLERANCE);
    let next = run["next_position"].as_u64().unwrap() as u32;
    check_answer(case, run, &logits, next, &mut caches);
    let Some(turn) = run.get("second_turn") else { return };
    let hidden = decoder.embed(&u32s(&turn["fed_ids"])).unwrap();
    let places = decoder.positions_at(positions(&turn["position_ids"])).unwrap();
    let all = 0..decoder.blocks();
    let third = decoder.run(all, &hidden, &places, &mut caches, &[]).unwrap();
    assert_eq!(caches.lengths(), lengths(&turn["cache_lengths"]), "{name}");
    let logits = last_logits(decoder, &third.hidden);
    case.check(&format!("{name}.second_turn.first_logits"), &logits, SECOND_TURN);
    let next = places.ids().last().unwrap().time + 1;
    check_answer(case, turn, &logits, next, &mut caches);
}

#[test]
fn pruned_runs_agree() {
    let (mut runs, mut turns) = (0, 0);
    for name in ["qwen35", "qwen35-tied"] {
        let case = Case::load(name);
        for run in case.expected["pruned"].as_array().unwrap() {
            pruned(&case, run);
            runs += 1;
            turns += usize::from(run.get("second_turn").is_some());
        }
    }
    assert!(runs > 25 && turns > 3, "only {runs} pruned runs and {turns} second turns were found");
}
