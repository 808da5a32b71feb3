//! A backend without weights that does what its jobs say, for tests of whatever stands on a scheduler.

use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use mico_util::ErrorKind;

use crate::backend::{
    Advance, Backend, BackendError, Finish, Memory, Progress, StepResults, Stepped,
};
use crate::clock::ManualClock;
use crate::signal::lock;

/// A call of the backend, as a [`Scripted`] backend can be told to disturb it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Call {
    /// [`Backend::memory`].
    Memory,
    /// [`Backend::begin`].
    Begin,
    /// The slice with this number, from 0.
    Advance(usize),
    /// The step that makes the token with this number, from 0.
    Step(usize),
    /// [`Backend::finish`].
    Finish,
}

/// How a call is disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It returns an error. [`Call::Memory`] has none, and goes on.
    Error,
    /// It panics, before anything has changed.
    Panic,
    /// It panics in the middle: the backend does not vouch for any sequence of the step.
    PanicHalfway,
}

/// What a request asks for, and what shall go wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// The text that its tokens begin with, and by which the record names it.
    pub name: String,
    /// Slices of its prompt, at least one.
    pub slices: usize,
    /// Tokens of its answer, at least one.
    pub tokens: usize,
    /// What it says that it takes.
    pub memory: Memory,
    /// A call that fails.
    pub fault: Option<(Call, Fault)>,
}

impl Script {
    /// A request that takes no memory and does not fail.
    pub fn new(name: impl Into<String>, slices: usize, tokens: usize) -> Self {
        let memory = Memory::default();
        let (slices, tokens) = (slices.max(1), tokens.max(1));
        Self { name: name.into(), slices, tokens, memory, fault: None }
    }

    /// The same with these bytes.
    pub fn taking(self, kept: u64, working: u64) -> Self {
        Self { memory: Memory { kept, working }, ..self }
    }

    /// The same with a call that fails.
    pub fn failing(self, call: Call, fault: Fault) -> Self {
        Self { fault: Some((call, fault)), ..self }
    }

    /// The text of the token with this number, from 0.
    pub fn piece(&self, number: usize) -> String {
        format!("{}{number} ", self.name)
    }

    fn disturb(&self, call: Call) -> Result<(), ScriptedError> {
        match self.fault {
            Some((at, Fault::Error)) if at == call => Err(ScriptedError(self.name.clone())),
            Some((at, _)) if at == call => {
                // The one thing that a disturbed backend is for.
                std::panic::panic_any(format!("{} was told to panic", self.name))
            }
            _ => Ok(()),
        }
    }
}

/// The error of a request that was told to fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedError(pub String);

impl fmt::Display for ScriptedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was told to fail", self.0)
    }
}

impl std::error::Error for ScriptedError {}

impl BackendError for ScriptedError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}

/// A request that is being worked on.
#[derive(Debug)]
pub struct ScriptedSequence {
    script: Script,
    slices: usize,
    tokens: usize,
    broken: bool,
}

/// Works on [`Script`]s. Every call is recorded, and takes as much of a clock's time as it is told to.
#[derive(Debug, Default)]
pub struct Scripted {
    clock: ManualClock,
    slice: Duration,
    step: Duration,
    record: Mutex<Vec<String>>,
}

impl Scripted {
    /// A backend whose slices and steps take these times of the clock.
    pub fn timed(clock: ManualClock, slice: Duration, step: Duration) -> Self {
        Self { clock, slice, step, record: Mutex::default() }
    }

    /// The calls since this was last asked, a line for each: `begin a`, `advance a`, `step a b`, `finish a`.
    pub fn calls(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.record))
    }

    fn note(&self, call: String) {
        lock(&self.record).push(call);
    }
}

impl Backend for Scripted {
    type Job = Script;
    type Sequence = ScriptedSequence;
    type Token = String;
    type Outcome = String;
    type Error = ScriptedError;

    fn memory(&self, job: &Script) -> Memory {
        // Memory cannot fail, so a script that says so goes on.
        let _ = job.disturb(Call::Memory);
        job.memory
    }

    fn begin(&self, script: Script) -> Result<ScriptedSequence, ScriptedError> {
        self.note(format!("begin {}", script.name));
        script.disturb(Call::Begin)?;
        Ok(ScriptedSequence { script, slices: 0, tokens: 0, broken: false })
    }

    fn advance(&self, sequence: &mut ScriptedSequence) -> Result<Advance<String>, ScriptedError> {
        self.note(format!("advance {}", sequence.script.name));
        self.clock.advance(self.slice);
        sequence.script.disturb(Call::Advance(sequence.slices))?;
        sequence.slices += 1;
        let (done, total) = (sequence.slices, sequence.script.slices);
        if done == total {
            return Ok(Advance::Ready(None));
        }
        Ok(Advance::Slice(Progress { part: "prefill", done, total }))
    }

    fn step(&self, rows: &mut [&mut ScriptedSequence]) -> StepResults<Self> {
        let names: Vec<&str> = rows.iter().map(|row| row.script.name.as_str()).collect();
        self.note(format!("step {}", names.join(" ")));
        self.clock.advance(self.step);
        let halfway = |row: &ScriptedSequence| {
            row.script.fault == Some((Call::Step(row.tokens), Fault::PanicHalfway))
        };
        if rows.iter().any(|row| halfway(row)) {
            rows.iter_mut().for_each(|row| row.broken = true);
        }
        // All checks come before the first change, as in a careful engine.
        let checked: Vec<_> =
            rows.iter().map(|row| row.script.disturb(Call::Step(row.tokens))).collect();
        let step = |row: &mut ScriptedSequence| {
            let token = Some(row.script.piece(row.tokens));
            row.tokens += 1;
            let finish = (row.tokens == row.script.tokens).then_some(Finish::Stop);
            Stepped { token, finish }
        };
        rows.iter_mut().zip(checked).map(|(row, checked)| checked.map(|()| step(row))).collect()
    }

    fn recover(&self, sequence: &mut ScriptedSequence) -> bool {
        !sequence.broken
    }

    fn finish(&self, sequence: ScriptedSequence) -> Result<String, ScriptedError> {
        let name = &sequence.script.name;
        self.note(format!("finish {name}"));
        sequence.script.disturb(Call::Finish)?;
        Ok((0..sequence.tokens).map(|number| sequence.script.piece(number)).collect())
    }
}
