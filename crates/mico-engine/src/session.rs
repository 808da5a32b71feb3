//! A conversation: caches, positions and history over several turns.

use std::sync::atomic::{AtomicU64, Ordering};

use mico_model::Caches;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::generate::Generated;
use crate::outcome::Outcome;
use crate::prepare::{Prepared, TurnRecord};
use crate::prompt::Message;
use crate::request::{SessionOptions, TurnRequest};
use crate::sequence::Sequence;
use crate::sink::{Sink, report, unless_stopped};
use crate::turn::{Progress, TurnRun};

/// What is said of a turn that is begun where it was not prepared.
pub(crate) const ELSEWHERE: &str = "the turn was prepared for another place in a conversation";
/// Tells conversations of one process apart.
static SESSIONS: AtomicU64 = AtomicU64::new(0);

/// A conversation with one engine. A turn that fails or is cancelled leaves it as it was.
///
/// Positions continue from the unpruned lengths of all earlier turns, whatever was dropped; each
/// block's cache has its own length. A new image in a later turn goes through both stages by itself:
/// it competes with no earlier image.
#[derive(Debug)]
pub struct Session {
    /// Unique in this process.
    id: u64,
    /// Whose caches these are.
    engine: u64,
    options: SessionOptions,
    pub(crate) caches: Caches,
    /// Logical position of the next token in each block.
    positions: Vec<u32>,
    /// Tokens so far, unpruned; equal to the position where positions are one number.
    pub(crate) length: usize,
    /// End of the last answer, not yet in the caches.
    pub(crate) pending: Option<u32>,
    /// All messages so far; empty if the conversation is one of token ids.
    history: Vec<Message>,
    pub(crate) turns: usize,
    pub(crate) images: usize,
}

/// A place between two turns of one conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    session: u64,
    pub(crate) turns: usize,
}

impl Session {
    pub(crate) fn new(engine: &Engine, options: SessionOptions) -> Self {
        Self {
            id: SESSIONS.fetch_add(1, Ordering::Relaxed),
            engine: engine.id,
            options,
            caches: engine.model.decoder().new_caches(),
            positions: vec![0; engine.model.decoder().blocks()],
            length: 0,
            pending: None,
            history: Vec::new(),
            turns: 0,
            images: 0,
        }
    }

    /// What all turns share.
    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    /// Tokens each block's cache holds; `None` for blocks that keep a recurrent state.
    pub fn cache_lengths(&self) -> Vec<Option<usize>> {
        self.caches.lengths()
    }

    /// The caches of all blocks, for callers that measure or compare them.
    pub fn caches(&self) -> &Caches {
        &self.caches
    }

    /// Logical position of the next token, in the first block.
    pub fn position(&self) -> u32 {
        self.positions.first().copied().unwrap_or(0)
    }

    /// Logical position of the next token in each block: one number, unless the pruner's rule is
    /// [`crate::pruner::PositionRule::Packed`].
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// The messages so far, answers included.
    pub fn history(&self) -> &[Message] {
        &self.history
    }

    /// Says something to the model and takes its answer into the conversation. Messages are those of
    /// this turn alone.
    pub fn ask(
        &mut self,
        engine: &Engine,
        turn: &TurnRequest,
        sink: &mut dyn Sink,
    ) -> Result<Outcome> {
        engine.install(|| {
            let before = self.caches.mark();
            let outcome = self.answer(engine, turn, sink);
            if outcome.is_err() {
                self.caches.restore(before)?;
            }
            outcome
        })
    }

    fn answer(
        &mut self,
        engine: &Engine,
        request: &TurnRequest,
        sink: &mut dyn Sink,
    ) -> Result<Outcome> {
        let mut prepared = self.prepare(engine, request, sink)?;
        let record = std::mem::take(&mut prepared.record);
        let mut run = TurnRun::new(prepared);
        loop {
            let mut steer = |logits: &[f32]| sink.steer(logits);
            match run.advance(engine, &mut self.caches, &mut steer)? {
                Progress::Step(step) => report(sink, step)?,
                Progress::Token(accepted) => {
                    if !accepted.text.is_empty() {
                        unless_stopped(sink.text(&accepted.text))?;
                    }
                    if let Some(step) = accepted.step {
                        report(sink, step)?;
                    }
                }
                Progress::Finished => break,
            }
        }
        let (outcome, generated) = run.finish()?;
        self.commit(record, generated);
        Ok(outcome)
    }

    /// Begins the turn that [`Self::prepare`] has looked at, to be worked on step by step. The
    /// conversation comes back with [`Sequence::finish`] or [`Sequence::abandon`].
    pub fn begin(self, engine: &Engine, prepared: Prepared) -> Result<Sequence> {
        self.check_engine(engine)?;
        if prepared.place != self.place() {
            return Err(Error::Conversation(ELSEWHERE.into()));
        }
        Ok(Sequence::new(self, prepared))
    }

    /// Takes a finished turn into the conversation.
    pub(crate) fn commit(&mut self, turn: TurnRecord, answer: Generated) {
        // All tokens of the answer are in the caches, but for one that may be pending.
        self.length = turn.length + answer.ids.len() - usize::from(answer.pending.is_some());
        self.positions = answer.positions;
        self.pending = answer.pending;
        self.turns += 1;
        self.images += turn.images;
        if !turn.history.is_empty() {
            self.history = turn.history;
            self.history.push(Message::assistant(answer.text));
        }
    }

    /// Where the conversation stands.
    pub(crate) fn place(&self) -> Place {
        Place { session: self.id, turns: self.turns }
    }

    /// Refuses an engine whose caches these are not.
    pub(crate) fn check_engine(&self, engine: &Engine) -> Result<()> {
        if self.engine == engine.id {
            return Ok(());
        }
        Err(Error::Conversation("it was begun with another engine".into()))
    }
}
