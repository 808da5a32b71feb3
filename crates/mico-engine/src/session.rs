//! A conversation: caches, positions and history over several turns.

use std::sync::Arc;

use mico_model::{Caches, VisionTaps};
use mico_select::Signal;
use mico_select::pruner::{Plan, Stage1Plan, TokenLayout};
use mico_vision::layout::VisualLayout;

use crate::encoded::{VisualInput, VisualPipeline};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::generate::{Decoded, Decoding, Generation, check_finite, decode};
use crate::layout::{Extent, PromptLayout};
use crate::memory::RequestTokens;
use crate::model_traits::token_layout;
use crate::outcome::Outcome;
use crate::pipeline::{
    EncodeOptions, QuestionText, Telemetry, TurnContext, VisionOutput, encode, prefill, question,
    stage1, vision_taps,
};
use crate::prompt::{Message, Role};
use crate::report::Report;
use crate::request::{Prompt, SessionOptions, TurnRequest};
use crate::sink::{Phase, Sink};
use crate::trace::{Seconds, timed};
use crate::visuals::assign;

/// A conversation with one engine. A turn that fails or is cancelled leaves it as it was.
///
/// Positions continue from the unpruned lengths of all earlier turns, whatever was dropped; each
/// block's cache has its own length. A new image in a later turn goes through both stages by itself:
/// it competes with no earlier image.
#[derive(Debug)]
pub struct Session {
    /// Whose caches these are.
    engine: u64,
    options: SessionOptions,
    caches: Caches,
    /// Logical position of the next token in each block.
    positions: Vec<u32>,
    /// Tokens so far, unpruned; equal to the position where positions are one number.
    length: usize,
    /// End of the last answer, not yet in the caches.
    pending: Option<u32>,
    /// All messages so far; empty if the conversation is one of token ids.
    history: Vec<Message>,
    turns: usize,
    images: usize,
}

/// A turn before the vision tower runs.
struct Prepared {
    layout: PromptLayout,
    inputs: Vec<VisualInput>,
    /// The inputs' sequences as pruners see them.
    tokens: Vec<TokenLayout>,
    plan: Plan,
    /// All messages of the conversation, this turn's included.
    history: Vec<Message>,
}

impl Session {
    pub(crate) fn new(engine: &Engine, options: SessionOptions) -> Self {
        Self {
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
        if self.engine != engine.id {
            return Err(Error::Conversation("it was begun with another engine".into()));
        }
        request.generation.check()?;
        let mut seconds = Seconds::default();
        let mut telemetry = Telemetry { seconds: &mut seconds, sink };
        let mut prepared = self.prepare(engine, request, &mut telemetry)?;
        let images = self.encode(engine, request, &mut prepared, &mut telemetry)?;
        let context = TurnContext {
            engine,
            options: &self.options,
            plan: &prepared.plan,
            layout: &prepared.layout,
            images: &images,
            tokens: &prepared.tokens,
            first_image: self.images,
            starts: &self.positions,
            observe_all: request.observe.tensors,
        };
        let question = prepared.question(engine, telemetry.seconds)?;
        let selected = stage1(&context, question.as_ref(), &mut telemetry)?;
        let filled = prefill(&context, &selected, &mut self.caches, &mut telemetry)?;
        let cache_lengths = self.caches.lengths();
        let logits: Vec<f32> = filled.logits.to_vec1()?;
        check_finite(&logits, 0)?;
        let report = Report::new(&context, request.observe, &logits, cache_lengths);
        let length = self.length + prepared.layout.len();
        let room = engine.longest().saturating_sub(length);
        let most = request.generation.max_new_tokens.min(room);
        let decoding = Decoding {
            decoder: engine.model.decoder(),
            tokenizer: engine.tokenizer.as_ref(),
            options: &Generation { max_new_tokens: most, ..request.generation.clone() },
            ends: &engine.ends,
            logits,
            positions: filled.next_positions.clone(),
        };
        let Telemetry { seconds: spent, sink } = telemetry;
        let decoded = timed(&mut spent.decode, || decode(decoding, &mut self.caches, sink))?;
        let outcome = report.finish(selected, filled, question.as_ref(), &decoded, seconds)?;
        let (plan, history) = (prepared.plan, prepared.history);
        self.commit(images.len(), history, decoded, length);
        Ok(Outcome { plan, ..outcome })
    }

    /// Messages to token ids, images to pixels, the budget to a plan; nothing has been computed yet.
    fn prepare(
        &self,
        engine: &Engine,
        request: &TurnRequest,
        telemetry: &mut Telemetry<'_>,
    ) -> Result<Prepared> {
        let (ids, history) = self.ids(engine, &request.prompt)?;
        let videos = engine.takes_video();
        let (ids, visuals) = assign(&ids, engine.placeholder, &request.images, videos)?;
        let pipeline = VisualPipeline::new(engine, &self.options)?;
        let mut inputs = Vec::new();
        for visual in &visuals {
            inputs.push(pipeline.prepare(engine, visual, telemetry.seconds)?);
            telemetry.report(Phase::Preprocess, inputs.len(), visuals.len())?;
        }
        let layouts: Vec<&VisualLayout> = inputs.iter().map(VisualInput::layout).collect();
        let tokens =
            layouts.iter().map(|layout| token_layout(layout)).collect::<Result<Vec<_>>>()?;
        let plan = engine.plan_tokens(&self.options, &tokens)?;
        let spatial = engine.model.config().decoder.rope.axes.is_spatial();
        let extent = |layout: &&VisualLayout| {
            if spatial { Extent::grid(layout) } else { Extent::line(layout.len()) }
        };
        let extents: Vec<Extent> = layouts.iter().map(extent).collect();
        let layout = PromptLayout::expand(&ids, engine.placeholder, &extents)?;
        let layout = layout.after(self.pending);
        check_length(self.length + layout.len(), engine.longest())?;
        check_text(&plan, &layout)?;
        let room = engine.longest().saturating_sub(self.length + layout.len());
        engine.admit(&RequestTokens {
            images: &layouts,
            plan: &plan,
            text: layout.len() - layout.visual_tokens(),
            max_new: request.generation.max_new_tokens.min(room),
            cached: &self.caches.lengths(),
        })?;
        Ok(Prepared { layout, inputs, tokens, plan, history })
    }

    /// Runs the vision side on the images that have not been through it.
    fn encode(
        &self,
        engine: &Engine,
        request: &TurnRequest,
        prepared: &mut Prepared,
        telemetry: &mut Telemetry<'_>,
    ) -> Result<Vec<Arc<VisionOutput>>> {
        let (plan, dump) = (prepared.plan.stage1.as_ref(), request.observe.tensors);
        let mut taps = plan.map_or_else(VisionTaps::default, vision_taps);
        taps.features |= dump;
        taps.attention.deep |= dump;
        let projects = engine.family.traits().projects_tokens;
        let unprojected = !dump && projects && plan.is_some_and(Stage1Plan::selects_unprojected);
        let how = EncodeOptions::new(engine, &self.options.switches, taps);
        let how = EncodeOptions { keep_pixels: dump, unprojected, ..how };
        let mut images = Vec::new();
        for input in prepared.inputs.drain(..) {
            images.push(match input {
                VisualInput::Encoded(image) => image,
                VisualInput::Preprocessed(image) => {
                    let Telemetry { seconds, sink } = telemetry;
                    Arc::new(encode(&engine.model, *image, &how, seconds, *sink)?)
                }
            });
        }
        Ok(images)
    }

    /// Ids of this turn, and the messages with it.
    fn ids(&self, engine: &Engine, prompt: &Prompt) -> Result<(Vec<u32>, Vec<Message>)> {
        let refuse = |message: &str| Err(Error::Conversation(message.into()));
        let later = self.turns > 0;
        match prompt {
            Prompt::InputIds(_) if !self.history.is_empty() => {
                refuse("it began with messages and cannot go on with token ids")
            }
            Prompt::InputIds(ids) if ids.is_empty() => refuse("no token ids were given"),
            Prompt::InputIds(ids) => {
                check_vocabulary(ids, engine)?;
                Ok((ids.clone(), Vec::new()))
            }
            Prompt::Messages(_) if later && self.history.is_empty() => {
                refuse("it began with token ids and cannot go on with messages")
            }
            Prompt::Messages(messages) if messages.last().is_none_or(|m| m.role != Role::User) => {
                refuse("the last message must be the user's")
            }
            Prompt::Messages(new) if later && new.iter().any(|m| m.role == Role::Assistant) => {
                refuse("a later turn cannot bring answers of its own")
            }
            Prompt::Messages(new) => {
                let mut messages = self.history.clone();
                messages.extend(new.iter().cloned());
                let ids = engine.encode_pieces(&messages, self.options.style, later)?;
                Ok((ids, messages))
            }
        }
    }

    /// Takes a finished turn into the conversation.
    fn commit(&mut self, images: usize, history: Vec<Message>, decoded: Decoded, length: usize) {
        // All tokens of the answer are in the caches, but for one that may be pending.
        self.length = length + decoded.ids.len() - usize::from(decoded.pending.is_some());
        self.positions = decoded.positions;
        self.pending = decoded.pending;
        self.turns += 1;
        self.images += images;
        if !history.is_empty() {
            self.history = history;
            self.history.push(Message::assistant(decoded.text));
        }
    }
}

impl Prepared {
    /// Embeddings of the question's words, for pruners that compare them with the image.
    fn question(&self, engine: &Engine, seconds: &mut Seconds) -> Result<Option<Features>> {
        let asks = self.plan.stage1.as_ref().is_some_and(|plan| plan.signals.has(Signal::Text));
        if !asks {
            return Ok(None);
        }
        let text = self.history.iter().rev().find(|message| message.role == Role::User);
        let text = text.map(Message::text);
        let asked = QuestionText {
            words: engine.family.prompt.question,
            text: text.as_deref(),
            tokenizer: engine.tokenizer.as_ref(),
            layout: &self.layout,
        };
        timed(&mut seconds.stage1, || question(engine.model.decoder(), asked).map(Some))
    }
}

/// Refuses ids that the decoder has no embedding for. An image's placeholder may lie beyond them.
fn check_vocabulary(ids: &[u32], engine: &Engine) -> Result<()> {
    let vocabulary = engine.model.config().decoder.vocab_size;
    let known = |id: u32| (id as usize) < vocabulary || id == engine.placeholder;
    match ids.iter().find(|&&id| !known(id)) {
        None => Ok(()),
        Some(id) => {
            let accepted = format!("0 to {}, the vocabulary", vocabulary.saturating_sub(1));
            Err(Error::range("token id", id, accepted))
        }
    }
}

/// Refuses a conversation longer than the model was made for.
fn check_length(tokens: usize, longest: usize) -> Result<()> {
    if tokens <= longest {
        return Ok(());
    }
    Err(Error::TooLong { tokens, longest })
}

/// Refuses to score visual tokens by text where there is none.
fn check_text(plan: &Plan, layout: &PromptLayout) -> Result<()> {
    let asks = plan.stage1.as_ref().is_some_and(|plan| plan.signals.has(Signal::Text));
    let scored = asks || plan.cuts.iter().any(|cut| cut.signals.has(Signal::Relevance));
    if scored && layout.len() == layout.visual_tokens() {
        let accepted = "at least 1 text token, by which visual tokens are scored";
        return Err(Error::range("prompt", "0 text tokens", accepted));
    }
    Ok(())
}
