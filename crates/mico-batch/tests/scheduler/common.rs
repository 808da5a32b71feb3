//! A scheduler that is driven by hand.

use std::sync::Arc;
use std::time::Duration;

use mico_batch::scripted::{Script, Scripted, ScriptedError};
use mico_batch::{
    Core, End, Event, Events, Failure, Limits, ManualClock, Message, Refusal, Setup, SubmitOptions,
    Ticket, Turn, channel,
};

pub(crate) const MS: Duration = Duration::from_millis(1);

/// A core, the clock that its backend moves, and the backend's record.
pub(crate) struct Bench {
    pub(crate) clock: ManualClock,
    pub(crate) backend: Arc<Scripted>,
    pub(crate) core: Core<Scripted>,
}

/// What a client holds.
pub(crate) struct Client {
    pub(crate) ticket: Ticket,
    pub(crate) events: Events<Scripted>,
}

/// What a client has received.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) events: Vec<Event<String>>,
    pub(crate) end: Option<End<Scripted>>,
}

impl Bench {
    /// Slices of 10 ms, steps of 20 ms.
    pub(crate) fn new(limits: Limits) -> Self {
        Self::timed(limits, 10, 20)
    }

    pub(crate) fn timed(limits: Limits, slice: u32, step: u32) -> Self {
        let clock = ManualClock::default();
        let backend = Arc::new(Scripted::timed(clock.clone(), slice * MS, step * MS));
        let setup = Setup { clock: Arc::new(clock.clone()), ..limits.into() };
        let core = Core::new(Arc::clone(&backend), setup);
        Self { clock, backend, core }
    }

    pub(crate) fn submit(&self, script: Script) -> Client {
        self.try_submit(script, SubmitOptions::default()).unwrap()
    }

    pub(crate) fn submit_as(&self, client: &str, script: Script) -> Client {
        self.try_submit(script, SubmitOptions::of(client)).unwrap()
    }

    pub(crate) fn try_submit(
        &self,
        script: Script,
        options: SubmitOptions,
    ) -> Result<Client, Refusal> {
        self.submit_through(1024, script, options)
    }

    /// With room for so many events.
    pub(crate) fn submit_through(
        &self,
        capacity: usize,
        script: Script,
        options: SubmitOptions,
    ) -> Result<Client, Refusal> {
        let (sink, events) = channel(capacity);
        self.core.submit(script, options, sink).map(|ticket| Client { ticket, events })
    }

    /// Turns until nothing is left to do.
    pub(crate) fn run(&mut self) {
        while self.core.turn() == Turn::Worked {}
    }

    /// Turns until a call of the backend begins with `call`; returns all calls up to then.
    pub(crate) fn run_until(&mut self, call: &str) -> Vec<String> {
        let mut calls = Vec::new();
        while !calls.iter().any(|made: &String| made.starts_with(call)) {
            assert_eq!(self.core.turn(), Turn::Worked, "`{call}` does not come after {calls:?}");
            calls.extend(self.backend.calls());
        }
        calls
    }

    /// No request is left, nor a byte.
    pub(crate) fn assert_empty(&self) {
        let now = self.core.snapshot();
        let taken = (now.running, now.waiting, now.parked, now.kept_bytes, now.working_bytes);
        assert_eq!(taken, (0, 0, 0, 0, 0));
    }
}

impl Client {
    pub(crate) fn received(&self) -> Received {
        let mut received = Received::default();
        while let Some(message) = self.events.try_recv() {
            assert!(received.end.is_none(), "something follows the end");
            match message {
                Message::Event(event) => received.events.push(event),
                Message::End(end) => received.end = Some(end),
            }
        }
        received
    }

    /// How the request ended.
    pub(crate) fn result(&self) -> Result<String, Failure<ScriptedError>> {
        self.received().end.expect("it has ended").result
    }

    pub(crate) fn failure(&self) -> Failure<ScriptedError> {
        self.result().expect_err("it was not answered")
    }
}

impl Received {
    pub(crate) fn text(&self) -> String {
        self.events
            .iter()
            .filter_map(|event| match event {
                Event::Token(piece) => Some(piece.as_str()),
                _ => None,
            })
            .collect()
    }
}

/// The whole answer of a script.
pub(crate) fn answer(name: &str, tokens: usize) -> String {
    let script = Script::new(name, 1, tokens);
    (0..tokens).map(|number| script.piece(number)).collect()
}
