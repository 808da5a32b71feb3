//! The end of a scheduler.

use mico_batch::scripted::Script;
use mico_batch::{Failure, Limits, Refusal, SubmitOptions, Turn};

use crate::common::{Bench, Client, MS, answer};

/// Three running, one of them with its prompt in work, and five waiting.
fn three_and_five() -> (Bench, Vec<Client>, Vec<Client>) {
    let mut bench = Bench::new(Limits { sequences: 3, ..Limits::default() });
    let script = |i: usize| Script::new(format!("r{i}_"), 6, 9).taking(1, 1);
    let mut clients: Vec<Client> = (0..8).map(|i| bench.submit(script(i))).collect();
    bench.run_until("begin r2_");
    let waiting = clients.split_off(3);
    (bench, clients, waiting)
}

#[test]
fn what_runs_finishes_and_what_waits_is_refused() {
    let (mut bench, running, waiting) = three_and_five();
    bench.core.close(None);
    assert!(bench.core.snapshot().draining);
    let late = bench.try_submit(Script::new("late", 1, 1), SubmitOptions::default()).err();
    assert_eq!(late, Some(Refusal::Draining));
    bench.core.turn();
    for client in &waiting {
        assert!(matches!(client.failure(), Failure::Refused(Refusal::Draining)));
    }
    bench.run();
    assert_eq!(bench.core.turn(), Turn::Closed);
    for (number, client) in running.iter().enumerate() {
        assert_eq!(client.result().unwrap(), answer(&format!("r{number}_"), 9));
    }
    bench.assert_empty();
}

#[test]
fn what_runs_is_cancelled_when_the_time_is_over() {
    let (mut bench, running, waiting) = three_and_five();
    bench.core.close(None);
    bench.core.close(Some(50 * MS));
    // A later time does not extend an earlier one.
    bench.core.close(Some(5000 * MS));
    bench.run();
    assert_eq!(bench.core.turn(), Turn::Closed);
    let shut_down = |client: &Client| matches!(client.failure(), Failure::ShutDown);
    assert!(running.iter().all(shut_down));
    assert_eq!(waiting.len(), 5);
    bench.assert_empty();
}

#[test]
fn dropping_a_core_ends_everything_that_it_has() {
    let (bench, running, waiting) = three_and_five();
    drop(bench);
    for client in running {
        assert!(matches!(client.failure(), Failure::ShutDown));
    }
    for client in waiting {
        assert!(matches!(client.failure(), Failure::Refused(Refusal::Draining)));
    }
}
