//! What `mico bench` writes: journals it goes on from, tables and pictures.

use std::fs;

use assert_cmd::Command;
use serde_json::{Value, json as value};

use crate::common::{json, mico, refused};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/data/llava/llava15");

/// A bench of three settings on a tiny model.
fn bench(more: &[&str]) -> Command {
    let base = ["bench", "--model", MODEL, "--budget", "6", "--method", "mico,random"];
    let quick = ["--warmups", "1", "--new-tokens", "2", "--text-tokens", "9"];
    mico(&[&base[..], &quick, more].concat())
}

fn interrupted(report: &Value) -> Vec<bool> {
    let rounds = report["rounds"].as_array().unwrap().iter();
    rounds.map(|round| round["interrupted"].as_bool().unwrap()).collect()
}

#[test]
fn goes_on_where_it_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("bench.json").display().to_string();
    let journal = folder.path().join("bench.jsonl");
    let resume = ["--out", &out, "--resume", "--repeats", "2"];
    // Nothing to go on from yet: that is a beginning.
    let first = json(&mut bench(&resume));
    let whole = fs::read_to_string(&journal).unwrap();
    // What the runs have in common, and two rounds of three settings.
    assert_eq!(whole.lines().count(), 1 + 6);
    assert_eq!(interrupted(&first), [false, false]);
    let document: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(document["rows"], first["rows"]);

    // Nothing is missing: nothing is run.
    let again = json(&mut bench(&resume));
    assert_eq!(again["rows"], first["rows"]);
    assert_eq!(fs::read_to_string(&journal).unwrap(), whole);

    // Killed in the middle of writing the second run of the second round.
    let kept: Vec<&str> = whole.lines().take(1 + 4).collect();
    let kept = kept.join("\n") + "\n";
    fs::write(&journal, &whole[..kept.len() + 40]).unwrap();
    let resumed = json(&mut bench(&resume));
    let after = fs::read_to_string(&journal).unwrap();
    assert!(after.starts_with(&kept), "what was there was not run again");
    assert_eq!(after.lines().count(), 1 + 6);
    assert_eq!(interrupted(&resumed), [false, true]);
    let [before, now] = [&first, &resumed].map(|report| &report["rows"][0]);
    assert_eq!(before, now, "all runs of the unpruned model were there");

    // Further rounds and methods are added to what is there.
    let more = json(&mut bench(&["--out", &out, "--resume", "--repeats", "3"]));
    assert_eq!(interrupted(&more), [false, true, false]);
    assert_eq!(fs::read_to_string(&journal).unwrap().lines().count(), 1 + 9);
}

#[test]
fn a_journal_of_something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("bench").display().to_string();
    let journal = folder.path().join("bench.jsonl");
    let call = ["--repeats", "1", "--out", &out];
    json(&mut bench(&call));
    let message = refused(&mut bench(&call), 2);
    assert!(message.contains("bench.jsonl") && message.contains("--resume"), "{message}");
    let with = |more: &[&str]| bench(&[&call[..], &["--resume"], more].concat());
    let message = refused(&mut with(&["--seed", "7", "--threads", "1"]), 2);
    assert!(message.contains("seed 0 (now 7)"), "{message}");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("\"round\":0", "\"round\":-1", 1)).unwrap();
    let message = refused(&mut with(&[]), 1);
    assert!(message.contains("bench.jsonl line 2"), "{message}");
    fs::write(&journal, text.lines().nth(1).unwrap().to_owned() + "\n").unwrap();
    let message = refused(&mut with(&[]), 1);
    assert!(message.contains("bench.jsonl line 1"), "{message}");
}

#[test]
fn tables_and_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let [out, table, svg, png] = ["b.json", "b.md", "b.svg", "b.png"].map(at);
    let base = ["--out", &out, "--resume", "--repeats", "1"];
    let with = |more: &[&str]| bench(&[&base[..], more].concat());
    json(&mut with(&["--markdown", &table, "--plot", &svg]));
    let text = fs::read_to_string(&table).unwrap();
    for words in ["### T = 6", "| mico | 16 → 12 → 4 |", "| random |", "first token", "fused"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let text = fs::read_to_string(&svg).unwrap();
    check_svg(&text, &["mico", "mico 6", "random 6", "unpruned", "realised = promised"]);

    json(&mut with(&["--plot", &png]));
    let picture = image::open(&png).unwrap().to_rgb8();
    let inked = picture.pixels().filter(|pixel| pixel.0 != [255; 3]).count();
    assert!(inked > 10_000 && inked < picture.pixels().len() / 2, "{inked}");
}

#[test]
fn quality_over_speed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let [quality, svg] = ["summary.json", "b.svg"].map(at);
    let row = |setting: &str, tokens: Option<usize>, rel: Value| value!({"setting": setting, "tokens": tokens, "rel": rel, "acc": {"value": 1.0}});
    let rel = |rel: f64| value!({"value": rel, "low": rel, "high": rel});
    let rows = [
        row("unpruned", None, rel(100.0)),
        row("blank picture", None, Value::Null),
        row("mico", Some(6), rel(97.5)),
        row("random", Some(7), rel(50.0)),
    ];
    fs::write(&quality, value!({"suite": "tiny", "rows": rows}).to_string()).unwrap();
    let call = ["--repeats", "1", "--plot", &svg, "--quality", &quality];
    let output = bench(&call).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{message}");
    assert!(message.contains("random 6") && !message.contains("mico 6"), "{message}");
    let text = fs::read_to_string(&svg).unwrap();
    check_svg(&text, &["Rel (% of the unpruned accuracy)", "mico 6", "unpruned"]);
    assert!(!text.contains("random 6"));
    fs::write(&quality, value!({"rows": [row("mico", Some(6), Value::Null)]}).to_string()).unwrap();
    assert!(refused(&mut bench(&call), 1).contains("no row has a Rel"));
}

#[test]
fn quality_of_the_same_block_pool_and_switches() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let [quality, svg] = ["summary.json", "b.svg"].map(at);
    let row = |setting: &str, tokens: Option<usize>| value!({"setting": setting, "tokens": tokens, "rel": {"value": 90.0}});
    let call = ["--repeats", "1", "--plot", &svg, "--quality", &quality];
    let own = ["--refine-layer", "2", "--pool", "1", "--switch", "position_mode=compact"];
    let missing = |label: &str| {
        let rows = [row("unpruned", None), row(label, Some(6)), row("random", Some(6))];
        fs::write(&quality, value!({"rows": rows}).to_string()).unwrap();
        let output = bench(&[&call[..], &own].concat()).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{message}");
        message.contains("no Rel of: mico 6")
    };
    // An evaluation writes switches into labels unless its whole run has them.
    assert!(!missing("mico K=2 n=1 position_mode=compact"));
    assert!(!missing("mico K=2 n=1"));
    for other in ["mico", "mico K=2", "mico n=1", "mico K=2 n=1 position_mode=original"] {
        assert!(missing(other), "{other}");
    }
}

#[test]
fn runs_know_their_switches_and_the_model_its_number_format() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("bench.json").display().to_string();
    let call = ["--repeats", "1", "--out", &out, "--resume"];
    let with = |more: &[&str]| bench(&[&call[..], more].concat());
    let plain = json(&mut with(&[]));
    assert_eq!(plain["configuration"]["dtype"], "stored");
    let journal = folder.path().join("bench.jsonl");
    let runs = || fs::read_to_string(&journal).unwrap().lines().count() - 1;
    assert_eq!(runs(), 3);
    // Another switch is another condition: nothing that was measured stands for it.
    json(&mut with(&["--switch", "position_mode=compact"]));
    assert_eq!(runs(), 6);
    let message = refused(&mut with(&["--dtype", "bf16"]), 2);
    assert!(message.contains("dtype stored (now bf16)"), "{message}");
    let message = refused(&mut with(&["--switch", "nosuch=1"]), 2);
    assert!(message.contains("nosuch"), "{message}");
}

/// Every element is closed, every number is one, and the words are there.
fn check_svg(text: &str, words: &[&str]) {
    assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"), "{text}");
    assert!(!text.contains("NaN") && !text.contains("inf\""), "{text}");
    assert_eq!(text.matches('<').count(), text.matches('>').count());
    assert_eq!(text.matches("<text").count(), text.matches("</text>").count());
    for word in words {
        assert!(text.contains(&format!(">{word}</text>")), "{word}: {text}");
    }
}
