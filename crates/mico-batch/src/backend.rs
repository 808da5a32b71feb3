//! What the scheduler asks of an engine. Open this to put another engine under the scheduler.

use mico_util::ErrorKind;

/// An engine that works on requests in small pieces.
///
/// A request comes as a [`Backend::Job`] with everything prepared that needs no weights. It becomes a
/// [`Backend::Sequence`], whose prompt is worked off slice by slice ([`Backend::advance`]) and which then
/// yields one token per [`Backend::step`], together with other sequences, until it is finished.
///
/// All calls but [`Backend::memory`] come from one thread, one after another. A call cannot be
/// interrupted: cancellations, deadlines and other sequences' tokens wait for its end, so a slice should take
/// no longer than a decode step. Every call may panic: the panic ends the request that caused it and no other.
pub trait Backend: Send + Sync + 'static {
    /// A prepared request: images decoded, tokens laid out, pruning planned.
    type Job: Send + 'static;
    /// A request's state from its first slice to its last token. Dropping it frees its memory.
    type Sequence: Send + 'static;
    /// What one decode step yields for one sequence.
    type Token: Send + 'static;
    /// The whole answer.
    type Outcome: Send + 'static;
    /// Why the engine could not answer.
    type Error: BackendError;

    /// The bytes that the job will take, exactly. Called once, at submission, on the submitter's thread.
    fn memory(&self, job: &Self::Job) -> Memory;

    /// Turns a job into a sequence. Should take no longer than a slice.
    fn begin(&self, job: Self::Job) -> Result<Self::Sequence, Self::Error>;

    /// Works on the prompt for one slice: a tower block, a decoder block, a selection.
    fn advance(&self, sequence: &mut Self::Sequence) -> Result<Advance<Self::Token>, Self::Error>;

    /// Yields one token for each of the sequences, in their order. Each of them is ready and not finished.
    ///
    /// A result must not depend on the other rows: an answer never depends on who else is served.
    fn step(&self, rows: &mut [&mut Self::Sequence]) -> StepResults<Self>;

    /// Takes a sequence back to where it was before a step that panicked, and returns whether that was
    /// possible. If it was, the sequence steps again, alone; otherwise its request fails, because nobody
    /// knows what the panic left of its caches.
    ///
    /// The default never vouches for a sequence, so that a panic fails every row of its step.
    fn recover(&self, sequence: &mut Self::Sequence) -> bool {
        let _ = sequence;
        false
    }

    /// Ends a sequence whose last token has been made.
    fn finish(&self, sequence: Self::Sequence) -> Result<Self::Outcome, Self::Error>;
}

/// One result per row of a decode step, in the order of the rows.
pub type StepResults<B> = Vec<Result<Stepped<<B as Backend>::Token>, <B as Backend>::Error>>;

/// An engine's error as front ends need it: one line, and whose fault it is.
pub trait BackendError: std::error::Error + Send + Sync + 'static {
    /// The category by which a front end decides how to react.
    fn kind(&self) -> ErrorKind;
}

/// The bytes that a request takes, known before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Held from admission to the end: keys, values and states for the prompt and the longest answer.
    pub kept: u64,
    /// Held from admission until the prompt has been worked off: activations, features, logits.
    pub working: u64,
}

impl Memory {
    /// What the request takes at its peak.
    pub fn peak(self) -> u64 {
        self.kept.saturating_add(self.working)
    }
}

/// How far one slice brought a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advance<T> {
    /// There is more to do before the first token.
    Slice(Progress),
    /// The prompt has been worked off; the sequence can step. Backends whose last slice already decides the
    /// first token hand it out here, others leave it to the first step.
    Ready(Option<Stepped<T>>),
}

/// How far the part of a prompt's work that a slice belongs to has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The name of the part: `vision`, `stage1`, `prefill`, ...
    pub part: &'static str,
    /// Slices of this part that are done, the one reported included.
    pub done: usize,
    /// Slices of this part in all.
    pub total: usize,
}

/// What one step brought one sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stepped<T> {
    /// What the client is told: a piece of text, an id, probabilities. `None` if there is nothing to tell,
    /// as for an answer that was to have no tokens.
    pub token: Option<T>,
    /// Why the answer ends here; `None` if more follows.
    pub finish: Option<Finish>,
}

/// Why an answer is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Finish {
    /// By the model's end token or a stop string.
    Stop,
    /// By the limit on new tokens.
    Length,
}
