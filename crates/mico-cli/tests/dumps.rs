//! A dump of `mico trace` given to `mico select` leads to the engine's own choices.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::path::{Path, PathBuf};

use common::{json, mico, refused};
use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A traced request with its dump.
struct Traced {
    folder: tempfile::TempDir,
    trace: Value,
}

impl Traced {
    fn new(model: Option<&str>, image: &str, method: &str, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = mico(&["trace", "--prompt", "What is this?", "--max-new-tokens", "1"]);
        command.args(["--method", method]).args(more);
        if let Some(model) = model {
            command.arg("--model").arg(repository().join("fixtures/data").join(model));
        }
        command.arg("--image").arg(repository().join(image));
        command.arg("--dump").arg(folder.path().join("dump"));
        let trace = json(&mut command);
        Self { folder, trace }
    }

    /// What a stage kept.
    fn kept(&self, stage: &str) -> Vec<u64> {
        let kept = self.trace[stage]["kept"].as_array().unwrap().iter();
        kept.map(|token| token.as_u64().unwrap()).collect()
    }

    /// Chooses as many as a stage kept.
    fn select(&self, method: &str, stage: &str, more: &[&str]) -> Value {
        let budget = self.kept(stage).len().to_string();
        let mut command = mico(&["select", "--method", method, "--budget", &budget]);
        command.arg("--input").arg(self.folder.path().join("dump"));
        json(command.args(more))
    }
}

#[track_caller]
fn agree(found: &Value, kept: &[u64]) {
    let found: Vec<u64> =
        found["kept"].as_array().unwrap().iter().map(|token| token.as_u64().unwrap()).collect();
    assert_eq!(found, kept);
}

const NEXT: &str = "fixtures/data/llava/next-llama/inputs";
const QWEN: &str = "fixtures/data/qwen/qwen25/inputs";

#[test]
fn both_stages_of_mico_are_chosen_again() {
    let wide = format!("{NEXT}/wide.png");
    let odd = format!("{QWEN}/odd.png");
    let cases: [(Option<&str>, &str, &[&str]); 3] = [
        (None, "examples/shapes.png", &["--budget", "64"]),
        (Some("llava/next-llama"), &wide, &["--budget", "12", "--refine-layer", "1"]),
        (Some("qwen/qwen25"), &odd, &["--budget", "6", "--refine-layer", "1"]),
    ];
    for (model, image, flags) in cases {
        let traced = Traced::new(model, image, "mico", flags);
        assert!(traced.kept("stage1").len() > traced.kept("stage2").len(), "{model:?}");
        let first = traced.select("mico", "stage1", &[]);
        agree(&first, &traced.kept("stage1"));
        assert_eq!(first["n"], traced.trace["visual_tokens"]);
        agree(&traced.select("mico", "stage1", &["--stage", "1"]), &traced.kept("stage1"));
        let second = traced.select("mico", "stage2", &["--stage", "2"]);
        agree(&second, &traced.kept("stage2"));
        assert_eq!(second["n"].as_u64().unwrap() as usize, traced.kept("stage1").len());
    }
}

#[test]
fn methods_see_what_they_compare_and_with_whom() {
    let wide = format!("{NEXT}/wide.png");
    // Features of the tower within crops, and embeddings of the whole image.
    for method in ["vispruner", "scope", "divprune"] {
        let traced = Traced::new(Some("llava/next-llama"), &wide, method, &["--budget", "10"]);
        agree(&traced.select(method, "stage1", &[]), &traced.kept("stage1"));
    }
    let traced = Traced::new(None, "examples/shapes.png", "fastv", &["--budget", "200"]);
    agree(&traced.select("fastv", "stage2", &["--stage", "2"]), &traced.kept("stage2"));
}

#[test]
fn a_stage_that_is_not_there_is_named() {
    let patches = repository().join("examples/patches.safetensors");
    let mut command = mico(&["select", "--budget", "4", "--stage", "2"]);
    let message = refused(command.arg("--input").arg(patches), 1);
    assert!(message.contains("--stage 2") && message.contains("stage2."), "{message}");
    let traced = Traced::new(None, "examples/shapes.png", "divprune", &["--budget", "64"]);
    let mut command = mico(&["select", "--budget", "4", "--stage", "2"]);
    let message = refused(command.arg("--input").arg(traced.folder.path().join("dump")), 1);
    assert!(message.contains("--stage 2"), "{message}");
    refused(&mut mico(&["select", "--input", "x", "--budget", "4", "--stage", "3"]), 2);
}
