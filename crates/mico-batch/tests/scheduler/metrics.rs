//! The numbers for metrics.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mico_batch::scripted::{Call, Fault, Script, Scripted};
use mico_batch::{
    Core, EndReason, Limits, ManualClock, Observation, Observer, Setup, SubmitOptions, Turn,
    channel,
};

use crate::common::{Bench, MS};

#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Observer for Log {
    fn record(&self, observation: &Observation<'_>) {
        self.0.lock().unwrap().push(format!("{observation:?}"));
    }
}

#[test]
fn an_observer_sees_each_number_where_it_arises() {
    let clock = ManualClock::default();
    let log = Arc::new(Log::default());
    let setup = Setup {
        limits: Limits { queue: 1, ..Limits::default() },
        clock: Arc::new(clock.clone()),
        observer: log.clone(),
    };
    let backend = Scripted::timed(clock.clone(), 10 * MS, 20 * MS);
    let mut core = Core::new(Arc::new(backend), setup);
    let submit = |core: &Core<Scripted>| {
        let (sink, events) = channel(99);
        let ticket = core.submit(Script::new("a", 2, 2), SubmitOptions::default(), sink);
        ticket.map(|ticket| (ticket, events))
    };
    let _kept = submit(&core).unwrap();
    assert!(submit(&core).is_err());
    clock.advance(5 * MS);
    while core.turn() == Turn::Worked {}
    let expected = [
        "Refused(Overloaded { waiting: 1, retry_after: 1s })",
        "Admitted { queued: 5ms }",
        "Slice { took: 10ms }",
        "Slice { took: 10ms }",
        "Step { rows: 1, took: 20ms }",
        "FirstToken { after: 45ms }",
        "Step { rows: 1, took: 20ms }",
        "NextToken { gap: 20ms }",
        "Ended { reason: Stop, total: 65ms }",
    ];
    assert_eq!(*log.0.lock().unwrap(), expected);
}

#[test]
fn a_snapshot_counts_what_happened() {
    let mut bench = Bench::new(Limits::default());
    let _clients: Vec<_> =
        (0..3).map(|i| bench.submit(Script::new(format!("r{i}_"), 2, 4).taking(5, 1))).collect();
    assert_eq!(bench.core.snapshot().waiting, 3);
    bench.run();
    let now = bench.core.snapshot();
    assert_eq!((now.accepted, now.slices, now.tokens, now.rows), (3, 6, 12, 12));
    assert_eq!((now.ended(EndReason::Stop), now.panics, now.draining), (3, 0, false));
    assert!(now.steps < now.rows);
}

#[test]
fn a_backend_that_hangs_is_seen_and_an_idle_one_is_not() {
    let mut bench = Bench::new(Limits::default());
    bench.clock.advance(1000 * MS);
    assert_eq!(bench.core.snapshot().stalled, Duration::ZERO);
    let client = bench.submit(Script::new("a", 2, 3));
    bench.core.turn();
    bench.clock.advance(700 * MS);
    assert_eq!(bench.core.snapshot().stalled, 700 * MS);
    bench.run();
    bench.clock.advance(700 * MS);
    assert_eq!(bench.core.snapshot().stalled, Duration::ZERO);
    assert!(client.result().is_ok());
}

struct Panicking;

impl Observer for Panicking {
    fn record(&self, _: &Observation<'_>) {
        panic!("an observer");
    }
}

#[test]
fn an_observer_that_panics_disturbs_nobody() {
    let setup = Setup { observer: Arc::new(Panicking), ..Setup::default() };
    let mut core = Core::new(Arc::new(Scripted::default()), setup);
    let (sink, events) = channel(99);
    let script = Script::new("a", 1, 2).failing(Call::Finish, Fault::Error);
    let _ticket = core.submit(script, SubmitOptions::default(), sink).unwrap();
    while core.turn() == Turn::Worked {}
    assert!(events.wait().unwrap().result.is_err());
}
