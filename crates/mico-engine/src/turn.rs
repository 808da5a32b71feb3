//! One turn from its prepared prompt to the end of its answer, without the caches it works on.

use std::time::Instant;

use mico_model::Caches;

use crate::encoded::EncodedImage;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::generate::{Accepted, Generated, Generation, StepRow, step};
use crate::outcome::Outcome;
use crate::pipeline::{Advance, Prefill, Ready};
use crate::prepare::Prepared;
use crate::report::Report;
use crate::sink::Step;

/// What one step of a turn brought.
#[derive(Debug)]
#[non_exhaustive]
pub enum Progress {
    /// A block of the tower, a selection or a block of the decoder was done.
    Step(Step),
    /// The decoder's logits became a token, or the end of the answer.
    Token(Accepted),
    /// The answer is finished, and nothing was left to do.
    Finished,
}

/// A turn that is worked on. It belongs to one set of caches, which its owner hands in at every step.
#[derive(Debug)]
pub(crate) struct TurnRun {
    state: State,
    /// Time that everything after the prompt took.
    decode: f64,
}

#[derive(Debug)]
enum State {
    Prompt(Box<Prefill>),
    Answer(Box<Answering>),
    /// A step failed.
    Failed,
}

#[derive(Debug)]
struct Answering {
    generation: Generation,
    report: Report,
    /// The prompt's logits, until the first token is taken.
    first: Option<Vec<f32>>,
}

/// Names a token in place of the sampler's.
pub(crate) type Steer<'a> = &'a mut (dyn FnMut(&[f32]) -> Option<u32> + Send);

impl TurnRun {
    pub(crate) fn new(prepared: Prepared) -> Self {
        Self { state: State::Prompt(Box::new(Prefill::new(prepared))), decode: 0.0 }
    }

    /// Does the next step: one of the prompt's, or one token. After an error there is none.
    pub(crate) fn advance(
        &mut self,
        engine: &Engine,
        caches: &mut Caches,
        steer: Steer<'_>,
    ) -> Result<Progress> {
        if let State::Prompt(prefill) = &mut self.state {
            match prefill.advance(engine, caches).inspect_err(|_| self.state = State::Failed)? {
                Advance::Step(step) => return Ok(Progress::Step(step)),
                Advance::Ready(ready) => self.begin_answer(*ready),
            }
        }
        let start = Instant::now();
        let stepped = match self.row(caches) {
            Some(mut row) => engine.install(|| step(engine.model.decoder(), &mut row).map(Some)),
            None => Ok(None),
        };
        match stepped {
            Ok(logits) => self.accept(logits, start.elapsed().as_secs_f64(), steer),
            Err(error) => Err(self.fail(error)),
        }
    }

    fn begin_answer(&mut self, ready: Ready) {
        let Ready { generation, logits, report } = ready;
        let first = Some(logits);
        self.state = State::Answer(Box::new(Answering { generation, report, first }));
    }

    /// The token the decoder is to be fed with next; `None` where none is needed.
    pub(crate) fn row<'a>(&'a self, caches: &'a mut Caches) -> Option<StepRow<'a>> {
        let generation = self.generation()?;
        Some(StepRow { id: generation.input()?, positions: generation.positions(), caches })
    }

    /// Takes the logits behind [`Self::row`], which took so many seconds, or the prompt's.
    pub(crate) fn accept(
        &mut self,
        logits: Option<Vec<f32>>,
        seconds: f64,
        steer: Steer<'_>,
    ) -> Result<Progress> {
        let answering = match &mut self.state {
            State::Answer(answering) => answering,
            State::Prompt(_) => {
                return Err(Error::range("sequence", "in its prompt", "one that is answering"));
            }
            State::Failed => return Err(Error::Conversation("the turn failed before".into())),
        };
        let start = Instant::now();
        self.decode += seconds;
        // A finished answer may never have looked at the prompt's logits.
        let logits = logits.or_else(|| answering.first.take());
        let Some(logits) = logits.filter(|_| answering.generation.finish().is_none()) else {
            return Ok(Progress::Finished);
        };
        let accepted = answering.generation.accept_steered(&logits, |logits| steer(logits));
        self.decode += start.elapsed().as_secs_f64();
        accepted.map(Progress::Token).map_err(|error| self.fail(error))
    }

    /// Ends the turn with an error.
    pub(crate) fn fail(&mut self, error: Error) -> Error {
        self.state = State::Failed;
        error
    }

    /// The answer, once the prompt is through.
    pub(crate) fn generation(&self) -> Option<&Generation> {
        match &self.state {
            State::Answer(answering) => Some(&answering.generation),
            State::Prompt(_) | State::Failed => None,
        }
    }

    /// An image's encoding while the prompt has it.
    pub(crate) fn encoded(&self, index: usize) -> Option<EncodedImage> {
        match &self.state {
            State::Prompt(prefill) => prefill.encoded(index),
            State::Answer(_) | State::Failed => None,
        }
    }

    /// The outcome of a finished turn, and the answer as a conversation takes it over.
    pub(crate) fn finish(self) -> Result<(Outcome, Generated)> {
        let State::Answer(answering) = self.state else {
            return Err(Error::range("turn", "unfinished", "one whose answer is finished"));
        };
        let generated = answering.generation.into_generated()?;
        Ok((answering.report.answered(&generated, self.decode), generated))
    }
}
