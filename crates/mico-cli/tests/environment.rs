//! Flags and their variables: who wins, what switches say, and that none is missing.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use clap::{ArgAction, Command};
use common::{json, mico, refused};
use mico_cli::Cli;

/// Every verb, those of verbs included, with the words that call it.
fn verbs(command: &Command, path: &[&str], found: &mut Vec<(Vec<String>, Command)>) {
    for verb in command.get_subcommands() {
        let path: Vec<&str> = path.iter().copied().chain([verb.get_name()]).collect();
        found.push((path.iter().map(ToString::to_string).collect(), verb.clone()));
        verbs(verb, &path, found);
    }
}

fn all_verbs() -> Vec<(Vec<String>, Command)> {
    let mut found = Vec::new();
    verbs(&Cli::definition(), &[], &mut found);
    found
}

/// FLOPs of the embedded model need no weights, so these calls take no time.
fn flops(args: &[&str], variables: &[(&str, &str)]) -> assert_cmd::Command {
    let mut command = mico(&["flops", "--preset", "tiny"]);
    command.args(args).envs(variables.iter().copied());
    command
}

#[test]
fn every_flag_has_its_twin() {
    for (path, verb) in all_verbs() {
        for arg in verb.get_arguments() {
            let Some(flag) = arg.get_long() else { continue };
            let twin = format!("MICO_{}", flag.to_uppercase().replace('-', "_"));
            let found = arg.get_env().unwrap_or_default().to_string_lossy().into_owned();
            // A report is a file where other verbs' results are folders.
            let expected = if path == ["report"] && flag == "out" { "MICO_REPORT" } else { &twin };
            // What is the server's own is called so: a plain MICO_PORT or MICO_HOST may be anybody's.
            let own = format!("MICO_SERVE_{}", &twin["MICO_".len()..]);
            let expected = if path == ["serve"] && found == own { &own } else { expected };
            assert_eq!(found, expected, "{path:?} --{flag}");
        }
    }
}

#[test]
fn a_flag_wins_over_its_own_variable() {
    let kept = |command: &mut assert_cmd::Command| json(command)["layer_average"].clone();
    let plain = kept(&mut flops(&["--budget", "64"], &[]));
    assert_eq!(kept(&mut flops(&["--budget", "64"], &[("MICO_BUDGET", "32")])), plain);
    assert_eq!(kept(&mut flops(&[], &[("MICO_BUDGET", "64")])), plain);
    assert_eq!(kept(&mut flops(&["--budget", "64"], &[("MICO_BUDGET", "nonsense")])), plain);
}

#[test]
fn a_flag_wins_over_variables_of_what_it_contradicts() {
    let of = |args: &[&str], variables: &[(&str, &str)]| json(&mut flops(args, variables));
    let unpruned = of(&[], &[]);
    let pruned = of(&["--budget", "64"], &[]);
    assert_ne!(unpruned, pruned);
    assert_eq!(of(&["--no-prune"], &[("MICO_BUDGET", "64")]), unpruned);
    assert_eq!(of(&["--no-prune"], &[("MICO_KEEP", "0.5")]), unpruned);
    let method = [("MICO_METHOD", "fastv"), ("MICO_REFINE_LAYER", "2"), ("MICO_POOL", "3")];
    assert_eq!(of(&["--no-prune"], &method), unpruned);
    assert_eq!(of(&["--budget", "64"], &[("MICO_KEEP", "0.5")]), pruned);
    assert_eq!(of(&["--budget", "64"], &[("MICO_NO_PRUNE", "1")]), pruned);
    let both = [("MICO_NO_PRUNE", "1"), ("MICO_BUDGET", "32")];
    assert_eq!(of(&["--budget", "64"], &both), pruned);
    // Two on the command line, or two variables, still contradict one another.
    for command in [
        &mut flops(&["--budget", "64", "--no-prune"], &[]),
        &mut flops(&[], &[("MICO_BUDGET", "64"), ("MICO_KEEP", "0.5")]),
        &mut flops(&["--no-prune", "--method", "fastv"], &[]),
    ] {
        refused(command, 2);
    }
}

#[test]
fn alternatives_give_way_too() {
    // The group of `--model` and `--synthetic`; the error is about what was asked for.
    let mut bench = mico(&["bench", "--synthetic", "nosuch"]);
    let message = refused(bench.env("MICO_MODEL", "/nonexistent"), 2);
    assert!(message.contains("nosuch") && message.contains("llava-1.5-7b"), "{message}");
    // `--tasks` against the suite of the environment: the folder is what is missing.
    let mut eval = mico(&["eval", "--tasks", "pope", "--data", "/nonexistent"]);
    let message = refused(eval.env("MICO_SUITE", "tiny"), 1);
    assert!(message.contains("/nonexistent"), "{message}");
    // And the other way round: the suite is to be asked, which the wrong setting then prevents.
    let mut eval = mico(&["eval", "--suite", "tiny", "--methods", "random:nosuch=1"]);
    eval.envs([("MICO_TASKS", "pope"), ("MICO_DATA", "/nonexistent"), ("MICO_PROFILE", "llava")]);
    let message = refused(&mut eval, 2);
    assert!(message.contains("nosuch"), "{message}");
    let mut trace = mico(&["trace", "--prompt", "What?", "--image", "/nonexistent"]);
    let message = refused(trace.envs([("MICO_INPUT_IDS", "[1]"), ("MICO_VIDEO", "v")]), 1);
    assert!(message.contains("/nonexistent"), "{message}");
    let mut run = mico(&["run", "--image", "/nonexistent", "What?"]);
    let message = refused(run.envs([("MICO_VIDEO", "v"), ("MICO_FPS", "2")]), 1);
    assert!(message.contains("/nonexistent"), "{message}");
}

#[test]
fn switches_are_on_off_or_an_error() {
    let plain = flops(&[], &[]).output().unwrap().stdout;
    let document = flops(&["--json"], &[]).output().unwrap().stdout;
    for on in ["1", "true", "yes", "on", "TRUE", "Yes"] {
        let found = flops(&[], &[("MICO_JSON", on)]).output().unwrap();
        assert_eq!(found.stdout, document, "{on}");
    }
    for off in ["0", "false", "no", "off", "", "False"] {
        let found = flops(&[], &[("MICO_JSON", off)]).output().unwrap();
        assert_eq!(found.stdout, plain, "{off}");
        // Off is no contradiction either.
        let variables = [("MICO_NO_PRUNE", off), ("MICO_BUDGET", "64")];
        assert!(flops(&[], &variables).output().unwrap().status.success(), "{off}");
    }
    let message = refused(&mut flops(&[], &[("MICO_JSON", "maybe")]), 2);
    assert!(message.contains("MICO_JSON") && message.contains("maybe"), "{message}");
    assert!(message.contains("yes") && message.contains("off"), "{message}");
    let message = refused(&mut flops(&["--budget", "64"], &[("MICO_AUTHORS_BUDGET", "banana")]), 2);
    assert!(message.contains("MICO_AUTHORS_BUDGET") && message.contains("banana"), "{message}");
    assert!(flops(&["--help"], &[("MICO_JSON", "maybe")]).output().unwrap().status.success());
    // Variables of other verbs' flags are nobody's business.
    assert!(flops(&[], &[("MICO_BLANK", "maybe")]).output().unwrap().status.success());
    assert!(flops(&["--json"], &[("MICO_JSON", "maybe")]).output().unwrap().status.success());
}

#[test]
fn a_bad_value_of_a_variable_names_the_variable() {
    let message = refused(&mut flops(&[], &[("MICO_BUDGET", "many")]), 2);
    assert!(message.contains("MICO_BUDGET") && message.contains("many"), "{message}");
    let message = refused(&mut flops(&["--budget", "many"], &[("MICO_BUDGET", "3")]), 2);
    assert!(!message.contains("MICO_BUDGET") && message.contains("--budget"), "{message}");
}

#[test]
fn singular_and_plural_are_one_flag() {
    let of = |args: &[&str], variables: &[(&str, &str)]| json(&mut flops(args, variables));
    let one = of(&["--method", "random", "--budget", "64"], &[]);
    assert_eq!(of(&["--methods", "random", "--budgets", "64"], &[]), one);
    assert_eq!(of(&[], &[("MICO_METHODS", "random"), ("MICO_BUDGETS", "64")]), one);
    let both = [("MICO_METHODS", "mico"), ("MICO_METHOD", "random"), ("MICO_BUDGET", "64")];
    assert_eq!(of(&[], &both), one);
    for (args, found) in [
        (&["--budget", "64,32"][..], "64,32"),
        (&["--budgets", "64,32"], "64,32"),
        (&["--budget", "64", "--methods", "mico,fastv"], "mico,fastv"),
    ] {
        let message = refused(&mut flops(args, &[]), 2);
        assert!(message.contains(found) && message.contains("a list of 2"), "{message}");
    }
    let message = refused(&mut flops(&[], &[("MICO_BUDGETS", "64,32")]), 2);
    assert!(message.contains("MICO_BUDGETS") && message.contains("a list of 2"), "{message}");
}

#[test]
fn verbs_that_take_lists_read_both_variables() {
    // Each list's second entry is wrong, which is told before a model is loaded.
    for verb in [&["eval", "--suite", "tiny"][..], &["bench", "--model", "tiny"]] {
        for (name, list, wrong) in [
            ("method", "mico,random:nosuch=1", "nosuch"),
            ("methods", "mico,random:nosuch=1", "nosuch"),
            ("budget", "64,0", "0"),
            ("budgets", "64,0", "0"),
        ] {
            let said = refused(mico(verb).arg(format!("--{name}")).arg(list), 2);
            let variable = format!("MICO_{}", name.to_uppercase());
            let read = refused(mico(verb).env(&variable, list), 2);
            assert!(said.contains(wrong), "{said}");
            assert_eq!(said, read, "{verb:?} {variable}");
        }
    }
}

#[test]
fn boolean_flags_are_switches() {
    // What the variables of switches accept holds for every flag without a value.
    for (path, verb) in all_verbs() {
        for arg in verb.get_arguments().filter(|arg| arg.get_long().is_some()) {
            let known =
                matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::Set | ArgAction::Append);
            assert!(known, "{path:?} {arg}");
        }
    }
}
