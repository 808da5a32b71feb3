//! What verbs write never destroys what they read, nor one another.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use common::{json, mico, refused};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Every file below a folder with its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

/// A folder with a photo `a.png`, links to it, a model `M`, a sweep and a video.
struct Inputs(tempfile::TempDir);

impl Inputs {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("x")).unwrap();
        fs::create_dir(at("clip")).unwrap();
        let photo = repository().join("examples/shapes.png");
        fs::copy(&photo, at("a.png")).unwrap();
        fs::copy(&photo, at("clip/1.png")).unwrap();
        symlink("a.png", at("soft.png")).unwrap();
        fs::hard_link(at("a.png"), at("hard.png")).unwrap();
        copy(&repository().join("fixtures/data/llava/llava15-tied"), &at("M"));
        symlink("M", at("linked")).unwrap();
        fs::write(at("sweep.toml"), "title = \"t\"\nsuite = \"tiny\"\n").unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// A call in the folder, whose paths are relative to it.
    fn call(&self, words: &str) -> assert_cmd::Command {
        let root = self.path().display().to_string();
        let words: Vec<String> =
            words.split_whitespace().map(|word| word.replace('@', &root)).collect();
        let mut command = mico(&words.iter().map(String::as_str).collect::<Vec<_>>());
        command.current_dir(self.path()).write_stdin("");
        command
    }
}

#[test]
fn an_output_that_is_an_input_is_refused_by_both_names() {
    let inputs = Inputs::new();
    let before = contents(inputs.path());
    let run = "run --budget 64 hi --image";
    let trace = "trace --prompt hi --max-new-tokens 1";
    for (call, named) in [
        (format!("{run} a.png --overlay a.png"), ["--overlay", "--image"]),
        (format!("{run} a.png --overlay @/a.png"), ["--overlay", "--image"]),
        (format!("{run} @/x/../a.png --overlay ./a.png"), ["--overlay", "--image"]),
        (format!("{run} a.png --overlay soft.png"), ["--overlay", "--image"]),
        (format!("{run} soft.png --overlay hard.png"), ["--overlay", "--image"]),
        (format!("{run} x/../hard.png --overlay a.png"), ["--overlay", "--image"]),
        ("run hi --video clip --overlay clip/2.png".into(), ["--overlay", "--video"]),
        (format!("{run} a.png --model M --overlay M/o.png"), ["--overlay", "--model"]),
        (
            format!("{run} a.png --model linked --overlay M/inputs/../o.png"),
            ["--overlay", "--model"],
        ),
        (
            format!("{trace} --model M --image a.png --dump M/model.safetensors"),
            ["--dump", "--model"],
        ),
        (
            format!("{trace} --model linked --image a.png --dump @/M/config.json"),
            ["--dump", "--model"],
        ),
        (format!("{trace} --image a.png --dump hard.png"), ["--dump", "--image"]),
    ] {
        let message = refused(&mut inputs.call(&call), 2);
        assert!(named.iter().all(|flag| message.contains(flag)), "{call}: {message}");
    }
    // The same through standard input.
    let photo = fs::File::open(inputs.path().join("a.png")).unwrap();
    let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("mico"))
        .args(["run", "--overlay", "soft.png", "hi"])
        .current_dir(inputs.path())
        .stdin(photo)
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("--overlay") && message.contains("standard input"), "{message}");
    assert_eq!(contents(inputs.path()), before);
}

#[test]
fn a_hub_cache_is_part_of_the_model() {
    let inputs = Inputs::new();
    let repository = inputs.path().join("hub/models--o--n");
    fs::create_dir_all(repository.join("blobs")).unwrap();
    let snapshot = repository.join("snapshots/0123456789abcdef0123456789abcdef01234567");
    copy(&inputs.path().join("M"), &snapshot);
    fs::rename(snapshot.join("config.json"), repository.join("blobs/c")).unwrap();
    symlink("../../blobs/c", snapshot.join("config.json")).unwrap();
    let before = contents(inputs.path());
    let snapshot = snapshot.display();
    for dump in ["hub/models--o--n/blobs/c", "hub/models--o--n/blobs/new"] {
        for model in [snapshot.to_string(), "o/n".to_owned()] {
            let words = format!("trace --prompt hi --image a.png --model {model} --dump {dump}");
            let mut command = inputs.call(&words);
            command.env("HF_HUB_CACHE", inputs.path().join("hub")).env("HF_HUB_OFFLINE", "1");
            let message = refused(&mut command, 2);
            assert!(message.contains("--dump") && message.contains("--model"), "{message}");
        }
    }
    assert_eq!(contents(inputs.path()), before);
}

#[cfg(feature = "eval")]
#[test]
fn outputs_of_measurements_are_kept_apart() {
    let inputs = Inputs::new();
    let bench = "bench --model M --no-prune --repeats 1 --warmups 0 --new-tokens 1";
    fs::write(inputs.path().join("q.json"), "{}").unwrap();
    let before = contents(inputs.path());
    for (call, named) in [
        (format!("{bench} --out b.json --markdown b.json"), ["--out", "--markdown"]),
        (format!("{bench} --out b.json --markdown x/../b.jsonl"), ["--out", "--markdown"]),
        (format!("{bench} --out b --plot b.svg --markdown @/b.svg"), ["--plot", "--markdown"]),
        (format!("{bench} --out q.json --plot p.svg --quality q.json"), ["--out", "--quality"]),
        (format!("{bench} --out M/config.json"), ["--out", "--model"]),
        ("eval --suite tiny --limit 1 --model M --out M".into(), ["--out", "--model"]),
        ("eval --suite tiny --limit 1 --model M --out linked/new".into(), ["--out", "--model"]),
        ("calibrate --suite tiny --limit 1 --model M --out M".into(), ["--out", "--model"]),
        ("diagnose --suite tiny --limit 2 --model linked --out M/x".into(), ["--out", "--model"]),
    ] {
        let message = refused(&mut inputs.call(&call), 2);
        assert!(named.iter().all(|flag| message.contains(flag)), "{call}: {message}");
    }
    assert_eq!(contents(inputs.path()), before);
    // A results folder whose file is a link to something that is read.
    fs::create_dir(inputs.path().join("out")).unwrap();
    symlink("../sweep.toml", inputs.path().join("out/summary.md")).unwrap();
    let message = refused(&mut inputs.call("eval --sweep sweep.toml --out out"), 2);
    assert!(message.contains("--out") && message.contains("--sweep"), "{message}");
}

#[cfg(feature = "eval")]
#[test]
fn results_are_not_overwritten_by_what_is_made_of_them() {
    let inputs = Inputs::new();
    let eval = "eval --suite tiny --limit 1 --methods mico --budgets 64 --out r";
    assert!(inputs.call(eval).output().unwrap().status.success());
    symlink("r/records.jsonl", inputs.path().join("link.html")).unwrap();
    let picture = fs::read_dir(inputs.path().join("r/pictures")).unwrap().next().unwrap().unwrap();
    let picture = picture.file_name().into_string().unwrap();
    let before = contents(inputs.path());
    for out in ["link.html", "r/run.json", "x/../r/summary.md", &format!("r/pictures/{picture}")] {
        let message = refused(&mut inputs.call(&format!("report r --out {out}")), 2);
        assert!(message.contains("--out"), "{message}");
    }
    let message = refused(&mut inputs.call("eval merge r --out x/../r"), 2);
    assert!(message.contains("--out"), "{message}");
    assert_eq!(contents(inputs.path()), before);
}

#[test]
fn the_ending_of_an_overlay_decides_its_format() {
    let inputs = Inputs::new();
    for (name, start) in [
        ("o.png", &b"\x89PNG"[..]),
        ("o.JPG", &[0xff, 0xd8, 0xff]),
        ("o.jpeg", &[0xff, 0xd8, 0xff]),
        ("o.webp", b"RIFF"),
    ] {
        let mut command =
            inputs.call(&format!("run hi --image a.png --budget 64 --overlay {name}"));
        json(&mut command);
        let bytes = fs::read(inputs.path().join(name)).unwrap();
        assert!(bytes.starts_with(start), "{name}");
        assert!(image::load_from_memory(&bytes).is_ok(), "{name}");
    }
    for name in ["o.svg", "o", "o.txt", "M/config.json", "o.gif"] {
        let mut command =
            inputs.call(&format!("run hi --image a.png --budget 64 --overlay {name}"));
        let message = refused(&mut command, 2);
        assert!(message.contains("--overlay") && message.contains(".png"), "{message}");
    }
}

/// Commands that work and commands that fail: none of them changes a file that was there.
#[test]
fn no_command_changes_what_it_reads() {
    let inputs = Inputs::new();
    let before = contents(inputs.path());
    let mut calls = vec![
        "run hi --image a.png --budget 64 --overlay @out/o.png",
        "run hi --model M --image a.png --max-new-tokens 1",
        "run hi --model M --image M/config.json",
        "run hi --video clip",
        "trace --prompt hi --image soft.png --budget 64 --dump @out/d.safetensors",
        "trace --prompt hi --image a.png --dump a.png",
        "select --input M/model.safetensors --budget 4",
        "select --input a.png --budget 4",
        "doctor --model M",
        "man --out @out/man",
    ];
    if cfg!(feature = "eval") {
        calls.extend([
            "bench --model M --no-prune --repeats 1 --warmups 0 --new-tokens 1 --out @out/b.json",
            "eval --sweep sweep.toml --limit 1 --out @out/r",
            "eval --tasks pope --data M --out @out/r2",
            "diagnose --data M --out @out/g",
            "diagnose --suite tiny --limit 4 --checks relevance --out @out/g",
            "calibrate --suite tiny --limit 1 --layers 2 --out @out/c",
            "score --raw M/config.json",
            "score --task pope --predictions a.png --data M",
            "report M",
            "eval merge M clip --out @out/w",
        ]);
    }
    let out = tempfile::tempdir().unwrap();
    let out_text = out.path().display().to_string();
    for call in calls {
        let output = inputs.call(&call.replace("@out", &out_text)).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(0..=2)), "{call}: {message}");
        assert_eq!(contents(inputs.path()), before, "{call}: {message}");
    }
}

/// A file beyond the size that the system allows is an error that names it; no part of it is left.
#[cfg(target_os = "linux")]
#[test]
fn a_file_above_the_allowed_size_is_an_error() {
    let inputs = Inputs::new();
    let (out, program) = (inputs.path().join("out"), assert_cmd::cargo::cargo_bin("mico"));
    fs::create_dir(&out).unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -f 8; exec \"$0\" \"$@\""])
        .arg(program)
        .args(["trace", "--prompt", "hi", "--image", "a.png", "--dump", "out/d.safetensors"])
        .current_dir(inputs.path())
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.starts_with("error: ") && message.contains("d.safetensors"), "{message}");
    assert_eq!(contents(&out).len(), 0);
}

/// Files are written in one place, which has held them against what is read.
#[test]
fn nothing_else_writes_files() {
    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
    }
    let writes = [
        "fs::write",
        "File::create",
        "OpenOptions",
        "fs::copy",
        "fs::rename",
        "fs::remove",
        "create_dir",
        "hard_link",
        "symlink(",
        "write_atomic",
        "write_resolved",
    ];
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let name = path.to_string_lossy().into_owned();
        if name.ends_with("src/files.rs") || name.ends_with("files/tests.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for call in writes {
            assert!(!code.contains(call), "{name} calls {call}");
        }
    }
}
