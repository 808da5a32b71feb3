//! Turns that are worked on step by step, alone or together, each with its own caches. Open this to
//! schedule several requests on one engine.

use std::time::Instant;

use mico_model::CacheMark;

use crate::encoded::EncodedImage;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::generate::{Generation, StepRow, step_many};
use crate::outcome::Outcome;
use crate::prepare::{Prepared, TurnRecord};
use crate::session::{ELSEWHERE, Session};
use crate::turn::{Progress, TurnRun};

/// A turn with its caches. Whoever has it decides when its next step is done, on whichever thread;
/// dropping it cancels the turn and frees what it holds.
///
/// ```no_run
/// # fn main() -> mico_engine::Result<()> {
/// # let (engine, request): (mico_engine::Engine, mico_engine::Request) = todo!();
/// use mico_engine::Progress;
/// let prepared = engine.prepare(&request, &mut ())?;
/// println!("{} tokens at most", prepared.max_new_tokens());
/// let mut sequence = engine.begin(prepared)?;
/// loop {
///     match sequence.advance(&engine)? {
///         Progress::Token(accepted) => print!("{}", accepted.text),
///         Progress::Finished => break,
///         _ => {}
///     }
/// }
/// let (outcome, _session) = sequence.finish()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Sequence {
    session: Session,
    /// What the caches held before the turn.
    before: CacheMark,
    record: TurnRecord,
    run: TurnRun,
}

impl Sequence {
    pub(crate) fn new(session: Session, mut prepared: Prepared) -> Self {
        let record = std::mem::take(&mut prepared.record);
        Self { before: session.caches.mark(), session, record, run: TurnRun::new(prepared) }
    }

    /// Does the next step on the engine's threads: a block of the tower, a selection, a block of the
    /// decoder, or one token of the answer. After an error there is none.
    pub fn advance(&mut self, engine: &Engine) -> Result<Progress> {
        self.session.check_engine(engine)?;
        self.run.advance(engine, &mut self.session.caches, &mut |_| None)
    }

    /// The answer so far, once the prompt is through: from then on the sequence may take part in
    /// [`Engine::step_many`].
    pub fn generation(&self) -> Option<&Generation> {
        self.run.generation()
    }

    /// Whether the answer has come to its end.
    pub fn is_finished(&self) -> bool {
        self.generation().is_some_and(|generation| generation.finish().is_some())
    }

    /// What the vision side made of an image of the turn, for a cache to keep under its key: from when
    /// its tower is through until the prompt is.
    pub fn encoded(&self, index: usize) -> Option<EncodedImage> {
        self.run.encoded(index)
    }

    /// The conversation the turn belongs to, with the caches it fills; it knows nothing of the turn yet.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The outcome of a finished turn, and the conversation with the turn in it.
    pub fn finish(self) -> Result<(Outcome, Session)> {
        let (outcome, generated) = self.run.finish()?;
        let mut session = self.session;
        session.commit(self.record, generated);
        Ok((outcome, session))
    }

    /// Gives the turn up, wherever it is; the conversation is as it was before.
    pub fn abandon(self) -> Result<Session> {
        let mut session = self.session;
        session.caches.restore(self.before)?;
        Ok(session)
    }
}

impl Engine {
    /// Begins to answer a request that [`Self::prepare`] has looked at, with caches of its own.
    pub fn begin(&self, prepared: Prepared) -> Result<Sequence> {
        let options = prepared.turn.options.clone();
        if prepared.engine != self.id || prepared.place.turns > 0 {
            return Err(Error::Conversation(ELSEWHERE.into()));
        }
        Ok(Sequence::new(Session::new(self, options), prepared))
    }

    /// The next token of several answers, each [`Progress::Token`] or [`Progress::Finished`], in their
    /// order. Every answer is what it would be alone, bit for bit; one that fails does not disturb the
    /// others.
    pub fn step_many(&self, sequences: &mut [&mut Sequence]) -> Vec<Result<Progress>> {
        self.install(|| self.step_together(sequences))
    }

    fn step_together(&self, sequences: &mut [&mut Sequence]) -> Vec<Result<Progress>> {
        let start = Instant::now();
        let (mut rows, mut fed): (Vec<StepRow<'_>>, Vec<bool>) = (Vec::new(), Vec::new());
        for sequence in sequences.iter_mut() {
            let Sequence { session, run, .. } = &mut **sequence;
            let own = session.check_engine(self).is_ok();
            let row = if own { run.row(&mut session.caches) } else { None };
            fed.push(row.is_some());
            rows.extend(row);
        }
        let mut logits = step_many(self.model.decoder(), &mut rows).into_iter();
        let share = start.elapsed().as_secs_f64() / rows.len().max(1) as f64;
        drop(rows);
        let pairs = sequences.iter_mut().zip(fed);
        pairs
            .map(|(sequence, fed)| {
                sequence.session.check_engine(self)?;
                if !fed {
                    return sequence.run.accept(None, 0.0, &mut |_| None);
                }
                let missing = || Err(Error::internal("a step gave fewer rows than it was given"));
                match logits.next().unwrap_or_else(missing) {
                    Ok(logits) => sequence.run.accept(Some(logits), share, &mut |_| None),
                    Err(error) => Err(sequence.run.fail(error)),
                }
            })
            .collect()
    }
}
