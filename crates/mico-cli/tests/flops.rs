//! `mico flops` from outside.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use common::{json, mico};
use serde_json::Value;

fn count(args: &[&str]) -> Value {
    json(mico(&["flops"]).args(args))
}

fn refused(args: &[&str], status: i32, words: &[&str]) {
    let message = common::refused(mico(&["flops"]).args(args), status);
    assert!(words.iter().all(|word| message.contains(word)), "{message}");
}

#[test]
fn the_fields_of_the_contract_are_there() {
    let found = count(&["--preset", "llava-next-7b", "--budget", "160", "--text-tokens", "69"]);
    assert_eq!(found["preset"], "llava-next-7b");
    assert_eq!(found["visual_tokens"], 2880);
    assert_eq!((&found["stage1_kept"], &found["stage2_kept"]), (&320.into(), &115.into()));
    let parts = [
        "vision_encoder",
        "projector",
        "visual_pooling",
        "decoder",
        "output_head",
        "stage1",
        "stage2_relevance",
        "stage2_select",
    ];
    let gflops = &found["gflops"];
    let sum: f64 = parts.iter().map(|part| gflops[part].as_f64().unwrap()).sum();
    let total = gflops["total"].as_f64().unwrap();
    assert!((sum / total - 1.0).abs() < 1e-12);
    assert!((total / 5012.486 - 1.0).abs() < 0.01, "{total}");
}

#[test]
fn every_preset_counts_unpruned_and_pruned() {
    for preset in mico_engine::families::FamilySpec::presets() {
        let plain = count(&["--preset", preset.name, "--no-prune"]);
        assert!(plain["stage1_kept"].is_null() && plain["stage2_kept"].is_null());
        let tokens = plain["visual_tokens"].as_f64().unwrap();
        assert_eq!(plain["gflops"]["stage1"], 0.0);
        let pruned = count(&["--preset", preset.name, "--keep", "0.2", "--head", "last"]);
        assert!(pruned["layer_average"].as_f64().unwrap() < tokens, "{}", preset.name);
        let total = |value: &Value| value["gflops"]["total"].as_f64().unwrap();
        assert!(total(&pruned) < total(&plain), "{}", preset.name);
    }
}

#[test]
fn every_method_counts_or_says_why_not() {
    for method in mico_select::methods::pruners() {
        if matches!(method.name, "none" | "cdpruner") {
            continue;
        }
        let args = ["--preset", "llava-1.5-7b", "--budget", "192", "--method", method.name];
        let found = count(&args);
        let average = found["layer_average"].as_f64().unwrap();
        assert!((average - 192.0).abs() < 1.0, "{}: {average}", method.name);
    }
    // Budgets near all tokens and near none are met, too.
    for (method, budget) in [("sparsevlm", 500), ("vscan", 20), ("vscan", 5), ("apet", 9)] {
        let text = budget.to_string();
        let args = ["--preset", "llava-1.5-7b", "--budget", &text, "--method", method];
        let average = count(&args)["layer_average"].as_f64().unwrap();
        assert!((average - f64::from(budget)).abs() < 1.5, "{method} {budget}: {average}");
    }
    assert_eq!(count(&["--preset", "qwen2.5-vl-7b"])["visual_tokens"], 1296);
    let fastv = ["--preset", "llava-1.5-7b", "--method", "fastv", "--budget", "32"];
    refused(&fastv, 1, &["fastv", "(32 x 32 - 2 x 576) / 30 = -4.3"]);
    let mut authors = fastv.to_vec();
    authors.push("--authors-budget");
    let found = count(&authors);
    assert_eq!(found["stage2_kept"], 32);
    assert_eq!(found["layer_average"], 66.0);
    refused(
        &["--preset", "qwen3.5-9b", "--method", "vscan", "--budget", "128"],
        1,
        &["vscan", "linear attention"],
    );
    refused(
        &["--preset", "llava-1.5-7b", "--method", "cdpruner", "--budget", "64"],
        1,
        &["cdpruner", "CLIP"],
    );
}

#[test]
fn wrong_calls_are_told() {
    refused(&["--preset", "llava-2"], 2, &["llava-2", "llava-next-7b"]);
    refused(&["--preset", "llava-1.5-7b", "--frames", "4"], 2, &["--frames 4"]);
    refused(&["--preset", "llava-1.5-7b", "--method", "fastv"], 2, &["--method"]);
    refused(
        &["--preset", "tiny", "--text-tokens", "5", "--text-before", "6"],
        2,
        &["--text-before 6"],
    );
    let block =
        ["--preset", "tiny", "--budget", "200", "--method", "sparsevlm", "--refine-layer", "2"];
    refused(&block, 2, &["refine-layer", "several blocks"]);
}
