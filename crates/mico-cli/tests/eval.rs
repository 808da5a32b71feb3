//! `mico eval` and `mico calibrate`, as a user calls them.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::fs;

use common::{json, mico, refused};
use serde_json::Value;

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

/// Which records a damaged run loses, and what must be said of it.
type Loss<'a> = (&'a dyn Fn(&str) -> bool, &'a [&'a str]);

/// A record that is lost must not make its setting disappear from the tables.
#[test]
fn missing_records_are_named_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (run, lossy) = (at("run"), at("lossy"));
    let eval = ["eval", "--suite", "tiny", "--limit", "2", "--budgets", "64", "--methods", "mico"];
    let whole = json(mico(&eval).args(["--out", &run]));
    let records = fs::read_to_string(folder.path().join("run/records.jsonl")).unwrap();
    let lose = |lost: &dyn Fn(&str) -> bool| {
        fs::create_dir_all(&lossy).unwrap();
        fs::copy(at("run/run.json"), at("lossy/run.json")).unwrap();
        let left: Vec<&str> = records.lines().filter(|line| !lost(line)).collect();
        assert!(left.len() < records.lines().count());
        fs::write(at("lossy/records.jsonl"), left.join("\n") + "\n").unwrap();
    };
    let read = |line: &str| line.contains("\"track\":\"read\"");
    let pruned = |line: &str| line.contains("\"setting\":\"mico T=64");
    let second = |line: &str| line.contains("\"position\":1,");
    let losses: [Loss<'_>; 4] = [
        // One record, all of a track, an item of every setting, everything of one setting.
        (&|line| read(line) && pruned(line) && second(line), &["mico T=64: 1 of 18", "read/item"]),
        (&|line| read(line) && pruned(line), &["mico T=64: 2 of 18", "read/item"]),
        (&|line| read(line) && second(line), &["1 of 18", "read", "2 more settings"]),
        (&pruned, &["mico T=64: 18 of 18"]),
    ];
    for (lost, named) in losses {
        lose(lost);
        for call in [&["eval", "merge", &lossy, "--out", &at("merged")][..], &["report", &lossy]] {
            let message = refused(&mut mico(call), 1);
            assert!(named.iter().all(|part| message.contains(part)), "{message}");
            assert!(message.contains("lossy"), "{message}");
        }
        assert!(
            !folder.path().join("merged").exists()
                && !folder.path().join("lossy/report.html").exists()
        );
        let partial = json(&mut mico(&["eval", "merge", &lossy, "--partial"]));
        assert_eq!(partial["finished"], false);
        // What is missing is asked again, and only that.
        let resumed = json(mico(&eval).args(["--resume", "--out", &lossy]));
        assert_eq!(resumed["rows"].as_array().unwrap().len(), 3);
        for (row, expected) in
            resumed["rows"].as_array().unwrap().iter().zip(whole["rows"].as_array().unwrap())
        {
            assert_eq!(row["tracks"], expected["tracks"]);
        }
    }
    assert_eq!(json(&mut mico(&["eval", "merge", &run]))["rows"], whole["rows"]);
}

/// Every object with a value and an interval, anywhere in a document.
fn intervals(document: &Value, check: &mut dyn FnMut(f64, f64, f64)) {
    let number = |name: &str| document.get(name).and_then(Value::as_f64);
    if let (Some(value), Some(low), Some(high)) = (number("value"), number("low"), number("high")) {
        check(value, low, high);
    }
    match document {
        Value::Object(fields) => fields.values().for_each(|each| intervals(each, check)),
        Value::Array(all) => all.iter().for_each(|each| intervals(each, check)),
        _ => {}
    }
}

#[test]
fn intervals_contain_their_estimates() {
    for (call, least) in [
        ("eval --suite tiny --limit 2 --methods mico --budgets 64,16", 40),
        ("calibrate --suite tiny --limit 2 --layers 2,3 --budget 32", 3),
        ("diagnose --suite tiny --limit 20 --checks information,relevance", 4),
    ] {
        let mut count = 0;
        let found = json(&mut mico(&call.split_whitespace().collect::<Vec<_>>()));
        intervals(&found, &mut |value, low, high| {
            assert!(low <= value && value <= high, "{call}: {value} ({low} to {high})");
            count += 1;
        });
        assert!(count >= least, "{call}: {count}");
    }
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
