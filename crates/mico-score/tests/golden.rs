//! The golden vectors: what the public scorers answer, line for line.

use std::fs;
use std::path::{Path, PathBuf};

use mico_score::raw::Lines;
use serde_json::Value;

/// How far a number may be off.
const TOLERANCE: f64 = 1e-6;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    files
}

/// The first difference between what is expected and what came, as a path. A map may hold more than the vector lists: the vectors show some of MME's fourteen categories.
fn difference(expected: &Value, got: &Value, path: &str) -> Option<String> {
    let differs = || Some(format!("{path}: expected {expected}, got {got}"));
    match (expected, got) {
        (Value::Object(expected), Value::Object(found)) => {
            expected.iter().find_map(|(name, value)| match found.get(name) {
                Some(got) => difference(value, got, &format!("{path}.{name}")),
                None => Some(format!("{path}.{name}: expected {value}, got nothing")),
            })
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            let mut pairs = expected.iter().zip(found).enumerate();
            pairs.find_map(|(at, (expected, got))| {
                difference(expected, got, &format!("{path}[{at}]"))
            })
        }
        (Value::Number(expected), Value::Number(got)) => {
            let (expected, got) = (expected.as_f64()?, got.as_f64()?);
            if (expected - got).abs() <= TOLERANCE * expected.abs().max(1.0) {
                None
            } else {
                differs()
            }
        }
        (expected, got) if expected == got => None,
        _ => differs(),
    }
}

/// The fields of the output that the vector does not have.
fn surplus(expected: &Value, got: &Value) -> Vec<String> {
    let (Some(expected), Some(got)) = (expected.as_object(), got.as_object()) else {
        return Vec::new();
    };
    got.keys().filter(|name| !expected.contains_key(*name)).cloned().collect()
}

#[test]
fn every_vector_agrees() {
    let mut faults = Vec::new();
    let mut count = 0;
    for file in files() {
        let mut lines = Lines::new();
        for line in fs::read_to_string(&file).unwrap().lines() {
            let vector: Value = serde_json::from_str(line).unwrap();
            count += 1;
            let answer = lines.apply(line).unwrap();
            assert_eq!(answer["id"], vector["id"]);
            let id = &vector["id"];
            if let Some(error) = answer.get("error") {
                faults.push(format!("{id}: {error}"));
                continue;
            }
            faults.extend(
                difference(&vector["out"], &answer["out"], "out")
                    .map(|fault| format!("{id}: {fault}")),
            );
            let surplus = surplus(&vector["out"], &answer["out"]);
            if !surplus.is_empty() {
                faults.push(format!("{id}: {surplus:?} besides what the vector has"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 500, "only {count} vectors were looked at");
}

#[test]
fn the_comparison_can_fail() {
    let number = |value: f64| serde_json::json!({ "a": [value] });
    assert!(difference(&number(1.0), &number(1.0 + 1e-7), "out").is_none());
    assert!(difference(&number(1.0), &number(1.0 + 1e-5), "out").is_some());
    assert!(difference(&number(1.0), &serde_json::json!({ "a": [] }), "out").is_some());
    assert!(difference(&number(1.0), &serde_json::json!({}), "out").is_some());
}
