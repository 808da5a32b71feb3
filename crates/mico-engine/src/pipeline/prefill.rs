//! A turn from its prepared images to the first logits, as a value that is worked on step by step.

use std::collections::VecDeque;

use mico_model::Caches;

use super::blocks::Blocks;
use super::question::question;
use super::stage1::Selecting;
use super::{EncodeOptions, ImageRun, Stage1, Turn, TurnContext};
use crate::encoded::{EncodedImage, EncodingKey, VisualInput};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::generate::{Generation, GenerationOptions, GenerationStart, check_finite};
use crate::image_key::ImageKey;
use crate::prepare::Prepared;
use crate::report::Report;
use crate::sink::Step;
use crate::trace::{Seconds, timed};

/// A prompt on its way to the first logits. Between two steps it is a value that owns all it has: it may
/// wait, be moved to another thread, or be dropped, which cancels it. Only its caches are elsewhere.
#[derive(Debug)]
pub struct Prefill {
    engine: u64,
    turn: Turn,
    how: EncodeOptions,
    encoding: EncodingKey,
    keys: Vec<ImageKey>,
    /// Images that have not been through the vision side.
    inputs: VecDeque<VisualInput>,
    /// Those that have.
    images: Vec<EncodedImage>,
    generation: GenerationOptions,
    seconds: Seconds,
    work: Work,
}

/// What a prefill is at.
#[derive(Debug)]
enum Work {
    /// The vision side, on the next of the inputs.
    Encode(Option<Box<ImageRun>>),
    /// Stage 1.
    Select(Box<Selecting>),
    /// The decoder, with its cuts.
    Run(Box<Running>),
    /// The logits were handed out, or a step failed.
    Over,
}

/// Tokens in the decoder, and how they came there.
#[derive(Debug)]
struct Running {
    blocks: Blocks,
    stage1: Stage1,
    question: Option<Features>,
}

/// How far one call of [`Prefill::advance`] brought a prompt.
#[derive(Debug)]
#[non_exhaustive]
pub enum Advance {
    /// One more step is done: a block of the tower on the views that go through it together, a selection,
    /// or a block of the decoder.
    Step(Step),
    /// All steps were done before; nothing was computed but what an answer begins with.
    Ready(Box<Ready>),
}

/// A prompt whose logits are there.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ready {
    /// The answer, before its first token.
    pub generation: Generation,
    /// Logits at the last token of the prompt, the first for [`Generation::accept`].
    pub logits: Vec<f32>,
    /// What happened so far, to become an [`crate::Outcome`].
    pub report: Report,
}

impl Prefill {
    /// The prefill of a turn, before its first step. The caches it is given must be those of the session
    /// that the turn was prepared for, or empty ones for [`Engine::prepare`].
    pub fn new(prepared: Prepared) -> Self {
        Self {
            engine: prepared.engine,
            turn: prepared.turn,
            how: prepared.how,
            encoding: prepared.encoding,
            keys: prepared.keys,
            inputs: prepared.inputs.into(),
            images: Vec::new(),
            generation: prepared.generation,
            seconds: prepared.seconds,
            work: Work::Encode(None),
        }
    }

    /// Does the next step, on the engine's threads. After an error there is none.
    pub fn advance(&mut self, engine: &Engine, caches: &mut Caches) -> Result<Advance> {
        if self.engine != engine.id {
            return Err(Error::Conversation("it was begun with another engine".into()));
        }
        engine.install(|| {
            loop {
                let advanced = match std::mem::replace(&mut self.work, Work::Over) {
                    Work::Encode(run) => self.encode(engine, run)?,
                    Work::Select(selecting) => self.select(engine, selecting)?,
                    Work::Run(running) => self.run(engine, running, caches)?,
                    Work::Over => {
                        return Err(Error::Conversation(
                            "the prompt is over, or failed before".into(),
                        ));
                    }
                };
                if let Some(advanced) = advanced {
                    return Ok(advanced);
                }
            }
        })
    }

    /// What the vision side made of an image of the turn, for a cache to keep under its key: from when
    /// its tower is through until the prompt is.
    pub fn encoded(&self, index: usize) -> Option<EncodedImage> {
        self.images.get(index).cloned()
    }

    /// Time this prompt's own work has taken so far.
    pub fn seconds(&self) -> Seconds {
        self.seconds
    }

    /// One block of the tower; `None` when the next step is one of Stage 1's or the decoder's.
    fn encode(
        &mut self,
        engine: &Engine,
        mut run: Option<Box<ImageRun>>,
    ) -> Result<Option<Advance>> {
        loop {
            if let Some(mut image) = run.take() {
                if let Some(step) = image.advance(&mut self.seconds)? {
                    self.work = Work::Encode(Some(image));
                    return Ok(Some(Advance::Step(step)));
                }
                let output = image.finish(&engine.model, &mut self.seconds)?;
                let key = self.keys[self.images.len()];
                self.images.push(EncodedImage::new(output, key, self.encoding, self.how));
            }
            match self.inputs.pop_front() {
                Some(VisualInput::Encoded(image)) => self.images.push(image),
                Some(VisualInput::Preprocessed(image)) => {
                    run = Some(Box::new(ImageRun::begin(&engine.model, *image, self.how)?));
                }
                None => break,
            }
        }
        let asked = timed(&mut self.seconds.stage1, || question(engine, &self.turn))?;
        self.work = Work::Select(Box::new(Selecting::new(&self.context(engine), asked)));
        Ok(None)
    }

    /// Stage 1 of one image; `None` when the next step is the decoder's.
    fn select(
        &mut self,
        engine: &Engine,
        mut selecting: Box<Selecting>,
    ) -> Result<Option<Advance>> {
        let mut seconds = self.seconds;
        let context = self.context(engine);
        if let Some(step) = selecting.advance(&context, &mut seconds)? {
            self.seconds = seconds;
            self.work = Work::Select(selecting);
            return Ok(Some(Advance::Step(step)));
        }
        let question = selecting.question.take();
        let stage1 = selecting.finish()?;
        let blocks = Blocks::enter(&context, &stage1, &mut seconds)?;
        self.seconds = seconds;
        self.work = Work::Run(Box::new(Running { blocks, stage1, question }));
        Ok(None)
    }

    /// One block of the decoder, or one cut.
    fn run(
        &mut self,
        engine: &Engine,
        mut running: Box<Running>,
        caches: &mut Caches,
    ) -> Result<Option<Advance>> {
        let mut seconds = self.seconds;
        let step = running.blocks.advance(&self.context(engine), caches, &mut seconds)?;
        self.seconds = seconds;
        if let Some(step) = step {
            self.work = Work::Run(running);
            return Ok(Some(Advance::Step(step)));
        }
        let ready = self.ready(engine, *running, caches)?;
        // From here on nobody looks at the images.
        self.images.clear();
        Ok(Some(Advance::Ready(Box::new(ready))))
    }

    fn ready(&self, engine: &Engine, running: Running, caches: &Caches) -> Result<Ready> {
        let context = self.context(engine);
        let filled = running.blocks.finish(&context)?;
        let logits: Vec<f32> = filled.logits.to_vec1()?;
        check_finite(&logits, 0)?;
        let generation = Generation::new(GenerationStart {
            options: self.generation.clone(),
            tokenizer: engine.tokenizer.clone(),
            ends: engine.ends.clone(),
            positions: filled.next_positions.clone(),
        });
        let report = Report::new(&context, running.stage1, filled, running.question.as_ref())?;
        let report =
            report.after_prompt(&logits, caches.lengths(), self.seconds, self.turn.observe);
        Ok(Ready { generation, logits, report })
    }

    fn context<'a>(&'a self, engine: &'a Engine) -> TurnContext<'a> {
        TurnContext { engine, turn: &self.turn, images: &self.images }
    }
}
