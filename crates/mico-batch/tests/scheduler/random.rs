//! Random schedules: whatever happens, nothing is lost.

use mico_batch::scripted::{Call, Fault, Script};
use mico_batch::{Event, Limits, Message, SubmitOptions, Turn};
use proptest::prelude::*;

use crate::common::{Bench, Client, MS, answer};

const MEMORY: u64 = 100;

/// What is done to the scheduler from outside.
#[derive(Debug, Clone)]
enum Act {
    Submit { client: u8, script: Script, capacity: usize, timeout: Option<u32> },
    Turn(usize),
    Cancel(usize),
    Drop(usize),
    Read(usize),
    Wait(u32),
}

fn script() -> impl Strategy<Value = Script> {
    let call = prop_oneof![
        Just(Call::Memory),
        Just(Call::Begin),
        (0_usize..6).prop_map(Call::Advance),
        (0_usize..10).prop_map(Call::Step),
        Just(Call::Finish),
    ];
    let fault = prop_oneof![Just(Fault::Error), Just(Fault::Panic), Just(Fault::PanicHalfway)];
    let fault = prop::option::weighted(0.15, (call, fault));
    (1_usize..6, 1_usize..10, 0..=MEMORY, 0..=MEMORY / 2, fault).prop_map(
        |(slices, tokens, kept, working, fault)| Script {
            fault,
            ..Script::new("", slices, tokens).taking(kept, working)
        },
    )
}

fn act() -> impl Strategy<Value = Act> {
    let timeout = prop::option::weighted(0.2, 1_u32..400);
    prop_oneof![
        4 => (0_u8..4, script(), 1_usize..12, timeout).prop_map(
            |(client, script, capacity, timeout)| Act::Submit { client, script, capacity, timeout }
        ),
        6 => (1_usize..12).prop_map(Act::Turn),
        1 => any::<prop::sample::Index>().prop_map(|at| Act::Cancel(at.index(1000))),
        1 => any::<prop::sample::Index>().prop_map(|at| Act::Drop(at.index(1000))),
        3 => any::<prop::sample::Index>().prop_map(|at| Act::Read(at.index(1000))),
        1 => (0_u32..300).prop_map(Act::Wait),
    ]
}

/// A client with all that it has received.
struct Seen {
    client: Client,
    name: String,
    tokens: usize,
    text: String,
    ends: Vec<Option<String>>,
}

impl Seen {
    fn read(&mut self) {
        while let Some(message) = self.client.events.try_recv() {
            assert!(self.ends.is_empty(), "something follows the end");
            match message {
                Message::Event(Event::Token(piece)) => self.text += &piece,
                Message::Event(_) => {}
                Message::End(end) => self.ends.push(end.result.ok()),
            }
        }
    }

    /// One end; and the tokens are those of the answer, as far as it went.
    fn check(&self) {
        assert_eq!(self.ends.len(), 1, "{}", self.name);
        let whole = answer(&self.name, self.tokens);
        match &self.ends[0] {
            Some(outcome) => assert_eq!((outcome, &self.text), (&whole, &whole)),
            None => assert!(whole.starts_with(&self.text), "{}: {}", self.name, self.text),
        }
    }
}

fn play(acts: Vec<Act>, limits: Limits, drains: bool) {
    let mut bench = Bench::new(limits);
    // Those whose ticket and events are both kept, and the tickets of those whose events are gone.
    let mut seen: Vec<Seen> = Vec::new();
    let mut orphans = Vec::new();
    for (number, act) in acts.into_iter().enumerate() {
        let at = |index: usize| (!seen.is_empty()).then(|| index % seen.len());
        match act {
            Act::Submit { client, mut script, capacity, timeout } => {
                script.name = format!("r{number}_");
                let (name, tokens) = (script.name.clone(), script.tokens);
                let options = SubmitOptions {
                    timeout: timeout.map(|timeout| timeout * MS),
                    ..SubmitOptions::of(format!("client {client}"))
                };
                if let Ok(client) = bench.submit_through(capacity, script, options) {
                    seen.push(Seen { client, name, tokens, text: String::new(), ends: Vec::new() });
                }
            }
            Act::Turn(turns) => {
                for _ in 0..turns {
                    bench.core.turn();
                }
            }
            Act::Cancel(index) => {
                at(index).into_iter().for_each(|at| seen[at].client.ticket.cancel());
            }
            Act::Drop(index) => {
                orphans.extend(at(index).map(|at| seen.swap_remove(at).client.ticket));
            }
            Act::Read(index) => at(index).into_iter().for_each(|at| seen[at].read()),
            Act::Wait(time) => bench.clock.advance(time * MS),
        }
        let now = bench.core.snapshot();
        assert!(now.kept_bytes + now.working_bytes <= MEMORY);
    }
    if drains {
        bench.core.close(None);
    }
    loop {
        let turn = bench.core.turn();
        seen.iter_mut().for_each(Seen::read);
        let now = bench.core.snapshot();
        assert!(now.kept_bytes + now.working_bytes <= MEMORY);
        if turn != Turn::Worked && now.running + now.waiting == 0 {
            break;
        }
    }
    seen.iter().for_each(Seen::check);
    assert!(orphans.iter().all(mico_batch::Ticket::is_ended));
    bench.assert_empty();
    let now = bench.core.snapshot();
    let ended: u64 = mico_batch::EndReason::ALL.iter().map(|reason| now.ended(*reason)).sum();
    assert_eq!(now.accepted, ended);
    assert_eq!(now.accepted as usize, seen.len() + orphans.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_request_ends_once_and_every_byte_comes_back(
        acts in prop::collection::vec(act(), 1..120),
        sequences in 1_usize..6,
        rows in 1_usize..5,
        overtakes in 0_u32..4,
        queue in 1_usize..20,
        drains in any::<bool>(),
    ) {
        let (slice, patience) = (35 * MS, 900 * MS);
        let memory_bytes = MEMORY;
        let limits = Limits { memory_bytes, sequences, rows, queue, overtakes, slice, patience };
        play(acts, limits, drains);
    }
}
