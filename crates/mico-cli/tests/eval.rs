//! `mico eval` and `mico calibrate`, as a user calls them.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::fs;

use common::{json, mico, refused};

#[test]
fn eval_scores_every_track_and_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/results").display().to_string();
    let base = ["eval", "--suite", "tiny", "--limit", "2", "--budgets", "64,32", "--methods"];
    let call = |more: &[&str]| mico(&[&base[..], more, &["--out", &out]].concat());
    let first = json(&mut call(&["mico,random"]));
    assert_eq!(first["items"], 18);
    // Unpruned, blank, and two methods at two budgets.
    let rows = first["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[0]["tracks"].as_array().unwrap().len(), 9);
    assert_eq!(rows[0]["rel"]["value"], 100.0);
    assert!((rows[2]["layer_average"].as_f64().unwrap() - 64.0).abs() < 0.5);
    assert_eq!(first["comparisons"].as_array().unwrap().len(), 2);

    assert!(refused(&mut call(&["mico,random"]), 2).contains("--resume"));
    let again = json(call(&["mico,random"]).arg("--resume"));
    assert_eq!(again["rows"], first["rows"]);
    let records = fs::read_to_string(folder.path().join("new/results/records.jsonl")).unwrap();
    assert_eq!(records.lines().count(), 6 * 18, "nothing was asked twice");
    // A further method is added to what is there.
    let more = json(call(&["mico,random,mico-s1"]).arg("--resume"));
    assert_eq!(more["rows"].as_array().unwrap().len(), 8);
    let table = fs::read_to_string(folder.path().join("new/results/summary.md")).unwrap();
    assert!(table.contains("| mico-s1 | 64 |") && table.contains("chance"), "{table}");
}

#[test]
fn calibrate_names_the_best_block_and_draws_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let call = ["calibrate", "--limit", "1", "--layers", "2,3,5", "--budget", "32", "--out", &out];
    let found = json(&mut mico(&call));
    assert_eq!(found["candidates"].as_array().unwrap().len(), 2);
    assert!([2, 3].contains(&found["best"].as_u64().unwrap()));
    for file in ["calibration.json", "calibration.md", "calibration.svg"] {
        assert!(folder.path().join(file).is_file(), "{file}");
    }
}

#[test]
fn wrong_calls_say_what_is_wrong() {
    let cases: [(&[&str], &str); 8] = [
        (&["eval"], "--suite"),
        (&["eval", "--suite", "huge"], "huge"),
        (&["eval", "--suite", "tiny", "--methods", "mica"], "mica"),
        (&["eval", "--suite", "tiny", "--budgets", "0"], "budget"),
        (&["eval", "--suite", "tiny", "--limit", "0"], "--limit"),
        (&["eval", "--suite", "tiny", "--resume"], "--out"),
        (&["calibrate", "--layers", "99", "--limit", "1"], "refine-layer"),
        (&["calibrate", "--budget", "0", "--limit", "1"], "budget"),
    ];
    for (call, named) in cases {
        let message = refused(&mut mico(call), 2);
        assert!(message.contains(named), "{call:?}: {message}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display().to_string();
    let message = refused(&mut mico(&["eval", "--suite", "tiny", "--out", &path]), 1);
    assert!(message.contains(&path), "{message}");
}
