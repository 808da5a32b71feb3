//! Requests that end before they are answered: cancelled, out of time, or with a reader that does not read.

use std::time::Duration;

use mico_batch::scripted::{Call, Fault, Script};
use mico_batch::{EndReason, Event, Failure, Limits, SubmitOptions, Turn};
use mico_util::ErrorKind;

use crate::common::{Bench, Client, MS, answer};

/// A neighbour that decodes all the while and must not notice anything.
fn with_neighbour(limits: Limits) -> (Bench, Client) {
    let mut bench = Bench::new(limits);
    let neighbour = bench.submit_as("neighbour", Script::new("n", 1, 60).taking(1, 0));
    bench.run_until("step n");
    (bench, neighbour)
}

fn assert_undisturbed(bench: &mut Bench, neighbour: &Client) {
    bench.run();
    assert_eq!(neighbour.result().unwrap(), answer("n", 60));
    bench.assert_empty();
}

/// Where a request stands when it is cancelled.
fn brought_to(bench: &mut Bench, place: &str) {
    match place {
        "queued" => {}
        slice if slice.starts_with("slice") => {
            let done: usize = slice["slice".len()..].parse().unwrap();
            let mut calls = Vec::new();
            while calls.iter().filter(|call| *call == "advance x").count() < done {
                bench.core.turn();
                calls.extend(bench.backend.calls());
            }
        }
        "decoding" => drop(bench.run_until("step n x")),
        other => panic!("{other}"),
    }
}

#[test]
fn a_cancelled_request_ends_before_the_next_call_wherever_it_stands() {
    for place in ["queued", "slice1", "slice2", "slice3", "decoding"] {
        for by_drop in [false, true] {
            let (mut bench, neighbour) = with_neighbour(Limits::default());
            let script = Script::new("x", 9, 9).taking(40, 2);
            let Client { ticket, events } = bench.submit_as("x", script);
            brought_to(&mut bench, place);
            assert!(!ticket.is_ended());
            if by_drop {
                drop(ticket);
            } else {
                ticket.cancel();
            }
            bench.core.turn();
            let calls = bench.backend.calls();
            assert!(!calls.iter().any(|call| call.contains('x')), "{place}: {calls:?}");
            assert!(matches!(events.wait().unwrap().result, Err(Failure::Cancelled)), "{place}");
            let now = bench.core.snapshot();
            assert_eq!((now.kept_bytes, now.working_bytes), (1, 0), "{place}");
            assert_eq!(now.ended(EndReason::Cancelled), 1);
            assert_undisturbed(&mut bench, &neighbour);
        }
    }
}

#[test]
fn a_reader_that_is_gone_cancels_its_request() {
    let (mut bench, neighbour) = with_neighbour(Limits::default());
    let Client { ticket, events } = bench.submit_as("x", Script::new("x", 3, 9).taking(5, 5));
    brought_to(&mut bench, "decoding");
    drop(events);
    bench.core.turn();
    bench.core.turn();
    assert!(ticket.is_ended());
    assert_undisturbed(&mut bench, &neighbour);
}

#[test]
fn cancelling_what_has_ended_changes_nothing() {
    let mut bench = Bench::new(Limits::default());
    let client = bench.submit(Script::new("x", 1, 1));
    bench.run();
    client.ticket.cancel();
    bench.run();
    assert_eq!(client.result().unwrap(), "x0 ");
    assert_eq!(bench.core.snapshot().ended(EndReason::Cancelled), 0);
}

#[test]
fn a_detached_request_runs_to_its_end() {
    let mut bench = Bench::new(Limits::default());
    let Client { ticket, events } = bench.submit(Script::new("x", 2, 2));
    ticket.detach();
    bench.run();
    assert_eq!(events.wait().unwrap().result.unwrap(), "x0 x1 ");
}

#[test]
fn time_runs_out_while_waiting_in_the_prompt_and_while_decoding() {
    for (place, limit) in [("queued", 15), ("slice1", 25), ("decoding", 600)] {
        let (mut bench, neighbour) = with_neighbour(Limits { sequences: 2, ..Limits::default() });
        // Takes the second place for a while if the request is to wait.
        let other = (place == "queued").then(|| bench.submit(Script::new("o", 4, 4)));
        let options = SubmitOptions::of("x").within(limit * MS);
        let client = bench.try_submit(Script::new("x", 9, 99).taking(3, 4), options).unwrap();
        brought_to(&mut bench, place);
        bench.run();
        let failure = client.failure();
        assert!(
            matches!(failure, Failure::TimedOut { limit: told } if told == limit * MS),
            "{place}: {failure:?}"
        );
        assert_eq!(failure.kind(), ErrorKind::Cancelled);
        assert!(other.is_none_or(|other| other.result().is_ok()));
        assert_eq!(bench.core.snapshot().ended(EndReason::TimedOut), 1);
        assert_undisturbed(&mut bench, &neighbour);
    }
}

#[test]
fn an_idle_scheduler_knows_when_the_next_time_runs_out() {
    let mut bench = Bench::new(Limits { patience: 400 * MS, ..Limits::default() });
    assert_eq!(bench.core.turn(), Turn::Idle { timeout: None });
    let options = SubmitOptions::default().within(300 * MS);
    let client = bench.submit_through(1, Script::new("x", 1, 5), options).unwrap();
    bench.run();
    // Admitted at 0, and the first token waits for the reader since 30 ms.
    let timeout = match bench.core.turn() {
        Turn::Idle { timeout: Some(timeout) } => timeout,
        other => panic!("{other:?}"),
    };
    assert_eq!(timeout, 270 * MS);
    bench.clock.advance(timeout.saturating_sub(Duration::from_nanos(1)));
    assert!(matches!(bench.core.turn(), Turn::Idle { .. }));
    bench.clock.advance(Duration::from_nanos(1));
    assert_eq!(bench.core.turn(), Turn::Worked);
    assert!(matches!(client.failure(), Failure::TimedOut { .. }));
    bench.assert_empty();
}

#[test]
fn a_slow_reader_is_waited_for_and_loses_nothing() {
    let (mut bench, neighbour) = with_neighbour(Limits::default());
    let client = bench.submit_through(2, Script::new("x", 1, 6), SubmitOptions::of("x")).unwrap();
    let mut text = String::new();
    let mut end = None;
    for _ in 0..200 {
        bench.core.turn();
        if bench.core.snapshot().parked == 0 {
            continue;
        }
        // Everything stands still for it but the neighbour.
        bench.backend.calls();
        bench.core.turn();
        assert!(!bench.backend.calls().iter().any(|call| call.contains('x')));
        let received = client.received();
        text += &received.text();
        end = end.or(received.end);
    }
    let rest = client.received();
    text += &rest.text();
    end = end.or(rest.end);
    assert_eq!(text, answer("x", 6));
    assert_eq!(end.unwrap().result.unwrap(), answer("x", 6));
    assert_undisturbed(&mut bench, &neighbour);
}

#[test]
fn a_reader_that_never_reads_is_cancelled() {
    let (mut bench, neighbour) = with_neighbour(Limits { patience: 100 * MS, ..Limits::default() });
    let script = Script::new("x", 1, 60).taking(7, 7);
    let client = bench.submit_through(1, script, SubmitOptions::of("x")).unwrap();
    bench.run();
    let received = client.received();
    // The one event that there was room for, and the end, which needs none.
    assert!(matches!(received.events[..], [Event::Admitted { .. }]));
    let failure = received.end.unwrap().result.unwrap_err();
    assert!(matches!(failure, Failure::SlowConsumer { patience } if patience == 100 * MS));
    assert_undisturbed(&mut bench, &neighbour);
}

#[test]
fn an_answer_that_is_complete_holds_no_memory_while_its_reader_is_slow() {
    let mut bench = Bench::new(Limits { sequences: 1, memory_bytes: 10, ..Limits::default() });
    let script = |name| Script::new(name, 1, 1).taking(10, 0);
    let slow = bench.submit_through(1, script("slow"), SubmitOptions::default()).unwrap();
    let next = bench.submit(script("next"));
    bench.run();
    // Its only token has no room behind the news of its admission.
    assert_eq!((bench.core.snapshot().running, bench.core.snapshot().kept_bytes), (1, 0));
    assert_eq!(next.result().unwrap(), "next0 ");
    assert!(!slow.ticket.is_ended());
    let mut received = slow.received();
    bench.run();
    let rest = slow.received();
    received.events.extend(rest.events);
    assert_eq!(
        (received.text().as_str(), rest.end.unwrap().result.unwrap()),
        ("slow0 ", "slow0 ".to_owned())
    );
    bench.assert_empty();
}

#[test]
fn a_complete_answer_can_be_cancelled_while_it_waits_for_its_reader() {
    let mut bench = Bench::new(Limits::default());
    let slow = bench.submit_through(1, Script::new("x", 1, 1), SubmitOptions::default()).unwrap();
    bench.run();
    slow.ticket.cancel();
    bench.run();
    assert!(matches!(slow.failure(), Failure::Cancelled));
    bench.assert_empty();
}

#[test]
fn an_error_of_the_engine_ends_its_request_alone() {
    for call in [Call::Begin, Call::Advance(1), Call::Step(0), Call::Step(2), Call::Finish] {
        let (mut bench, neighbour) = with_neighbour(Limits::default());
        let script = Script::new("x", 3, 3).taking(2, 2).failing(call, Fault::Error);
        let client = bench.submit_as("x", script);
        bench.run();
        let failure = client.failure();
        assert!(matches!(failure, Failure::Backend(_)), "{call:?}");
        assert_eq!(
            (failure.kind(), failure.to_string().as_str()),
            (ErrorKind::Invalid, "x was told to fail")
        );
        assert_eq!(bench.core.snapshot().panics, 0);
        assert_undisturbed(&mut bench, &neighbour);
    }
}
