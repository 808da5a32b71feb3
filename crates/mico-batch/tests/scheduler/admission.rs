//! Who is admitted when.

use std::time::Duration;

use mico_batch::scripted::Script;
use mico_batch::{Limits, Refusal, SubmitOptions};
use mico_util::ErrorKind;

use crate::common::{Bench, Client, answer};

#[test]
fn one_request_of_a_client_is_next_after_the_prompt_in_work() {
    let mut bench = Bench::new(Limits::default());
    let many: Vec<Client> =
        (0..32).map(|i| bench.submit_as("many", Script::new(format!("m{i}_"), 4, 3))).collect();
    bench.run_until("begin m0_");
    let one = bench.submit_as("one", Script::new("one", 4, 2));
    let calls = bench.run_until("finish one");
    let first_token =
        calls.iter().position(|call| call.starts_with("step") && call.contains("one"));
    let before = &calls[..first_token.unwrap()];
    let begun: Vec<&String> = before.iter().filter(|call| call.starts_with("begin")).collect();
    // Two prompts until its first token: the one that was in work, and its own.
    assert_eq!(begun, ["begin one"]);
    bench.run();
    assert_eq!(one.result().unwrap(), answer("one", 2));
    for (number, client) in many.iter().enumerate() {
        assert_eq!(client.result().unwrap(), answer(&format!("m{number}_"), 3));
    }
    bench.assert_empty();
}

#[test]
fn every_client_gets_its_share_of_places() {
    let limits = Limits { sequences: 4, ..Limits::default() };
    let mut bench = Bench::new(limits);
    let clients: Vec<Client> = (0..6)
        .map(|i| bench.submit_as("a", Script::new(format!("a{i}_"), 1, 50)))
        .chain((0..6).map(|i| bench.submit_as("b", Script::new(format!("b{i}_"), 1, 50))))
        .collect();
    let calls = bench.run_until("step a0_ b0_ a1_ b1_");
    let begun: Vec<&String> = calls.iter().filter(|call| call.starts_with("begin")).collect();
    assert_eq!(begun, ["begin a0_", "begin b0_", "begin a1_", "begin b1_"]);
    bench.run();
    assert!(clients.iter().all(|client| client.result().is_ok()));
}

#[test]
fn memory_is_counted_to_the_byte() {
    let limits = Limits { memory_bytes: 1000, ..Limits::default() };
    let mut bench = Bench::new(limits);
    let _first = bench.submit(Script::new("a", 2, 9).taking(300, 200));
    // 300 and 700 are a thousand; one byte more waits until the first has ended.
    let _second = bench.submit(Script::new("b", 6, 9).taking(400, 300));
    let _third = bench.submit(Script::new("c", 1, 1).taking(300, 1));
    bench.run_until("begin b");
    let now = bench.core.snapshot();
    assert_eq!((now.running, now.kept_bytes, now.working_bytes), (2, 700, 300));
    let calls = bench.run_until("begin c");
    assert!(calls.contains(&"finish a".to_owned()), "{calls:?}");
    let now = bench.core.snapshot();
    assert!(now.kept_bytes + now.working_bytes <= 1000);
    bench.run();
    bench.assert_empty();
}

#[test]
fn working_memory_is_free_again_after_the_prompt() {
    let limits = Limits { memory_bytes: 100, ..Limits::default() };
    let mut bench = Bench::new(limits);
    let _first = bench.submit(Script::new("a", 2, 9).taking(1, 99));
    let _second = bench.submit(Script::new("b", 2, 9).taking(1, 98));
    let calls = bench.run_until("step a b");
    assert!(!calls.contains(&"finish a".to_owned()));
    assert_eq!((bench.core.snapshot().kept_bytes, bench.core.snapshot().working_bytes), (2, 0));
    bench.run();
    bench.assert_empty();
}

#[test]
fn one_that_never_fits_is_refused_with_both_numbers() {
    let bench = Bench::new(Limits { memory_bytes: 1000, ..Limits::default() });
    let refused = |kept, working| {
        let script = Script::new("large", 1, 1).taking(kept, working);
        bench.try_submit(script, SubmitOptions::default()).err()
    };
    let refusal = refused(800, 201).unwrap();
    assert_eq!(refusal, Refusal::TooLarge { needed: 1001, limit: 1000 });
    assert_eq!(refusal.kind(), ErrorKind::TooLarge);
    let text = "the request needs 1001 bytes of memory, accepted: at most 1000";
    assert_eq!(refusal.to_string(), text);
    assert!(refused(u64::MAX, u64::MAX).is_some());
    assert_eq!(refused(800, 200), None);
    assert_eq!((bench.core.snapshot().accepted, bench.core.snapshot().refused), (1, 2));
}

#[test]
fn a_large_one_is_not_passed_for_ever() {
    let limits = Limits { memory_bytes: 100, overtakes: 3, ..Limits::default() };
    let mut bench = Bench::new(limits);
    let mut clients = vec![bench.submit_as("small", Script::new("s0_", 1, 5).taking(40, 0))];
    bench.run_until("begin s0_");
    clients.push(bench.submit_as("large", Script::new("large", 1, 5).taking(100, 0)));
    // There is always a small one waiting that would fit.
    let mut before = Vec::new();
    for i in 1.. {
        clients.push(bench.submit_as("small", Script::new(format!("s{i}_"), 1, 5).taking(40, 0)));
        bench.core.turn();
        before.extend(bench.backend.calls().into_iter().filter(|call| call.starts_with("begin")));
        if before.last().is_some_and(|call| call == "begin large") {
            break;
        }
        assert!(i < 100, "{before:?}");
    }
    assert_eq!(before, ["begin s1_", "begin s2_", "begin s3_", "begin large"]);
    bench.run();
    assert!(clients.iter().all(|client| client.result().is_ok()));
    bench.assert_empty();
}

#[test]
fn an_overfull_queue_says_when_to_come_back() {
    let mut bench = Bench::new(Limits { queue: 256, sequences: 4, ..Limits::default() });
    let submit = |bench: &Bench, i| {
        bench.try_submit(Script::new(format!("r{i}_"), 1, 2), SubmitOptions::default())
    };
    let submitted: Vec<_> = (0..300).map(|i| submit(&bench, i)).collect();
    let (accepted, refused): (Vec<_>, Vec<_>) = submitted.into_iter().partition(Result::is_ok);
    assert_eq!((accepted.len(), refused.len()), (256, 44));
    // Nothing is known yet of how long a request takes.
    let unknown = Refusal::Overloaded { waiting: 256, retry_after: Duration::from_secs(1) };
    assert!(refused.into_iter().all(|refusal| refusal.err() == Some(unknown.clone())));
    bench.run();
    for (number, client) in accepted.into_iter().enumerate() {
        assert_eq!(client.unwrap().result().unwrap(), answer(&format!("r{number}_"), 2));
    }
    // Each took 10 + 2 * 20 ms at least, so 256 of them take more than a second.
    let again: Vec<_> = (0..257).map(|i| submit(&bench, i)).collect();
    let Some(Refusal::Overloaded { retry_after, .. }) = again.iter().find_map(|r| r.as_ref().err())
    else {
        panic!("the queue is full")
    };
    assert!((2..=60).contains(&retry_after.as_secs()), "{retry_after:?}");
    assert_eq!(retry_after.subsec_nanos(), 0);
    drop(again);
    bench.run();
    bench.assert_empty();
}
