//! Every fixture case through the engine's public face, against transformers.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use candle_core::Tensor;
use mico_engine::{Outcome, Prompt};
use serde_json::Value;
use support::{
    ANSWER, CASES, Case, bits, close, dumped_positions, expected_lengths, later, messages, number,
    positions, stage2, strings, top, u32s, usizes,
};

/// The fixtures keep vision tensors by view; a dump has them in the order of the sequence.
fn in_sequence_order(case: &Case, image: &str, by_view: &Tensor) -> Tensor {
    let dims = by_view.dims();
    let flat = by_view.reshape((dims[0] * dims[1], ())).unwrap();
    let Some(order) = case.expected["images"][image].get("token_of_view") else { return flat };
    let places: Vec<usize> = order.as_array().unwrap().iter().flat_map(usizes).collect();
    let mut rows = vec![0_u32; places.len()];
    for (row, place) in places.into_iter().enumerate() {
        rows[place] = row as u32;
    }
    flat.index_select(&Tensor::new(rows, flat.device()).unwrap(), 0).unwrap()
}

/// Joins a per-image fixture tensor over the images of a run.
fn joined(case: &Case, run: &Value, of: impl Fn(&str) -> Tensor) -> Tensor {
    let parts: Vec<Tensor> = strings(&run["images"]).iter().map(|image| of(image)).collect();
    assert!(!case.name.is_empty());
    Tensor::cat(&parts, 0).unwrap()
}

fn dumped<'a>(outcome: &'a Outcome, name: &str) -> &'a Tensor {
    outcome.tensors.as_ref().unwrap().get(name).unwrap_or_else(|| panic!("no {name} in the dump"))
}

fn check_vision(case: &Case, run: &Value, outcome: &Outcome, native: bool) {
    let pixels = joined(case, run, |i| case.tensor(&format!("{i}.pixel_values")).clone());
    assert_eq!(dumped(outcome, "pixel_values").dims(), pixels.dims());
    assert_eq!(bits(dumped(outcome, "pixel_values")), bits(&pixels), "{}", case.name);
    let suffix = if native { "visual_embeds_native" } else { "visual_embeds" };
    let embeds = joined(case, run, |i| case.tensor(&format!("{i}.{suffix}")).clone());
    close("visual_embeds", dumped(outcome, "visual_embeds"), &embeds, 1e-4);
    if native {
        return;
    }
    let stage1 = |i: &str, what: &str| {
        in_sequence_order(case, i, case.tensor(&format!("{i}.stage1.{what}")))
    };
    let features = joined(case, run, |i| stage1(i, "features"));
    close("stage1.features", dumped(outcome, "stage1.features"), &features, 1e-4);
    let reliability = joined(case, run, |i| stage1(i, "reliability")).flatten_all().unwrap();
    close("stage1.reliability", dumped(outcome, "stage1.reliability"), &reliability, 1e-5);
}

fn check_common(case: &Case, run: &Value, outcome: &Outcome) {
    let name = run["name"].as_str().unwrap();
    let (usage, ids) = (&outcome.usage, &outcome.answer.ids);
    assert_eq!(usage.visual_tokens, number(&run["visual_tokens"]), "{name}");
    assert_eq!(usage.prompt_tokens, number(&run["prompt_tokens"]), "{name}");
    assert_eq!(usage.generated_tokens, ids.len(), "{name}");
    assert_eq!(outcome.cache_lengths, expected_lengths(&run["cache_lengths"]), "{name}");
    assert_eq!(*ids, u32s(&run["generated_ids"]), "{} {name}", case.name);
    case.check(&format!("{name}.first_logits"), dumped(outcome, "first_logits"), 1e-4);
    assert_eq!(top(outcome).argmax, ids[0]);
    assert_eq!(top(outcome).top.len(), 10);
}

#[test]
fn unpruned_runs_agree() {
    for &name in CASES {
        let mut case = Case::load(name);
        for run in case.runs("unpruned") {
            case.switch(&run);
            let outcome = case.run(&case.request(&run));
            let family = case.expected["family"].as_str().unwrap();
            let inserts = ["llava_next", "llava_video"].contains(&family);
            let native = run["packing"] == "native" && inserts;
            check_vision(&case, &run, &outcome, native);
            check_common(&case, &run, &outcome);
            assert!(outcome.stage1.is_none() && outcome.cuts.is_empty());
            let images = strings(&run["images"]).len() as f64;
            let usage = outcome.usage;
            assert!((usage.layer_average * images - usage.visual_tokens as f64).abs() < 1e-9);
            assert_eq!(dumped_positions(&outcome), positions(&run["position_ids"]));
        }
    }
}

fn pruned(case: &mut Case, run: &Value) {
    let name = run["name"].as_str().unwrap();
    case.switch(run);
    let request = case.request(run);
    let mut session = case.engine.session(request.options.clone());
    let outcome = session.ask(&case.engine, &request.turn, &mut ()).unwrap();
    check_vision(case, run, &outcome, false);
    check_common(case, run, &outcome);
    let stage1 = outcome.stage1.as_ref().unwrap();
    assert_eq!(stage1.kept, usizes(&run["stage1"]["kept"]), "{name}");
    assert_eq!(stage1.groups, usizes(&run["stage1"]["groups"]), "{name}");
    assert_eq!(stage2(&outcome).unwrap(), usizes(&run["stage2"]["kept"]), "{name}");
    let average = run["layer_average"].as_f64().unwrap();
    assert!((outcome.usage.layer_average - average).abs() < 1e-9, "{name}");
    assert_eq!(dumped_positions(&outcome), positions(&run["stage1"]["position_ids"]), "{name}");
    case.check(&format!("{name}.stage2.features"), dumped(&outcome, "stage2.features"), 1e-4);
    let suffix = if run["relevance"] == "visual_only" { "_visual_only" } else { "" };
    let relevance = dumped(&outcome, "stage2.relevance");
    case.check(&format!("{name}.stage2.relevance{suffix}"), relevance, 1e-5);
    let next = number(&run["next_position"]) + ANSWER - 1;
    assert_eq!(session.position() as usize, next, "{name}");
    let Some(turn) = run.get("second_turn") else { return };
    let text = turn["text"].as_str().unwrap();
    let ids = case.engine.tokenizer().unwrap().encode(text).unwrap();
    assert_eq!(ids, u32s(&turn["fed_ids"])[1..]);
    let second = later(&request.turn, ids);
    let outcome = session.ask(&case.engine, &second, &mut ()).unwrap();
    assert_eq!(outcome.cache_lengths, expected_lengths(&turn["cache_lengths"]), "{name}");
    assert_eq!(outcome.answer.ids, u32s(&turn["generated_ids"]), "{name}");
    let logits = dumped(&outcome, "first_logits");
    case.check(&format!("{name}.second_turn.first_logits"), logits, 1e-4);
}

#[test]
fn pruned_runs_agree() {
    let mut runs = 0;
    for &name in CASES {
        let mut case = Case::load(name);
        for run in case.runs("pruned") {
            pruned(&mut case, &run);
            runs += 1;
        }
    }
    assert!(runs > 40, "only {runs} pruned runs were found");
}

#[test]
fn conversations_agree() {
    for &name in CASES {
        let case = Case::load(name);
        for (key, chat) in case.expected["conversations"].as_object().unwrap() {
            let ids = case.engine.encode_messages(&messages(&chat["messages"]), None).unwrap();
            assert_eq!(ids, u32s(&chat["input_ids"]), "{name} {key}");
        }
    }
}

#[test]
fn messages_give_what_their_ids_give() {
    let case = Case::load("llava15");
    let run = &case.runs("pruned")[0];
    let by_ids = case.request(run);
    let mut by_text = by_ids.clone();
    by_text.turn.prompt = Prompt::question("What is in the image?", 1);
    let (a, b) = (case.run(&by_ids), case.run(&by_text));
    assert_eq!(a.answer.ids, b.answer.ids);
    assert_eq!(top(&a), top(&b));
}

#[test]
fn other_pixels_on_request() {
    for name in ["llava15", "llava15-tied", "next-llama", "next-mistral"] {
        let mut case = Case::load(name);
        case.options.switches = case.own_switches("llava15_pad=crop,anyres_axis=hf");
        for run in case.runs("unpruned") {
            let image = run["images"][0].as_str().unwrap();
            let expected = format!("{image}.pixel_values_hf");
            if run["images"].as_array().unwrap().len() == 1 && case.has(&expected) {
                let outcome = case.run(&case.request(&run));
                assert_eq!(bits(dumped(&outcome, "pixel_values")), bits(case.tensor(&expected)));
            }
        }
    }
}
