//! The commands of README and docs run as they are printed.
//!
//! A command is run unless it says that it cannot be: words in capitals stand for the reader's own files and
//! models, a comment with the word "minutes" says that it takes some, and what reads the results of a command
//! that is not run cannot run either.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

#[allow(dead_code, reason = "commands are run, and no more")]
mod common;

use std::path::{Path, PathBuf};

use common::mico;

/// A command as it stands on a page.
#[derive(Debug)]
struct Printed {
    words: Vec<String>,
    takes_minutes: bool,
}

impl Printed {
    /// Whether a word stands for something of the reader's.
    fn has_placeholder(&self) -> bool {
        let is_placeholder =
            |word: &String| word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        self.words.iter().any(|word| !word.is_empty() && is_placeholder(word))
    }

    /// Where it writes its results.
    fn out(&self) -> Option<&String> {
        let at = self.words.iter().position(|word| word == "--out")?;
        self.words.get(at + 1)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Lines inside fences, those that go on joined to the next.
fn fenced(page: &str) -> Vec<String> {
    let (mut inside, mut lines, mut line) = (false, Vec::new(), String::new());
    for text in page.lines() {
        if text.starts_with("```") {
            inside = !inside;
        } else if inside {
            let goes_on = text.strip_suffix('\\');
            line.push_str(goes_on.unwrap_or(text));
            if goes_on.is_none() {
                lines.push(std::mem::take(&mut line));
            }
        }
    }
    lines
}

/// The commands of a line, with the comment they share.
fn commands(line: &str) -> Vec<Printed> {
    let (mut words, mut word, mut quote, mut comment) = (vec![Vec::new()], None, None, "");
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_with(String::new);
            }
            (None, '#') if word.is_none() => {
                comment = &line[at..];
                break;
            }
            (None, ' ' | ';') => {
                words.last_mut().unwrap().extend(word.take());
                if c == ';' {
                    words.push(Vec::new());
                }
            }
            (_, c) => word.get_or_insert_with(String::new).push(c),
        }
    }
    words.last_mut().unwrap().extend(word);
    let takes_minutes = comment.contains("minutes");
    let ours = words.into_iter().filter_map(|words| match words.as_slice() {
        [first, rest @ ..] if first == "mico" => Some(rest.to_vec()),
        [cargo, run, dashes, rest @ ..] if [cargo, run, dashes] == ["cargo", "run", "--"] => {
            Some(rest.to_vec())
        }
        _ => None,
    });
    ours.map(|words| Printed { words, takes_minutes }).collect()
}

/// Copies the pictures and tensors that commands name.
fn copy_examples(target: &Path) {
    let folder = target.join("examples");
    std::fs::create_dir(&folder).unwrap();
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
    }
}

/// Runs the commands of a page in a folder of its own; returns how many.
fn run_page(page: &Path) -> usize {
    let folder = tempfile::tempdir().unwrap();
    copy_examples(folder.path());
    let text = std::fs::read_to_string(page).unwrap();
    let (mut run, mut absent) = (0, Vec::new());
    for printed in fenced(&text).iter().flat_map(|line| commands(line)) {
        let lacks = printed.words.iter().any(|word| absent.contains(word));
        if printed.has_placeholder() || printed.takes_minutes || lacks {
            absent.extend(printed.out().cloned());
            continue;
        }
        let mut words: Vec<&str> = printed.words.iter().map(String::as_str).collect();
        if words.first() == Some(&"serve") {
            // A server runs until it is stopped: its settings are tried.
            words.push("--check");
        }
        let output = mico(&words).current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {words:?}: {said}", page.display());
        run += 1;
    }
    run
}

#[test]
fn every_command_without_a_placeholder_runs() {
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> =
        docs.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    pages.push(root().join("README.md"));
    pages.sort();
    let run: usize = pages.iter().map(|page| run_page(page)).sum();
    assert!(run >= 14, "only {run} commands were run");
}

#[test]
fn commands_are_read_as_a_shell_reads_them() {
    let page = "text mico run x\n```sh\nmico run --image a.png \\\n  \"What is it?\"   # minutes\n\
                mico models; mico doctor\ncargo run -- run 'a b'\ncargo test\n```\nmico no\n";
    let found: Vec<Printed> = fenced(page).iter().flat_map(|line| commands(line)).collect();
    let words: Vec<String> = found.iter().map(|printed| printed.words.join("|")).collect();
    assert_eq!(words, ["run|--image|a.png|What is it?", "models", "doctor", "run|a b"]);
    assert!(found[0].takes_minutes && !found[1].takes_minutes);
    let mine = commands("mico eval --model M --out x");
    assert!(mine[0].has_placeholder() && mine[0].out().unwrap() == "x");
    assert!(!commands("mico run \"WHAT IS THIS?\"")[0].has_placeholder());
}
