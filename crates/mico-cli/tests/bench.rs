//! `mico bench` as a user runs it, on tiny checkpoints: what is measured and how it is told. No time is
//! asserted. Journals and pictures are in `files`.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;
#[path = "bench/files.rs"]
mod files;

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

fn fixture(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data/llava").join(case)
}

fn mico() -> Command {
    let mut command = Command::cargo_bin("mico").unwrap();
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("MICO_")) {
        command.env_remove(name);
    }
    command.arg("bench");
    command
}

fn report(case: &str, arguments: &[&str]) -> Value {
    let mut command = mico();
    command.arg("--model").arg(fixture(case)).arg("--json").args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a call that must fail: one line on stderr that holds `words`, nothing on stdout.
fn refused(command: &mut Command, status: i32, words: &[&str]) {
    let output = command.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{error}");
    assert!(output.stdout.is_empty());
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    for word in words {
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn rows_counts_and_components() {
    let arguments = ["--budget", "6,4", "--method", "mico,random", "--repeats", "2"];
    let report = report("llava15", &[&arguments[..], &["--text-tokens", "9"]].concat());
    let rows = report["rows"].as_array().unwrap();
    let names: Vec<(&str, Option<u64>)> =
        rows.iter().map(|row| (row["method"].as_str().unwrap(), row["budget"].as_u64())).collect();
    let expected = [
        ("none", None),
        ("mico", Some(6)),
        ("mico", Some(4)),
        ("random", Some(6)),
        ("random", Some(4)),
    ];
    assert_eq!(names, expected);
    for row in rows {
        assert_eq!(row["tokens"]["visual"], 16);
        assert_eq!(row["tokens"]["text"], 9);
        assert_eq!(row["tokens"]["generated"], 8);
        assert_eq!(row["dtype"], "f32");
        assert_eq!(row["quantize"], Value::Null);
        assert!(row["threads"].as_u64().unwrap() >= 1);
        assert!(row["attention"].is_string());
        assert!(row["argv"].as_array().unwrap().len() > 5);
        assert!(row.as_object().unwrap().contains_key("commit"));
        for component in [
            "preprocess",
            "vision",
            "projector",
            "stage1",
            "stage2_relevance",
            "stage2_select",
            "decoder_prefill",
            "prefill",
            "first_token",
            "decode_per_token",
            "request",
        ] {
            let spread = &row["seconds"][component];
            let at = |key: &str| spread[key].as_f64().unwrap();
            let ordered = [0.0, at("min"), at("q1"), at("median"), at("q3"), at("max")];
            assert!(ordered.is_sorted(), "{component}: {ordered:?}");
            assert_eq!(at("iqr"), at("q3") - at("q1"));
        }
        // Every run's first token comes after its prefill and before its end.
        let median = |component: &str| row["seconds"][component]["median"].as_f64().unwrap();
        assert!(median("prefill") <= median("first_token"));
        assert!(median("first_token") <= median("request"));
        let allocated = |key: &str| row["allocated_bytes"][key].as_u64().unwrap();
        assert!(allocated("above_start") > 0 && allocated("above_start") < allocated("peak"));
        let parts = row["gflops"].as_object().unwrap();
        let sum: f64 = parts
            .iter()
            .filter(|(name, _)| *name != "total")
            .map(|(_, v)| v.as_f64().unwrap())
            .sum();
        assert!((sum - row["gflops"]["total"].as_f64().unwrap()).abs() < 1e-12);
    }
    let rounds = serde_json::json!([
        {"round": 0, "interrupted": false},
        {"round": 1, "interrupted": false},
    ]);
    assert_eq!(report["rounds"], rounds);
    assert_eq!(report["refused"], serde_json::json!([]));
    assert_eq!(rows[0]["speedup"], Value::Null);
    // 16 visual tokens, 4 blocks, refinement after block 1: a pool of 12 and 4, or of 8 and 3.
    assert_eq!(rows[1]["tokens"]["stage1_kept"], 12);
    assert_eq!(rows[1]["tokens"]["stage2_kept"], 4);
    assert_eq!(rows[2]["tokens"]["stage1_kept"], 8);
    assert_eq!(rows[2]["tokens"]["stage2_kept"], 3);
    assert_eq!(rows[3]["gflops"]["stage1"], 0.0);
    // Keys and values of 24 f32 numbers each.
    assert_eq!(rows[0]["cache_bytes"], 4 * (16 + 9) * 2 * 24 * 4);
    assert_eq!(rows[1]["cache_bytes"], ((12 + 9) + 3 * (4 + 9)) * 2 * 24 * 4);
    for row in &rows[1..] {
        for part in ["prefill", "decoder"] {
            let of = |key: &str| row["speedup"][part][key].as_f64().unwrap();
            let realized = row["speedup"][part]["realised"]["median"].as_f64().unwrap();
            assert!(of("promised") > 1.0);
            assert!((of("share") - realized / of("promised")).abs() < 1e-12);
        }
        assert!(row["pruning_share"].as_f64().unwrap() >= 0.0);
    }
}

#[test]
fn budgets_default_to_shares_and_can_be_left_out() {
    let quick = ["--repeats", "1", "--warmups", "0", "--new-tokens", "1", "--threads", "1"];
    let next = report("next-mistral", &quick);
    let rows = next["rows"].as_array().unwrap();
    let pruned = rows[1]["tokens"]["visual"].as_u64().unwrap();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[1]["budget"].as_f64().unwrap(), (pruned as f64 * 2.0 / 9.0).round());
    assert_eq!(rows[0]["threads"], 1);
    let alone = report("llava15", &[&quick[..], &["--no-prune"]].concat());
    assert_eq!(alone["rows"].as_array().unwrap().len(), 1);
}

#[test]
fn methods_carry_settings() {
    let methods = "vispruner,vispruner:ratio=0.25,vispruner:ratio=0.25,none";
    let quick = ["--budget", "6", "--repeats", "1", "--warmups", "0", "--method", methods];
    let found = report("llava15", &quick);
    let rows = found["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["method"].as_str().unwrap()).collect();
    assert_eq!(names, ["none", "vispruner", "vispruner:ratio=0.25"]);
}

#[test]
fn what_is_refused_does_not_stop_the_others() {
    let case = "../qwen/qwen35-tied";
    // The third block of this model has no attention to refine by.
    let quick = ["--budget", "6", "--repeats", "1", "--refine-layer", "3", "--method"];
    let found = report(case, &[&quick[..], &["mico,random"]].concat());
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1]["method"], "random");
    let refused = found["refused"].as_array().unwrap();
    assert_eq!((refused.len(), &refused[0]["method"]), (1, &Value::from("mico")));
    let message = refused[0]["refused"].as_str().unwrap();
    assert!(message.contains("schedule refused"), "{message}");
    let with = |method: &str| {
        let mut command = mico();
        command.arg("--model").arg(fixture(case)).args(quick).arg(method);
        command
    };
    let output = with("mico,random").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("* mico T=6 was refused: schedule refused"), "{text}");
    refused_alone(&mut with("mico"));
}

/// The one setting that was asked for is refused: so is the bench.
fn refused_alone(command: &mut Command) {
    refused(command, 1, &["mico T=6", "schedule refused"]);
}

#[test]
fn many_settings_have_a_row_each() {
    let methods = "mico,mico-s1,random";
    let quick = ["--budget", "6,4", "--repeats", "1", "--warmups", "0", "--method", methods];
    let output = mico().arg("--model").arg(fixture("llava15")).args(quick).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for words in ["### T = 6", "### T = 4", "| *unpruned* |", "| random |", "threads", "Commit"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let widths: Vec<usize> =
        text.lines().filter(|line| line.starts_with('|')).map(|l| l.matches('|').count()).collect();
    assert_eq!(widths, [19; 12]);
}

#[test]
fn a_table_on_stdout_and_json_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bench.json");
    let output = mico()
        .arg("--model")
        .arg(fixture("llava15"))
        .args(["--keep", "0.25", "--repeats", "1", "--quantize", "q8_0", "--out"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("| | unpruned | mico T=4 |"), "{text}");
    assert!(text.contains("16 → 8 → 3"), "{text}");
    let document: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(document["rows"][0]["quantize"], "q8_0");
}

#[test]
fn wrong_calls_are_one_line() {
    let model = fixture("llava15");
    let with = |arguments: &[&str]| {
        let mut command = mico();
        command.arg("--model").arg(&model).args(arguments);
        command
    };
    refused(&mut mico(), 2, &["--model", "--synthetic"]);
    refused(mico().args(["--synthetic", "llava-2"]), 2, &["llava-2", "llava-1.5-7b"]);
    refused(&mut with(&["--method", "mica"]), 2, &["mica", "mico-s1"]);
    refused(&mut with(&["--budget", "0"]), 2, &["budget", "0"]);
    refused(&mut with(&["--keep", "1.5"]), 2, &["keep", "1.5"]);
    refused(&mut with(&["--quantize", "q3"]), 2, &["q3", "q4k"]);
    refused(&mut with(&["--repeats", "0"]), 2, &["--repeats"]);
    refused(&mut with(&["--refine-layer", "9"]), 2, &["refine-layer", "9"]);
    refused(&mut with(&["--no-prune", "--budget", "3"]), 2, &["--no-prune"]);
    refused(mico().args(["--model", "no-such-folder"]), 2, &["no-such-folder"]);
    refused(&mut with(&["--method", "vispruner:ratio"]), 2, &["vispruner:ratio", "KEY=VALUE"]);
    refused(&mut with(&["--method", "vispruner:ratio=7"]), 2, &["ratio", "7"]);
    refused(&mut with(&["--method", "mico:frob=1"]), 2, &["mico", "frob"]);
    refused(&mut with(&["--plot", "bench.pdf"]), 2, &["bench.pdf", ".svg", ".png"]);
    refused(&mut with(&["--plot", "bench"]), 2, &["bench", ".svg"]);
    refused(&mut with(&["--resume"]), 2, &["--out"]);
    refused(&mut with(&["--quality", "summary.json"]), 2, &["--plot"]);
    for flag in ["--out", "--markdown", "--plot"] {
        let path = "no-such-folder/bench.svg";
        refused(&mut with(&[flag, path]), 1, &[flag, path]);
    }
    let plot = ["--plot", "bench.svg", "--quality"];
    let missing = [&plot[..], &["no-such-file"]].concat();
    refused(&mut with(&missing), 1, &["--quality", "no-such-file"]);
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let other = [&plot[..], &[manifest]].concat();
    refused(&mut with(&other), 1, &["--quality", "Cargo.toml", "mico eval"]);
}
