//! Inputs and what the authors' own code selected from them (`tests/golden/<method>/`).

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::path::{Path, PathBuf};

use common::TensorFile;
use mico_select::methods::selector_by_name;
use mico_select::{Options, Settings, select};
use serde_json::Value;

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut cases = Vec::new();
    for method in std::fs::read_dir(root).unwrap() {
        for file in std::fs::read_dir(method.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|e| e == "json") {
                cases.push(path);
            }
        }
    }
    cases.sort();
    cases
}

fn indices(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|i| i.as_u64().unwrap() as usize).collect()
}

fn settings(case: &Value) -> Settings {
    let set = case["set"].as_object().unwrap();
    Settings::new(set.iter().map(|(key, value)| (key.clone(), value.to_string())))
}

fn check(path: &Path) -> Result<(), String> {
    let case: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let file = TensorFile::read(&path.with_extension("safetensors"));
    let selector = selector_by_name(case["method"].as_str().unwrap(), settings(&case)).unwrap();
    let budget = case["budget"].as_u64().unwrap() as usize;
    let answer = select(&*selector, &file.inputs(), budget, &Options::default())
        .map_err(|error| error.to_string())?;

    let expect = |what: &str, same: bool| if same { Ok(()) } else { Err(what.to_string()) };
    expect("kept", answer.kept == indices(&case["kept"]))?;
    if !case["order"].is_null() {
        expect("order", answer.order == indices(&case["order"]))?;
    }
    if let Some(objective) = case["objective"].as_f64() {
        let found = answer.objective.unwrap();
        expect("objective", (found - objective).abs() < 1e-6 * objective)?;
    }
    if let Some(merged) = case["merged"].as_array() {
        let found: Vec<(usize, Vec<usize>)> =
            answer.merges.iter().map(|m| (m.target, m.sources.clone())).collect();
        let expected: Vec<(usize, Vec<usize>)> =
            merged.iter().map(|m| (m[0].as_u64().unwrap() as usize, indices(&m[1]))).collect();
        expect("merged", found == expected)?;
    }
    Ok(())
}

#[test]
fn every_case_matches() {
    let cases = cases();
    assert!(cases.len() >= 40, "only {} cases found", cases.len());
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|path| check(path).err().map(|what| format!("{}: {what}", path.display())))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn sparsevlm_raters_match() {
    use mico_select::{Rows, Signal, methods::SparseVlm};
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/sparsevlm");
    let case: Value =
        serde_json::from_slice(&std::fs::read(root.join("raters_n240_b80.json")).unwrap()).unwrap();
    let file = TensorFile::read(&root.join("raters_n240_b80.safetensors"));
    let inputs = file.inputs();
    let dense = |signal| Rows::all(inputs.get(signal).unwrap()).to_dense();
    let raters = SparseVlm::raters(&dense(Signal::Projected), &dense(Signal::Text));
    assert_eq!(raters, indices(&case["raters"]));
}
