//! A list of jobs on the caller's thread.

use std::cell::Cell;
use std::sync::Arc;

use mico_batch::scripted::{Call, Fault, Script, Scripted, ScriptedError};
use mico_batch::{Failure, Limits, Refusal, run_all};

use crate::common::answer;

fn limits(sequences: usize) -> Limits {
    Limits { sequences, memory_bytes: 100, ..Limits::default() }
}

#[test]
fn results_come_in_the_order_of_the_jobs() {
    // Later ones are shorter, so they are ready earlier.
    let jobs = (0..40).map(|i| Ok(Script::new(format!("r{i}_"), 1 + i % 3, 40 - i).taking(20, 9)));
    let mut results = run_all(Arc::new(Scripted::default()), limits(4), jobs);
    for i in 0..40 {
        assert_eq!(results.next().unwrap().unwrap(), answer(&format!("r{i}_"), 40 - i));
    }
    assert!(results.next().is_none() && results.next().is_none());
    let now = results.snapshot();
    assert_eq!((now.kept_bytes, now.working_bytes, now.running), (0, 0, 0));
    assert!(now.rows > 2 * now.steps, "{} rows in {} steps", now.rows, now.steps);
}

#[test]
fn jobs_are_prepared_when_they_are_needed() {
    let prepared = Cell::new(0);
    let jobs = (0..1000).map(|i| {
        prepared.set(prepared.get() + 1);
        Ok(Script::new(format!("r{i}_"), 1, if i == 0 { 500 } else { 1 }))
    });
    let mut results = run_all(Arc::new(Scripted::default()), limits(3), jobs);
    assert_eq!(prepared.get(), 0);
    // The first takes long, and the others do not run away meanwhile.
    assert!(results.next().unwrap().is_ok());
    assert!(prepared.get() <= 7, "{}", prepared.get());
    assert_eq!(results.count(), 999);
    assert_eq!(prepared.get(), 1000);
}

#[test]
fn what_fails_fails_in_its_place() {
    let jobs = vec![
        Ok(Script::new("a", 1, 2)),
        Err(ScriptedError("unreadable".into())),
        Ok(Script::new("large", 1, 1).taking(90, 11)),
        Ok(Script::new("x", 2, 2).failing(Call::Advance(1), Fault::Panic)),
        Ok(Script::new("b", 1, 2)),
    ];
    let results: Vec<_> = run_all(Arc::new(Scripted::default()), limits(2), jobs).collect();
    assert_eq!(results[0].as_ref().unwrap(), "a0 a1 ");
    assert!(matches!(&results[1], Err(Failure::Backend(error)) if error.0 == "unreadable"));
    let too_large = Refusal::TooLarge { needed: 101, limit: 100 };
    assert!(matches!(&results[2], Err(Failure::Refused(refusal)) if *refusal == too_large));
    assert!(matches!(&results[3], Err(Failure::Internal { call: "advance", .. })));
    assert_eq!(results[4].as_ref().unwrap(), "b0 b1 ");
    assert_eq!(results.len(), 5);
}
