//! The scheduler on its own thread.

use std::sync::mpsc::{Receiver, Sender, channel as plain_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use mico_batch::scripted::{Script, Scripted, ScriptedError};
use mico_batch::{
    Advance, Backend, EndReason, Event, Failure, Limits, Memory, Message, Refusal, Scheduler,
    Shutdown, StepResults, SubmitOptions, channel,
};
use mico_util::SplitMix64;

use crate::common::{MS, answer};

const CLIENTS: u64 = 8;
const JOBS: usize = 500;

/// Submits jobs one after another; reads, cancels, drops or abandons them as the seed says. Returns how many
/// were accepted.
fn client(scheduler: &Scheduler<Scripted>, seed: u64) -> u64 {
    let mut rng = SplitMix64::new(seed);
    let mut accepted = 0;
    for number in 0..JOBS {
        let (slices, tokens) = (1 + rng.below(4), 1 + rng.below(12));
        let name = format!("c{seed}r{number}_");
        let script = Script::new(&name, slices, tokens).taking(rng.below(60) as u64, 40);
        let (sink, events) = channel(1 + rng.below(6));
        let Ok(ticket) = scheduler.submit(script, SubmitOptions::of(format!("{seed}")), sink)
        else {
            continue;
        };
        accepted += 1;
        match rng.below(8) {
            0 => ticket.cancel(),
            1 => drop(ticket),
            2 => drop((ticket, events)),
            3 => {
                ticket.detach();
                assert_eq!(events.wait().unwrap().result.unwrap(), answer(&name, tokens));
            }
            _ => {
                let mut text = String::new();
                for message in events {
                    match message {
                        Message::Event(Event::Token(piece)) => text += &piece,
                        Message::Event(_) => {}
                        Message::End(end) => assert_eq!(end.result.unwrap(), text),
                    }
                }
                assert_eq!(text, answer(&name, tokens));
                assert!(ticket.is_ended());
            }
        }
    }
    accepted
}

#[test]
fn thousands_of_jobs_of_many_threads() {
    let limits = Limits { memory_bytes: 200, sequences: 4, rows: 3, ..Limits::default() };
    let scheduler = Scheduler::spawn(Arc::new(Scripted::default()), limits).unwrap();
    let accepted: u64 = thread::scope(|scope| {
        let scheduler = &scheduler;
        let clients: Vec<_> =
            (0..CLIENTS).map(|seed| scope.spawn(move || client(scheduler, seed))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    scheduler.shutdown(Shutdown::Drain);
    let now = scheduler.snapshot();
    assert_eq!((now.running, now.waiting, now.kept_bytes, now.working_bytes), (0, 0, 0, 0));
    assert_eq!((now.accepted, now.panics), (accepted, 0));
    assert_eq!(EndReason::ALL.iter().map(|reason| now.ended(*reason)).sum::<u64>(), accepted);
    assert!(accepted > CLIENTS * JOBS as u64 / 2, "{accepted}");
}

/// Makes every slice wait for a permit, and says that it waits.
struct Gated {
    scripted: Scripted,
    entered: Mutex<Sender<()>>,
    permits: Mutex<Receiver<()>>,
}

impl Gated {
    fn new() -> (Arc<Self>, Receiver<()>, Sender<()>) {
        let (entered, at_gate) = plain_channel();
        let (permit, permits) = plain_channel();
        let scripted = Scripted::default();
        let gated = Self { scripted, entered: Mutex::new(entered), permits: Mutex::new(permits) };
        (Arc::new(gated), at_gate, permit)
    }
}

impl Backend for Gated {
    type Job = Script;
    type Sequence = <Scripted as Backend>::Sequence;
    type Token = String;
    type Outcome = String;
    type Error = ScriptedError;

    fn memory(&self, job: &Script) -> Memory {
        self.scripted.memory(job)
    }

    fn begin(&self, job: Script) -> Result<Self::Sequence, ScriptedError> {
        self.scripted.begin(job)
    }

    fn advance(&self, sequence: &mut Self::Sequence) -> Result<Advance<String>, ScriptedError> {
        // A test that is over has dropped its ends.
        let _ = self.entered.lock().unwrap().send(());
        let _ = self.permits.lock().unwrap().recv();
        self.scripted.advance(sequence)
    }

    fn step(&self, rows: &mut [&mut Self::Sequence]) -> StepResults<Self> {
        self.scripted.step(rows).into_iter().collect()
    }

    fn finish(&self, sequence: Self::Sequence) -> Result<String, ScriptedError> {
        self.scripted.finish(sequence)
    }
}

#[test]
fn a_cancellation_takes_effect_after_the_slice_in_work() {
    let (backend, at_gate, permit) = Gated::new();
    let scheduler = Scheduler::spawn(Arc::clone(&backend), Limits::default()).unwrap();
    let (sink, events) = channel(9);
    let ticket = scheduler.submit(Script::new("x", 5, 5), SubmitOptions::default(), sink).unwrap();
    at_gate.recv().unwrap();
    assert_eq!(scheduler.snapshot().running, 1);
    ticket.cancel();
    permit.send(()).unwrap();
    assert!(matches!(events.wait().unwrap().result, Err(Failure::Cancelled)));
    assert_eq!(scheduler.snapshot().running, 0);
    assert_eq!(backend.scripted.calls(), ["begin x", "advance x"]);
}

#[test]
fn a_drained_scheduler_answers_what_runs_and_refuses_what_waits() {
    let (backend, at_gate, permit) = Gated::new();
    let scheduler = Scheduler::spawn(backend, Limits::default()).unwrap();
    let submit = |name: &str| {
        let (sink, events) = channel(9);
        let ticket = scheduler.submit(Script::new(name, 1, 2), SubmitOptions::default(), sink);
        ticket.map(|ticket| (ticket, events))
    };
    let (_running, running) = submit("a").unwrap();
    at_gate.recv().unwrap();
    let (_waiting, waiting) = submit("b").unwrap();
    scheduler.close(Shutdown::Drain);
    assert_eq!(submit("c").err(), Some(Refusal::Draining));
    permit.send(()).unwrap();
    scheduler.shutdown(Shutdown::DrainFor(3_600_000 * MS));
    assert_eq!(running.wait().unwrap().result.unwrap(), "a0 a1 ");
    let refused = waiting.wait().unwrap().result;
    assert!(matches!(refused, Err(Failure::Refused(Refusal::Draining))));
}

#[test]
fn a_dropped_scheduler_ends_its_requests_and_its_thread() {
    let (backend, at_gate, permit) = Gated::new();
    let scheduler = Scheduler::spawn(Arc::clone(&backend), Limits::default()).unwrap();
    let (sink, events) = channel(9);
    let script = Script::new("x", 1_000_000, 5);
    let _ticket = scheduler.submit(script, SubmitOptions::default(), sink).unwrap();
    at_gate.recv().unwrap();
    drop(permit);
    drop(scheduler);
    assert!(matches!(events.wait().unwrap().result, Err(Failure::ShutDown)));
    // The thread held the only other reference.
    assert_eq!(Arc::strong_count(&backend), 1);
}
