//! Memory that is not there is told in one line, before it is taken.

#![cfg(target_os = "linux")]
#![cfg(feature = "eval")]
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::refused;
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data").join(name)
}

/// A call in so many kibibytes of address space.
fn within(kibibytes: u64, call: &[&str]) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::new("bash");
    command.arg("-c").arg(format!("ulimit -v {kibibytes}; exec \"$0\" \"$@\""));
    command.arg(assert_cmd::cargo::cargo_bin("mico")).args(call).env_remove("MICO_NO_MEMORY_CHECK");
    command
}

#[test]
fn a_model_that_does_not_fit_is_refused_with_what_it_takes_and_what_would_help() {
    let dense = ["bench", "--synthetic", "llava-1.5-7b"];
    let text = refused(&mut within(4_000_000, &dense), 1);
    for part in ["the model takes 2", "for weights", "GiB are free", "--quantize q4k takes 4."] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let quantized = [&dense[..], &["--quantize", "q4k"]].concat();
    let text = refused(&mut within(4_000_000, &quantized), 1);
    assert!(text.contains("the model takes 4.") && !text.contains("--quantize"), "{text}");
}

#[test]
fn a_request_that_does_not_fit_is_refused_and_one_that_does_is_answered() {
    let (model, image) =
        (fixture("qwen/qwen25-tied"), fixture("llava/llava15-tied/inputs/plain.png"));
    let call = |verb: &'static str, more: &[&str]| -> Vec<String> {
        let ask = if verb == "run" { ["hi"].as_slice() } else { &["--prompt", "hi"] };
        let first = [verb, "--model", model.to_str().unwrap(), "--image", image.to_str().unwrap()];
        first.iter().chain(more).chain(ask).map(ToString::to_string).collect()
    };
    // A picture of so many pixels has more visual tokens than there is memory for.
    let large = ["--min-pixels", "16000000", "--max-pixels", "16000000"];
    for verb in ["run", "trace"] {
        let args = call(verb, &large);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let text = refused(&mut within(1_000_000, &args), 1);
        for part in ["the request takes", "for pixels and activations", "free: a smaller image"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
    let args = call("run", &["--max-new-tokens", "2"]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    within(1_000_000, &args).assert().success();
}

#[test]
fn an_answer_longer_than_there_is_memory_for_is_refused_before_it_begins() {
    let (source, folder) = (fixture("qwen/qwen25-tied"), tempfile::tempdir().unwrap());
    for entry in fs::read_dir(&source).unwrap().map(Result::unwrap) {
        if entry.path().is_file() {
            fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
    }
    let config = folder.path().join("config.json");
    let mut json: Value = serde_json::from_slice(&fs::read(&config).unwrap()).unwrap();
    let longest = "max_position_embeddings";
    let part =
        if json["text_config"][longest].is_u64() { &mut json["text_config"] } else { &mut json };
    part[longest] = Value::from(1 << 24);
    fs::write(&config, json.to_string()).unwrap();
    let model = folder.path().to_str().unwrap();
    let image = fixture("llava/llava15-tied/inputs/plain.png");
    let image = image.to_str().unwrap();
    let call = ["run", "--model", model, "--image", image, "--max-new-tokens", "16000000", "hi"];
    let text = refused(&mut within(1_000_000, &call), 1);
    for part in ["the request takes", "GiB for KV caches", "free: fewer new tokens"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
