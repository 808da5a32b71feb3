//! Texts of files in what is printed and written: one line, short, and nothing that commands a terminal.

#![cfg(feature = "eval")]
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::fs;

use common::{mico, refused};

/// Whether a terminal would obey any of these bytes.
fn commands(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes)
        .chars()
        .any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}

#[test]
fn titles_and_labels_of_sweeps_reach_tables_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = folder.path().join("s.toml");
    let text = "title = \"t\\u001b[31mred\"\nsuite = \"tiny\"\nlimit = 1\nbudgets = [64]\n\
        [[setting]]\nmethod = \"mico\"\nlabel = \"l\\u001b[2J\\u0007\\n|x\"\n";
    fs::write(&sweep, text).unwrap();
    let out = folder.path().join("run");
    let mut call = mico(&["eval", "--sweep"]);
    let output = call.arg(&sweep).arg("--out").arg(&out).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!commands(&output.stdout) && !commands(&output.stderr));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(
        shown.contains(r"t\u{1b}[31mred") && shown.contains(r"l\u{1b}[2J\u{7}\n\|x"),
        "{shown}"
    );
    for name in ["summary.md", "table.csv", "table.tex"] {
        let written = fs::read(out.join(name)).unwrap();
        assert!(!commands(&written), "{name}");
    }
}

#[test]
fn a_sweep_with_a_mistake_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = folder.path().join("s.toml");
    for (line, named) in [
        ("suite = \"tiny\"\n[[setting]]\nmethod = \"nope\"", "unknown method 'nope'"),
        ("suite = \"nope\"\n[[setting]]\nmethod = \"mico\"", "suite 'nope'"),
        ("suite = \"tiny\"\n[[setting]]\nmethod = \"mico\"\nbudgets = [0]", "budget is 0"),
    ] {
        fs::write(&sweep, format!("title = \"t\"\nbudgets = [64]\n{line}\n")).unwrap();
        let text = refused(mico(&["eval", "--sweep"]).arg(&sweep), 2);
        assert!(text.contains("s.toml: ") && text.contains(named), "{text}");
    }
}

#[test]
fn values_that_were_typed_are_quoted_short() {
    let long = "x".repeat(5000);
    for call in [
        &["select", "--input", "f", "--method", "mico", "--budget", "8", "--memory", &long][..],
        &["trace", "--image", "f", "--input-ids", &long],
        &["run", "--budget", &long, "hi"],
        &["eval", "--suite", &long],
        &["eval", "--suite", "tiny", "--methods", &long],
        &["run", "--switch", &long, "--image", "f", "hi"],
        &["run", "--model", &long, "--image", "f", "hi"],
        &[&long],
    ] {
        let output = mico(call).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{text}");
        assert!(text.len() < 700, "{}: {text}", call[0]);
    }
}
