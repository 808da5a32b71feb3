//! Benchmarks from their files, through the embedded model: every layout, interruptions, parts, threads.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

use common::{json, mico, refused};
use serde_json::Value;

/// Every layout with the tracks that are published so.
const LAYOUTS: [(&str, &str); 5] = [
    (
        "vlmevalkit",
        "gqa,scienceqa_img,textvqa,pope,mme,mmbench_en,mmbench_cn,seedbench_img,ai2d,mmmu,hallusionbench,mmstar,\
         refcoco,chartqa,docvqa,ocrbench",
    ),
    ("localised", "mmbench_en,mmstar"),
    ("llava", "gqa,scienceqa_img,textvqa,pope,mme,mmbench_en,mmbench_cn,seedbench_img"),
    (
        "lmms",
        "gqa,scienceqa_img,textvqa,pope,mme,mmbench_en,mmbench_cn,seedbench_img,ai2d,mmmu,mmstar,refcoco,chartqa,\
         docvqa,ocrbench,videomme,mvbench,longvideobench,mlvu",
    ),
    ("coco", "grefcoco"),
];

fn data(layout: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mico-data/tests/data").join(layout);
    folder.display().to_string()
}

fn arguments(layout: &str, tasks: &str) -> Vec<String> {
    let call = ["eval", "--tasks", tasks, "--data", &data(layout), "--methods", "mico,random"];
    let more = ["--budgets", "64", "--max-frames", "1"];
    call.iter().chain(&more).map(|&part| part.to_owned()).collect()
}

fn call(layout: &str, tasks: &str, more: &[&str]) -> assert_cmd::Command {
    let arguments = arguments(layout, tasks);
    let mut all: Vec<&str> = arguments.iter().map(String::as_str).collect();
    all.extend(more);
    mico(&all)
}

/// A summary without what differs from run to run: times and the command line.
fn lasting(mut summary: Value) -> Value {
    summary["argv"] = Value::Null;
    for row in summary["rows"].as_array_mut().unwrap() {
        row["seconds"] = Value::Null;
    }
    summary
}

#[test]
fn every_layout_runs_from_its_files_to_scores() {
    for (layout, tasks) in LAYOUTS {
        let found = json(&mut call(layout, tasks, &["--limit", "3"]));
        let rows = found["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 3, "{layout}: {found}");
        for row in rows {
            let tracks = row["tracks"].as_array().unwrap();
            assert_eq!(tracks.len(), tasks.split(',').count(), "{layout}");
            for track in tracks {
                let name = format!("{layout} {}", track["track"]);
                assert!((1..=3).contains(&track["asked"].as_u64().unwrap()), "{name}: {track}");
                assert_eq!(track["failed"], 0, "{name}: {track}");
                assert!(track["value"]["value"].is_number(), "{name}: {track}");
            }
        }
        assert_eq!(found["damaged"].as_array().unwrap().len(), 0, "{layout}: {}", found["damaged"]);
    }
}

#[test]
fn a_killed_run_resumes_to_the_same_scores() {
    let folder = tempfile::tempdir().unwrap();
    let (layout, tasks) = ("vlmevalkit", "pope,mme,mmbench_en,hallusionbench");
    let whole = json(&mut call(layout, tasks, &[]));
    let out = folder.path().join("killed").display().to_string();
    let records = folder.path().join("killed/records.jsonl");
    let lines = || fs::read_to_string(&records).unwrap_or_default().lines().count();

    let program = assert_cmd::cargo::cargo_bin("mico");
    let mut child = Process::new(program)
        .args(arguments(layout, tasks))
        .args(["--out", &out])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let patience = Instant::now() + Duration::from_mins(5);
    while lines() < 20 && child.try_wait().unwrap().is_none() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(2));
    }
    // SIGKILL: nothing in the process can react to it.
    child.kill().unwrap();
    child.wait().unwrap();
    let left = lines();
    assert!(left >= 19, "{left} records were written before the kill");
    let resumed = json(&mut call(layout, tasks, &["--out", &out, "--resume"]));
    assert_eq!(lasting(resumed), lasting(whole));
    let text = fs::read_to_string(&records).unwrap();
    let mut keys: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["key"].to_string())
        .collect();
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count, "nothing was asked twice");
}

#[test]
fn two_parts_merged_are_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let (layout, tasks) = ("llava", "pope,mme,gqa");
    let whole = json(&mut call(layout, tasks, &[]));
    for part in ["1/2", "2/2"] {
        let out = place(&part.replace('/', "of"));
        json(&mut call(layout, tasks, &["--shard", part, "--out", &out]));
    }
    let (first, second, merged) = (place("1of2"), place("2of2"), place("merged"));
    let one = refused(&mut mico(&["eval", "merge", &first]), 1);
    assert!(one.contains("2/2"), "{one}");
    let found = json(&mut mico(&["eval", "merge", &first, &second, "--out", &merged]));
    let without = |mut summary: Value| {
        summary["model"] = Value::Null;
        lasting(summary)
    };
    assert_eq!(without(found), without(whole));
    for file in
        ["records.jsonl", "run.json", "summary.json", "summary.md", "table.tex", "table.csv"]
    {
        assert!(PathBuf::from(&merged).join(file).is_file(), "{file}");
    }
}

#[test]
fn threads_change_no_score() {
    let (layout, tasks) = ("lmms", "pope,mmmu,mvbench");
    let with = |threads: &str| lasting(json(&mut call(layout, tasks, &["--threads", threads])));
    assert_eq!(with("1"), with("2"));
}

#[test]
fn damaged_rows_are_named_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let table = fs::read_to_string(Path::new(&data("vlmevalkit")).join("POPE.tsv")).unwrap();
    let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
    lines.insert(2, "77\tnot enough cells".into());
    fs::write(folder.path().join("POPE.tsv"), lines.join("\n")).unwrap();
    let root = folder.path().display().to_string();
    let base =
        ["eval", "--tasks", "pope", "--data", &root, "--methods", "random", "--budgets", "32"];
    let output = mico(&base).arg("--json").output().unwrap();
    assert!(output.status.success());
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let damaged = found["damaged"].as_array().unwrap();
    assert_eq!(damaged.len(), 1, "{damaged:?}");
    let reason = damaged[0]["reason"].as_str().unwrap();
    assert!(reason.contains("POPE.tsv"), "{reason}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("POPE.tsv"));
    assert_eq!(found["items"].as_u64().unwrap() as usize, lines.len() - 2);
}

#[test]
fn predictions_made_elsewhere_are_scored() {
    let predictions = |name: &str| Path::new(&data("predictions")).join(name).display().to_string();
    let score = |task: &str, layout: &str, name: &str| {
        let (data, file) = (data(layout), predictions(name));
        json(&mut mico(&["score", "--task", task, "--predictions", &file, "--data", &data]))
    };
    let sheet = score("pope", "vlmevalkit", "POPE.xlsx");
    assert_eq!(sheet["profile"], "vlmevalkit");
    for other in ["POPE.tsv", "POPE.csv", "POPE.json"] {
        assert_eq!(score("pope", "vlmevalkit", other)["value"], sheet["value"], "{other}");
    }
    let log = score("pope", "lmms", "20260101_samples_pope.jsonl");
    assert_eq!((&log["profile"], &log["rule"]), (&"lmms".into(), &"lmms.pope".into()));
    let answers = score("mme", "llava", "mme_answers.jsonl");
    assert_eq!(answers["profile"], "llava");
    assert!(answers["value"]["value"].is_number(), "{answers}");
}

#[test]
fn wrong_calls_say_what_is_wrong() {
    let there = data("vlmevalkit");
    let cases: [(&[&str], i32, &str); 12] = [
        (&["eval", "--tasks", "pope"], 2, "--data"),
        (&["eval", "--tasks", "pop", "--data", &there], 2, "pop"),
        (&["eval", "--tasks", "vtcbench", "--data", &there], 2, "mico score"),
        (&["eval", "--tasks", "pope", "--data", "/no/such/folder"], 1, "POPE.tsv"),
        (&["eval", "--tasks", "mlvu", "--data", &there], 1, "mlvu"),
        (&["eval", "--tasks", "pope", "--data", &there, "--shard", "3/2"], 2, "3/2"),
        (&["eval", "--tasks", "pope", "--data", &there, "--profile", "gpt"], 2, "gpt"),
        (&["eval", "--tasks", "pope", "--data", &there, "--rule", "extract=1999"], 2, "1999"),
        (&["eval", "--sweep", "nothing"], 2, "components"),
        (&["eval", "merge", "/no/such/folder"], 1, "/no/such/folder"),
        (&["score", "--task", "pope"], 2, "--predictions"),
        (&["score", "--raw", "/no/such/file"], 1, "/no/such/file"),
    ];
    for (call, status, named) in cases {
        let message = refused(&mut mico(call), status);
        assert!(message.contains(named), "{call:?}: {message}");
    }
}

#[test]
fn single_rules_answer_line_by_line() {
    let input = concat!(
        r#"{"id": "a", "scorer": "llava.gqa", "kind": "item", "in": {"prediction": "Yes.", "answer": "yes"}}"#,
        "\n\nno json\n",
        r#"{"id": "b", "scorer": "nobody", "kind": "item", "in": {}}"#,
        "\n"
    );
    let output = mico(&["score", "--raw", "-"]).write_stdin(input).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0], serde_json::json!({"id": "a", "out": {"score": 1.0}}));
    assert!(lines[1]["error"].as_str().unwrap().contains("JSON"));
    assert!(lines[2]["error"].as_str().unwrap().contains("nobody"));
}

#[test]
fn calibration_takes_any_benchmark() {
    let there = data("vlmevalkit");
    let call =
        ["calibrate", "--tasks", "ocrbench", "--data", &there, "--limit", "4", "--layers", "2,3"];
    let found = json(&mut mico(&[&call[..], &["--budget", "32"]].concat()));
    // Whole pictures are drawn, so there may be a question more.
    assert!((4..=6).contains(&found["items"].as_u64().unwrap()), "{found}");
    assert_eq!(found["candidates"].as_array().unwrap().len(), 2);
    assert!(found["suite"].as_str().unwrap().starts_with("ocrbench"));
}

#[test]
fn vtc_bench_is_scored_from_logs() {
    let folder = tempfile::tempdir().unwrap();
    let tasks =
        ["gqa", "mmbench_en_dev", "mmbench_cn_dev", "mme", "pope", "mmstar", "ocrbench", "chartqa"];
    // Documents 0 to 3: which of them are answered rightly.
    let log = |place: &str, right: [bool; 4]| {
        let place = folder.path().join(place);
        fs::create_dir_all(&place).unwrap();
        for task in tasks {
            let lines = right.iter().enumerate().map(|(id, right)| {
                let said = if *right { "cat" } else { "dog" };
                format!(
                    r#"{{"doc_id": {id}, "filtered_resps": "{said}", "doc": {{"answer": "cat"}}}}"#
                )
            });
            let text = lines.collect::<Vec<_>>().join("\n");
            fs::write(place.join(format!("20260101_samples_{task}.jsonl")), text).unwrap();
        }
        place.display().to_string()
    };
    log("Data/Qwen2-VL-7B/Downsample/1", [true, true, false, true]);
    log("Data/Qwen2-VL-7B/Downsample/2", [true, false, true, false]);
    let target = log("target", [true, true, true, false]);
    let vanilla = log("vanilla", [true, true, true, true]);
    let data = folder.path().join("Data").display().to_string();
    let base = ["score", "--task", "vtcbench", "--data", &data, "--predictions", &target];
    let found = json(mico(&base).args(["--vanilla", &vanilla]));
    let factor = &found["targets"][0]["factors"][0];
    assert_eq!((&factor["downsample"], &factor["tasks"][0]["group_a"]), (&2.into(), &2.into()));
    assert_eq!((&factor["acc_a"], &factor["acc_b"]), (&50.0.into(), &100.0.into()));
    assert_eq!((&factor["rel_a"], &factor["gap"]), (&50.0.into(), &50.0.into()));

    // A run of one's own over the same tasks has its unpruned answers with it.
    let out = folder.path().join("run").display().to_string();
    let eval = call("lmms", "pope,gqa", &["--limit", "4", "--out", &out]).output().unwrap();
    assert!(eval.status.success());
    let own =
        json(&mut mico(&["score", "--task", "vtcbench", "--data", &data, "--predictions", &out]));
    let targets = own["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 2);
    assert_eq!(targets[0]["factors"][0]["tasks"].as_array().unwrap().len(), 2);
    assert!(targets[0]["factors"][0]["acc_a"].is_null(), "two tasks are not eight");
    let message = refused(
        &mut mico(&["score", "--task", "vtcbench", "--data", &out, "--predictions", &target]),
        1,
    );
    assert!(message.contains("Downsample"), "{message}");
}
