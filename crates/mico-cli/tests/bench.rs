//! `mico bench` as a user runs it, on the tiny checkpoint. No time is asserted.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

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
            "decode_per_token",
            "request",
        ] {
            let spread = &row["seconds"][component];
            let at = |key: &str| spread[key].as_f64().unwrap();
            assert!(0.0 <= at("min") && at("min") <= at("median") && at("median") <= at("max"));
        }
        let parts = row["gflops"].as_object().unwrap();
        let sum: f64 = parts
            .iter()
            .filter(|(name, _)| *name != "total")
            .map(|(_, v)| v.as_f64().unwrap())
            .sum();
        assert!((sum - row["gflops"]["total"].as_f64().unwrap()).abs() < 1e-12);
    }
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
            let realised = row["speedup"][part]["realised"]["median"].as_f64().unwrap();
            assert!(of("promised") > 1.0);
            assert!((of("share") - realised / of("promised")).abs() < 1e-12);
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
    refused(mico().args(["--model", "no-such-folder"]), 1, &["no-such-folder"]);
}
