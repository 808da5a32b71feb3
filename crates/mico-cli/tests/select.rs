//! `mico select` as a user runs it.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::path::{Path, PathBuf};

use common::{json, mico, refused};
use serde_json::Value;

fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mico-select/tests/golden").join(case)
}

/// Name, type, shape and bytes.
type RawTensor<'a> = (&'a str, &'a str, &'a str, Vec<u8>);

/// A small file: four tokens, two of them alike.
fn small_file(folder: &tempfile::TempDir) -> PathBuf {
    let features: [f32; 8] = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, -1.0, 0.5];
    write_file(folder, "small", &[("features", "F32", "[4,2]", bytes(&features))])
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn write_file(folder: &tempfile::TempDir, name: &str, tensors: &[RawTensor<'_>]) -> PathBuf {
    let mut header = Vec::new();
    let mut data: Vec<u8> = Vec::new();
    for (tensor, dtype, shape, bytes) in tensors {
        let (from, to) = (data.len(), data.len() + bytes.len());
        header.push(format!(
            r#""{tensor}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{from},{to}]}}"#
        ));
        data.extend(bytes);
    }
    let header = format!("{{{}}}", header.join(","));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    file.extend(data);
    let path = folder.path().join(format!("{name}.safetensors"));
    std::fs::write(&path, file).unwrap();
    path
}

#[test]
fn golden_cases_through_the_command() {
    for case in ["mico/groups_n320_b80", "visionzip/n576_b63", "apet/n256_b48_start"] {
        let path = golden(case);
        let text = std::fs::read_to_string(path.with_extension("json")).unwrap();
        let expected: Value = serde_json::from_str(&text).unwrap();
        let mut command = mico(&[]);
        command.args(["select", "--method", expected["method"].as_str().unwrap()]);
        command.arg("--input").arg(path.with_extension("safetensors"));
        command.args(["--budget", &expected["budget"].to_string()]);
        for (key, value) in expected["set"].as_object().unwrap() {
            command.args(["--set", &format!("{key}={value}")]);
        }
        let answer = json(&mut command);
        for field in ["method", "n", "budget", "kept"] {
            assert_eq!(answer[field], expected[field], "{case}: {field}");
        }
        if !expected["merged"].is_null() {
            assert_eq!(answer["merged"], expected["merged"], "{case}");
        }
        assert!(answer["seconds"]["kernel"].is_number() && answer["seconds"]["select"].is_number());
    }
}

#[test]
fn the_answer_is_on_stdout_and_the_rest_on_stderr() {
    let folder = tempfile::tempdir().unwrap();
    let file = small_file(&folder);
    let output =
        mico(&[]).args(["select", "--budget", "2", "--input"]).arg(&file).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "0 3\n");
    assert!(String::from_utf8(output.stderr).unwrap().contains("kept 2 of 4"));
    let piped = mico(&[])
        .args(["select", "--budget", "2", "--input", "-"])
        .write_stdin(std::fs::read(&file).unwrap())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), "0 3\n");
}

#[test]
fn flags_have_environment_twins() {
    let folder = tempfile::tempdir().unwrap();
    let file = small_file(&folder);
    let mut command = mico(&[]);
    command.arg("select").env("MICO_INPUT", &file).env("MICO_BUDGET", "3");
    command.env("MICO_METHOD", "random").env("MICO_SEED", "5").env("MICO_THREADS", "1");
    let by_env = json(&mut command);
    let mut command = mico(&[]);
    command.args(["select", "--budget", "3", "--method", "random", "--seed", "5", "--input"]);
    assert_eq!(by_env["order"], json(command.arg(&file))["order"]);
}

#[test]
fn remainder_is_a_setting_of_every_method() {
    let folder = tempfile::tempdir().unwrap();
    let groups: Vec<u8> = [0i64, 0, 0, 1, 1, 1].iter().flat_map(|g| g.to_le_bytes()).collect();
    let features: Vec<f32> = (0..12u8).map(|i| f32::from(i * 7 % 5)).collect();
    let relevance: Vec<f32> = (1..7u8).map(f32::from).collect();
    let tensors = [
        ("features", "F32", "[6,2]", bytes(&features)),
        ("relevance", "F32", "[6]", bytes(&relevance)),
        ("group", "I64", "[6]", groups),
    ];
    let file = write_file(&folder, "groups", &tensors);
    for (method, set, count) in [
        ("fastv", "remainder=drop", 2),
        ("fastv", "remainder=first", 3),
        ("mico", "remainder=first", 3),
    ] {
        let mut command = mico(&[]);
        command.args(["select", "--budget", "3", "--method", method, "--set", set, "--input"]);
        let answer = json(command.arg(&file));
        assert_eq!(answer["kept"].as_array().unwrap().len(), count, "{method} {set}");
    }
}

#[test]
fn wrong_calls_exit_with_two() {
    let folder = tempfile::tempdir().unwrap();
    let file = small_file(&folder).display().to_string();
    let call = |args: &[&str]| {
        let mut command = mico(&[]);
        command.args(["select", "--input", &file]).args(args);
        refused(&mut command, 2)
    };
    assert!(call(&["--budget", "2", "--method", "nosuch"]).contains("vispruner"));
    assert!(call(&["--budget", "2", "--set", "ratio=1"]).contains("coverage"));
    assert!(call(&["--budget", "2", "--set", "ratio"]).contains("KEY=VALUE"));
    assert!(call(&["--budget", "2", "--set", "remainder=last"]).contains("drop, first"));
    assert!(call(&["--budget", "two"]).contains("two"));
    assert!(call(&["--budget", "-1"]).contains("-1"));
    assert!(call(&["--budget", "2", "--threads", "0"]).contains("threads"));
    assert!(call(&["--budget", "2", "--memory", "lots"]).contains("lots"));
    assert!(call(&[]).contains("--budget"));
    assert!(call(&["--nosuch"]).contains("--nosuch"));
    assert!(refused(mico(&[]).arg("nosuch"), 2).contains("nosuch"));
    assert!(refused(&mut mico(&[]), 2).contains("--help"));
}

#[test]
fn bad_inputs_exit_with_one_and_name_the_culprit() {
    let folder = tempfile::tempdir().unwrap();
    let call = |file: &Path, budget: &str, method: &str| {
        let mut command = mico(&[]);
        command.args(["select", "--budget", budget, "--method", method, "--input"]).arg(file);
        refused(&mut command, 1)
    };
    let small = small_file(&folder);
    assert!(call(&small, "0", "mico").contains("budget"));
    assert!(call(&small, "2", "fastv").contains("relevance"));
    assert!(call(Path::new("/nonexistent/x"), "2", "mico").contains("/nonexistent/x"));
    assert!(call(folder.path(), "2", "mico").contains(&*folder.path().to_string_lossy()));

    let f32s = |values: &[f32]| bytes(values);
    let ok = f32s(&[1.0, 2.0, 3.0, 4.0]);
    let cases: Vec<(&str, Vec<RawTensor<'_>>, &str)> = vec![
        (
            "nan",
            vec![("features", "F32", "[2,2]", f32s(&[1.0, f32::NAN, 0.0, 0.0]))],
            "NaN at [0,1]",
        ),
        ("inf", vec![("features", "F32", "[2,2]", f32s(&[f32::INFINITY; 4]))], "inf"),
        ("axes", vec![("features", "F32", "[4]", ok.clone())], "two axes"),
        ("empty", vec![("features", "F32", "[0,4]", vec![])], "features"),
        ("flat", vec![("features", "F32", "[4,0]", vec![])], "features"),
        ("int", vec![("features", "I32", "[2,2]", ok.clone())], "type I32"),
        (
            "negative",
            vec![
                ("features", "F32", "[2,2]", ok.clone()),
                ("weights", "F32", "[2]", f32s(&[1.0, -1.0])),
            ],
            "'weights' holds -1 at [1]",
        ),
        (
            "shape",
            vec![
                ("features", "F32", "[2,2]", ok.clone()),
                ("weights", "F32", "[3]", f32s(&[1.0; 3])),
            ],
            "shape [3], expected [2]",
        ),
        (
            "group",
            vec![("features", "F32", "[2,2]", ok.clone()), ("group", "I64", "[1]", vec![0; 8])],
            "group",
        ),
    ];
    for (name, tensors, word) in cases {
        let text = call(&write_file(&folder, name, &tensors), "1", "mico");
        assert!(text.contains(word), "{name}: {text}");
    }

    let good = std::fs::read(&small).unwrap();
    for length in [0, 3, 8, 20, good.len() - 1] {
        let path = folder.path().join("truncated");
        std::fs::write(&path, &good[..length]).unwrap();
        assert!(call(&path, "2", "mico").contains("truncated"));
    }
    let path = folder.path().join("text.safetensors");
    std::fs::write(&path, "this is no tensor file at all").unwrap();
    assert!(call(&path, "2", "mico").contains("safetensors"));
    let mut command = mico(&[]);
    command.args(["select", "--budget", "2", "--memory", "10B", "--input"]).arg(&small);
    assert!(refused(&mut command, 1).contains("10 bytes"));
    let mut command = mico(&[]);
    command.args(["select", "--budget", "2", "--memory", "1KB", "--input"]).arg(&small);
    let text = refused(&mut command, 1);
    assert!(text.contains("limit of 1000 bytes") && text.contains("small.safetensors"), "{text}");
}

#[test]
fn help_and_version_succeed() {
    for args in [&["--help"][..], &["--version"], &["select", "--help"], &["help", "select"]] {
        let output = mico(&[]).args(args).output().unwrap();
        assert!(output.status.success() && !output.stdout.is_empty());
    }
}
