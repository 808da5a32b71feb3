//! Panics end the request that caused them and no other.

use std::sync::Arc;
use std::task::Waker;

use mico_batch::scripted::{Call, Fault, Script, Scripted};
use mico_batch::{
    Backend, Core, End, EndReason, Event, EventSink, Failure, Limits, Memory, Refusal, StepResults,
    Stepped, SubmitOptions, Turn, Unsent, channel,
};
use mico_util::ErrorKind;

use crate::common::{Bench, answer};

#[test]
fn a_panic_in_any_call_ends_its_request_alone() {
    let calls = [
        Call::Begin,
        Call::Advance(0),
        Call::Advance(2),
        Call::Step(0),
        Call::Step(1),
        Call::Finish,
    ];
    for call in calls {
        let mut bench = Bench::new(Limits::default());
        let others = ["a", "b"].map(|name| bench.submit_as(name, Script::new(name, 1, 30)));
        bench.run_until("step a b");
        let script = Script::new("x", 3, 3).taking(9, 9).failing(call, Fault::Panic);
        let client = bench.submit_as("x", script);
        bench.run();
        let failure = client.failure();
        assert!(matches!(failure, Failure::Internal { .. }), "{call:?}: {failure}");
        assert_eq!(failure.kind(), ErrorKind::Internal);
        assert!(failure.to_string().contains("x was told to panic"), "{failure}");
        for (name, other) in ["a", "b"].iter().zip(others) {
            let received = other.received();
            assert_eq!(received.text(), answer(name, 30), "{call:?}");
            assert_eq!(received.end.unwrap().result.unwrap(), answer(name, 30), "{call:?}");
        }
        // A panic of a shared step is seen twice: together, and alone.
        let now = bench.core.snapshot();
        let expected = if matches!(call, Call::Step(_)) { 2 } else { 1 };
        assert_eq!((now.panics, now.ended(EndReason::Error)), (expected, 1), "{call:?}");
        bench.assert_empty();
        // And the next one is served.
        let next = bench.submit(Script::new("next", 1, 1));
        bench.run();
        assert_eq!(next.result().unwrap(), "next0 ");
    }
}

#[test]
fn a_step_that_leaves_nothing_certain_ends_all_its_requests() {
    let mut bench = Bench::new(Limits { rows: 2, ..Limits::default() });
    let fault = Fault::PanicHalfway;
    let guilty = bench.submit_as("x", Script::new("x", 1, 30).failing(Call::Step(7), fault));
    let beside = bench.submit_as("a", Script::new("a", 1, 30));
    let apart = bench.submit_as("b", Script::new("b", 1, 30));
    bench.run();
    let results = [guilty, beside, apart].map(|client| client.result());
    let failed = results.iter().filter(|result| result.is_err()).count();
    assert!(results[0].is_err());
    // With three answers on two rows, one of the others shared the step.
    assert_eq!(failed, 2, "{results:?}");
    bench.assert_empty();
}

#[test]
fn a_panic_over_a_jobs_memory_refuses_it() {
    let bench = Bench::new(Limits::default());
    let script = Script::new("x", 1, 1).failing(Call::Memory, Fault::Panic);
    let refusal = bench.try_submit(script, SubmitOptions::default()).err().unwrap();
    assert!(matches!(refusal, Refusal::Internal { call: "memory", .. }), "{refusal}");
    assert_eq!((bench.core.snapshot().panics, bench.core.snapshot().waiting), (1, 0));
}

/// A sink that panics at its `events`th event, or at the end.
struct Panicking(usize);

impl EventSink<Scripted> for Panicking {
    fn offer(&mut self, _: Event<String>, _: &Waker) -> Result<(), Unsent<String>> {
        self.0 = self.0.checked_sub(1).expect("no more events");
        Ok(())
    }

    fn end(self: Box<Self>, _: End<Scripted>) {
        panic!("no end");
    }
}

#[test]
fn a_sink_that_panics_costs_its_own_request() {
    for events in 0..6 {
        let mut bench = Bench::new(Limits::default());
        let other = bench.submit(Script::new("a", 2, 9));
        let ticket = bench
            .core
            .submit(Script::new("x", 2, 4), SubmitOptions::default(), Panicking(events))
            .unwrap();
        bench.run();
        assert!(ticket.is_ended());
        assert_eq!(other.result().unwrap(), answer("a", 9));
        bench.assert_empty();
    }
}

/// Answers a step with too few results.
struct Miscounting(Scripted);

impl Backend for Miscounting {
    type Job = <Scripted as Backend>::Job;
    type Sequence = <Scripted as Backend>::Sequence;
    type Token = String;
    type Outcome = String;
    type Error = <Scripted as Backend>::Error;

    fn memory(&self, job: &Self::Job) -> Memory {
        self.0.memory(job)
    }

    fn begin(&self, job: Self::Job) -> Result<Self::Sequence, Self::Error> {
        self.0.begin(job)
    }

    fn advance(
        &self,
        sequence: &mut Self::Sequence,
    ) -> Result<mico_batch::Advance<String>, Self::Error> {
        self.0.advance(sequence)
    }

    fn step(&self, rows: &mut [&mut Self::Sequence]) -> StepResults<Self> {
        let mut results: Vec<Result<Stepped<String>, _>> = self.0.step(rows);
        results.pop();
        results
    }

    fn finish(&self, sequence: Self::Sequence) -> Result<String, Self::Error> {
        self.0.finish(sequence)
    }
}

#[test]
fn a_step_with_too_few_results_fails_whole() {
    let mut core = Core::new(Arc::new(Miscounting(Scripted::default())), Limits::default());
    let (sink, events) = channel(9);
    let ticket = core.submit(Script::new("x", 1, 3), SubmitOptions::default(), sink).unwrap();
    while core.turn() == Turn::Worked {}
    assert!(ticket.is_ended());
    let failure = events.wait().unwrap().result.unwrap_err();
    assert_eq!(failure.to_string(), "internal error in step (please report): 0 results for 1 rows");
}
