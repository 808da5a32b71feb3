//! Files that are no files, never end or are larger than memory, in place of everything that is read.

#![cfg(unix)]
#![cfg(feature = "eval")]
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{json, mico};

/// Larger than what a process may have here.
const HUGE: u64 = 6 << 30;
/// What it may have, in kibibytes of address space: threads and mapped files included.
const MEMORY: &str = "ulimit -v 4000000; exec \"$0\" \"$@\"";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a call with little memory; it must fail in one line that names what it was given.
#[track_caller]
fn fails(folder: &Path, call: &str, named: &str) -> String {
    let mut command = assert_cmd::Command::new("sh");
    command.arg("-c").arg(MEMORY).arg(assert_cmd::cargo::cargo_bin("mico"));
    command.args(call.split_whitespace()).current_dir(folder).write_stdin("");
    // Only a call that waits for somebody comes to this end.
    let output = command.timeout(Duration::from_mins(2)).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(1 | 2)), "{call}: {:?} {text}", output.status);
    let error = text.lines().filter(|line| line.starts_with("error: ")).count();
    assert_eq!(error, 1, "{call}: {text}");
    assert!(text.contains(named) && !text.contains("seek"), "{call}: {text}");
    text
}

fn sparse(path: &Path) {
    let _ = fs::remove_file(path);
    fs::File::create(path).unwrap().set_len(HUGE).unwrap();
}

fn pipe(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A folder with results `r`, a model `M`, benchmarks `D` and files for single flags.
fn material() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let eval = "eval --suite tiny --limit 1 --methods mico --budgets 64 --out r";
    let mut eval = mico(&eval.split_whitespace().collect::<Vec<_>>());
    assert!(eval.current_dir(folder.path()).output().unwrap().status.success());
    fs::copy(repository().join("examples/shapes.png"), folder.path().join("a.png")).unwrap();
    let model = repository().join("fixtures/data/llava/llava15-tied");
    fs::create_dir(folder.path().join("M")).unwrap();
    for entry in fs::read_dir(model).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_file() {
            fs::copy(&entry, folder.path().join("M").join(entry.file_name().unwrap())).unwrap();
        }
    }
    fs::create_dir_all(folder.path().join("D/images")).unwrap();
    fs::write(folder.path().join("D/POPE.tsv"), "index\tquestion\n").unwrap();
    folder
}

/// Every file that a verb reads, the call that reads it, and what the error names.
const READS: [(&str, &str, &str); 22] = [
    ("r/run.json", "report r", "run.json"),
    ("r/run.json", "eval merge r", "run.json"),
    ("r/records.jsonl", "report r", "records.jsonl"),
    ("r/records.jsonl", "eval merge r", "records.jsonl"),
    (
        "r/records.jsonl",
        "eval --suite tiny --limit 1 --methods mico --budgets 64 --out r --resume",
        "records.jsonl",
    ),
    ("q.json", "bench --model M --no-prune --plot p.svg --quality q.json", "q.json"),
    ("b.jsonl", "bench --model M --no-prune --out b.json --resume", "b.jsonl"),
    ("s.toml", "eval --sweep s.toml", "s.toml"),
    ("p.json", "score --task pope --predictions p.json --data D", "p.json"),
    ("p.jsonl", "score --task pope --predictions p.jsonl --data D", "p.jsonl"),
    ("p.tsv", "score --task pope --predictions p.tsv --data D", "p.tsv"),
    ("p.csv", "score --task pope --predictions p.csv --data D", "p.csv"),
    ("p.xlsx", "score --task pope --predictions p.xlsx --data D", "p.xlsx"),
    ("D/POPE.tsv", "eval --tasks pope --data D", "POPE.tsv"),
    ("D/objects.jsonl", "diagnose --data D", "objects.jsonl"),
    ("D/queries.jsonl", "diagnose --data D", "queries.jsonl"),
    ("v.mp4", "run hi --video v.mp4 --model M", "v.mp4"),
    ("M/config.json", "run hi --model M --image a.png", "config.json"),
    ("M/tokenizer.json", "run hi --model M --image a.png", "tokenizer.json"),
    ("M/preprocessor_config.json", "run hi --model M --image a.png", "preprocessor_config.json"),
    ("M/generation_config.json", "run hi --model M --image a.png", "generation_config.json"),
    ("M/model.safetensors", "run hi --model M --image a.png", "model.safetensors"),
];

#[test]
fn a_named_pipe_in_place_of_a_file_is_refused_at_once() {
    let folder = material();
    for (file, call, named) in READS {
        let path = folder.path().join(file);
        let kept = fs::read(&path).ok();
        pipe(&path);
        // A video is refused for its model before it is looked at.
        if file != "v.mp4" {
            fails(folder.path(), call, named);
        }
        fs::remove_file(&path).unwrap();
        kept.map_or(Ok(()), |bytes| fs::write(&path, bytes)).unwrap();
    }
}

#[test]
fn a_file_larger_than_memory_is_refused() {
    let folder = material();
    for (file, call, named) in READS {
        let path = folder.path().join(file);
        let kept = fs::read(&path).ok();
        sparse(&path);
        fails(folder.path(), call, named);
        if Path::new(file).extension().is_some_and(|ending| ending == "jsonl") {
            assert_eq!(fs::metadata(&path).unwrap().len(), HUGE, "{file} is left as it was");
        }
        fs::remove_file(&path).unwrap();
        kept.map_or(Ok(()), |bytes| fs::write(&path, bytes)).unwrap();
    }
    // What may be a stream is read up to its limit.
    sparse(&folder.path().join("big"));
    fails(folder.path(), "score --raw big", "big");
    fails(folder.path(), "score --raw /dev/zero", "/dev/zero");
    fails(folder.path(), "select --input big --budget 4", "big");
    fails(folder.path(), "select --input /dev/zero --budget 4", "/dev/zero");
    fails(folder.path(), "run hi --image big", "big");
    fails(folder.path(), "run hi --image /dev/zero", "/dev/zero");
    fails(folder.path(), "run hi --image D", "D");
    fails(folder.path(), "score --raw D", "D");
    // Pictures of a report that cannot be any are left out.
    for entry in fs::read_dir(folder.path().join("r/pictures")).unwrap() {
        sparse(&entry.unwrap().path());
    }
    let mut report = assert_cmd::Command::new("sh");
    report.arg("-c").arg(MEMORY).arg(assert_cmd::cargo::cargo_bin("mico")).args(["report", "r"]);
    assert!(report.current_dir(folder.path()).output().unwrap().status.success());
}

#[test]
fn streams_are_read_where_a_stream_is_meant() {
    let folder = tempfile::tempdir().unwrap();
    let fed = |call: &[&str], flag: &str, source: &Path| {
        let path = folder.path().join("pipe");
        pipe(&path);
        let mut feeder = Command::new("sh")
            .args(["-c", "exec cat \"$0\" > \"$1\""])
            .args([source, &path])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut command = mico(call);
        command.arg(flag).arg(&path).timeout(Duration::from_mins(2));
        let output = command.output().unwrap();
        let _ = feeder.kill();
        feeder.wait().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let patches = repository().join("examples/patches.safetensors");
    let select = ["select", "--budget", "8"];
    let plain = mico(&select).arg("--input").arg(&patches).output().unwrap().stdout;
    assert!(!plain.is_empty());
    assert_eq!(fed(&select, "--input", &patches), plain);
    fed(&["run", "hi", "--budget", "64"], "--image", &repository().join("examples/shapes.png"));
    let raw = folder.path().join("raw.jsonl");
    let line = r#"{"id":"a","scorer":"llava.gqa","in":{"prediction":"x","answer":"x"}}"#;
    fs::write(&raw, format!("{line}\nno JSON\n")).unwrap();
    let answers = String::from_utf8(fed(&["score"], "--raw", &raw)).unwrap();
    assert_eq!(answers.lines().count(), 2, "{answers}");
}

/// A forgotten writer is named after a few seconds instead of waited for.
#[test]
fn a_stream_without_a_writer_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    pipe(&folder.path().join("lonely"));
    for call in ["score --raw lonely", "select --input lonely --budget 4", "run hi --image lonely"]
    {
        assert!(fails(folder.path(), call, "lonely").contains("nobody writes"), "{call}");
    }
}

#[test]
fn a_raw_file_without_json_fails_after_its_error_lines() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("no.txt"), "one\ntwo\n").unwrap();
    let output = mico(&["score", "--raw", "no.txt"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stdout).unwrap().matches("line is no JSON").count(), 2);
    assert!(String::from_utf8(output.stderr).unwrap().contains("no.txt"));
}

/// A journal that is none stays as it is: only what an interruption can leave of a record is cut off.
#[test]
fn resuming_cuts_off_nothing_but_a_record() {
    let folder = material();
    let records = folder.path().join("r/records.jsonl");
    let whole = fs::read(&records).unwrap();
    let call = "eval --suite tiny --limit 1 --methods mico --budgets 64 --out r --resume";
    fs::write(&records, [&whole[..], b"precious"].concat()).unwrap();
    fails(folder.path(), call, "records.jsonl");
    assert!(fs::read(&records).unwrap().ends_with(b"precious"));
    fs::write(&records, &whole[..whole.len() - 9]).unwrap();
    json(mico(&call.split_whitespace().collect::<Vec<_>>()).current_dir(folder.path()));
    let journal = folder.path().join("b.jsonl");
    fs::write(&journal, "{\"question_id\": 1}").unwrap();
    let bench = "bench --model M --no-prune --repeats 1 --out b.json --resume";
    fails(folder.path(), bench, "b.jsonl");
    assert_eq!(fs::read(&journal).unwrap(), b"{\"question_id\": 1}");
}

#[test]
fn output_that_cannot_be_printed_is_a_failure() {
    for call in [&["--help"][..], &["run", "--help"], &["--version"], &["models"], &["man"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let status =
            Command::new(assert_cmd::cargo::cargo_bin("mico")).args(call).stdout(full).status();
        assert_eq!(status.unwrap().code(), Some(1), "{call:?}");
    }
}
