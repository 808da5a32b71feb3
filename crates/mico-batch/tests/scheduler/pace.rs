//! What runs between two tokens.

use std::time::Duration;

use mico_batch::Limits;
use mico_batch::scripted::Script;

use crate::common::{Bench, MS};

/// The longest run of slices between two steps of `a` while the prompt of `b` is in work.
fn most_slices_between_steps(bench: &mut Bench) -> usize {
    let _a = bench.submit_as("a", Script::new("a", 1, 100));
    bench.run_until("step a");
    let _b = bench.submit_as("b", Script::new("b", 24, 1));
    let calls = bench.run_until("step a b");
    let runs = calls.split(|call| call.starts_with("step"));
    runs.map(|run| run.iter().filter(|call| *call == "advance b").count()).max().unwrap()
}

#[test]
fn a_prompt_takes_no_longer_than_a_step_between_two_steps() {
    let limits = Limits { slice: 500 * MS, ..Limits::default() };
    assert_eq!(most_slices_between_steps(&mut Bench::timed(limits.clone(), 135, 301)), 2);
    assert_eq!(most_slices_between_steps(&mut Bench::timed(limits.clone(), 85, 301)), 3);
    assert_eq!(most_slices_between_steps(&mut Bench::timed(limits, 870, 301)), 1);
}

#[test]
fn a_prompt_takes_no_longer_than_the_limit_between_two_steps() {
    let limits = Limits { slice: 150 * MS, ..Limits::default() };
    assert_eq!(most_slices_between_steps(&mut Bench::timed(limits, 50, 301)), 3);
}

#[test]
fn a_prompt_runs_through_when_nobody_waits_for_a_token() {
    let mut bench = Bench::new(Limits::default());
    let client = bench.submit(Script::new("a", 5, 2));
    bench.core.turn();
    let expected = ["begin a", "advance a", "advance a", "advance a", "advance a", "advance a"];
    assert_eq!(bench.backend.calls(), expected);
    bench.run();
    assert_eq!(bench.backend.calls(), ["step a", "step a", "finish a"]);
    let timings = client.received().end.unwrap().timings;
    assert_eq!((timings.queued, timings.waited()), (Duration::ZERO, Duration::ZERO));
    assert_eq!((timings.first_token, timings.total), (Some(70 * MS), 90 * MS));
}

#[test]
fn more_answers_than_rows_take_turns() {
    let mut bench = Bench::new(Limits { rows: 2, ..Limits::default() });
    let _clients: Vec<_> =
        ["a", "b", "c"].map(|name| bench.submit_as(name, Script::new(name, 1, 40))).into();
    bench.run_until("advance c");
    for _ in 0..3 {
        bench.core.turn();
    }
    let calls = bench.backend.calls();
    let rows = |name: &str| calls.iter().filter(|call| call.contains(name)).count();
    assert_eq!((calls.len(), rows("a"), rows("b"), rows("c")), (3, 2, 2, 2), "{calls:?}");
}

#[test]
fn the_time_of_others_counts_as_waiting() {
    let mut bench = Bench::new(Limits::default());
    let a = bench.submit_as("a", Script::new("a", 2, 3));
    let b = bench.submit_as("b", Script::new("b", 1, 1));
    bench.run();
    let (a, b) = (a.received().end.unwrap().timings, b.received().end.unwrap().timings);
    // a: two slices, three steps, and b's slice in between.
    assert_eq!((a.compute, a.waited(), a.total), (80 * MS, 10 * MS, 90 * MS));
    // b: queued for a's slices and a's first step.
    assert_eq!((b.queued, b.compute, b.total), (40 * MS, 30 * MS, 70 * MS));
}
