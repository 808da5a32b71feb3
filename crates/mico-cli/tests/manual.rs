//! Completions, the manual and help are made of the same definitions, and those of the registries.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use clap::Command;
use common::{json, mico, refused};
use mico_cli::Cli;

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "powershell", "elvish"];

/// The names of all verbs, and of all flags.
fn names(command: &Command, verbs: &mut Vec<String>, flags: &mut Vec<String>) {
    for verb in command.get_subcommands() {
        verbs.push(verb.get_name().to_owned());
        flags.extend(verb.get_arguments().filter_map(|arg| arg.get_long()).map(str::to_owned));
        names(verb, verbs, flags);
    }
}

fn stdout(args: &[&str]) -> String {
    let output = mico(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn completions_know_every_verb_and_flag() {
    let (mut verbs, mut flags) = (Vec::new(), Vec::new());
    names(&Cli::definition(), &mut verbs, &mut flags);
    assert!(verbs.len() > 10 && flags.len() > 50);
    for shell in SHELLS {
        let script = stdout(&["completions", shell]);
        for name in verbs.iter().chain(&flags) {
            assert!(script.contains(name.as_str()), "{shell}: {name}");
        }
        // Values come from the registries, in shells that complete values.
        let values = ["bash", "zsh", "fish"].contains(&shell);
        assert!(!values || script.contains("pyramiddrop"), "{shell}");
    }
    let document = json(&mut mico(&["completions", "zsh"]));
    assert_eq!(document["shell"], "zsh");
    let message = refused(&mut mico(&["completions", "tcsh"]), 2);
    assert!(message.contains("tcsh") && message.contains("elvish"), "{message}");
}

#[test]
fn the_manual_knows_every_verb_and_flag() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("man1");
    let listed = stdout(&["man", "--out", out.to_str().unwrap()]);
    let printed = stdout(&["man"]);
    for verb in Cli::definition().get_subcommands() {
        let name = format!("mico-{}.1", verb.get_name());
        assert!(listed.contains(&name), "{name}");
        let page = std::fs::read_to_string(out.join(&name)).unwrap();
        assert!(printed.contains(page.trim_end()), "{name}");
        for flag in verb.get_arguments().filter_map(|arg| arg.get_long()) {
            // Dashes are escaped in manual pages.
            let flag = format!(r"\-\-{}", flag.replace('-', r"\-"));
            assert!(page.contains(&flag), "{name}: {flag}");
        }
    }
    assert!(out.join("mico.1").is_file() && out.join("mico-eval-merge.1").is_file());
    let pages = json(&mut mico(&["man"]));
    assert_eq!(pages[0]["name"], "mico.1");
    refused(mico(&["man", "--out"]).arg(out.join("mico.1")), 1);
}

#[test]
fn help_lists_what_is_registered() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let help = |verb: &str| words(&stdout(&[verb, "--help"]));
    let run = help("run");
    for pruner in mico_select::methods::pruners() {
        assert!(run.contains(pruner.name) && run.contains(pruner.about), "{}", pruner.name);
    }
    for name in mico_engine::PromptStyle::names() {
        assert!(run.contains(name), "{name}");
    }
    for name in mico_model::QuantKind::ALL.map(mico_model::QuantKind::name) {
        assert!(run.contains(name), "{name}");
    }
    for name in mico_model::Precision::ALL.map(mico_model::Precision::name) {
        assert!(run.contains(name), "{name}");
    }
    let eval = help("eval");
    let tracks = mico_score::Track::ALL.into_iter().map(mico_score::Track::name);
    let profiles = mico_score::Profile::ALL.into_iter().map(mico_score::Profile::name);
    let layouts = mico_data::Layout::ALL.into_iter().map(mico_data::Layout::name);
    let sweeps = mico_eval::BUILTIN_SWEEPS.into_iter().map(|(name, _)| name);
    for name in tracks.chain(profiles).chain(layouts).chain(sweeps) {
        assert!(eval.contains(name) || name == "vtcbench", "{name}");
    }
    let flops = help("flops");
    for preset in mico_engine::families::FamilySpec::presets() {
        assert!(flops.contains(preset.name), "{}", preset.name);
    }
    let select = help("select");
    for method in mico_select::methods::selectors() {
        assert!(select.contains(method.name) && select.contains(method.about), "{}", method.name);
    }
}

#[test]
fn wrong_names_are_told_what_is_accepted() {
    for (args, found, accepted) in [
        (&["run", "--method", "mica", "x"][..], "mica", "mico-s1"),
        (&["run", "--quantize", "q5k", "x"], "q5k", "q6k"),
        (&["run", "--dtype", "f8", "x"], "f8", "bf16"),
        (&["run", "--prompt-style", "nosuch", "x"], "nosuch", "vicuna"),
        (&["bench", "--model", "tiny", "--method", "mica"], "mica", "mico-s1"),
        (&["bench", "--synthetic", "llava"], "llava", "qwen3-vl-8b"),
        (&["eval", "--suite", "tiny", "--methods", "mico,mica"], "mica", "mico-s1"),
        (&["eval", "--tasks", "nosuch", "--data", "."], "nosuch", "longvideobench"),
        (&["eval", "--tasks", "vtcbench", "--data", "."], "vtcbench", "mico score"),
        (&["eval", "--tasks", "pope", "--data", ".", "--layout", "x"], "'x'", "parquet"),
        (&["eval", "--sweep", "nosuch"], "nosuch", "components"),
        (&["score", "--task", "pope,mme", "--predictions", "p", "--data", "."], "pope,mme", "one"),
        (&["score", "--task", "x", "--predictions", "p", "--data", "."], "'x'", "pope"),
        (&["flops", "--preset", "nosuch"], "nosuch", "internvl3-8b"),
        (&["select", "--input", "f", "--budget", "1", "--method", "none"], "none", "vispruner"),
    ] {
        let message = refused(&mut mico(args), 2);
        assert!(message.contains(found) && message.contains(accepted), "{args:?}: {message}");
    }
}
