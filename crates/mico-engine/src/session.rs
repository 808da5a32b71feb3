//! A conversation: caches, positions and history over several turns.

use std::cell::RefCell;
use std::sync::Arc;

use mico_model::{Caches, VisionTaps, Watch};
use mico_select::Tensor;
use mico_vision::layout::VisualLayout;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::generate::{Decoded, Decoding, Generation, Phase, Sink, Step, check_finite, decode};
use crate::layout::{Extent, PromptLayout};
use crate::pipeline::{
    Asked, Seeing, SeenImage, Stage1Work, Turn, Watched, prefill, question, see, stage1,
};
use crate::prompt::{Message, Role};
use crate::pruner::{Features, Plan, Pruning, Refinement, Stage1Plan};
use crate::report::{Report, dump};
use crate::request::{Outcome, Prompt, TurnRequest};
use crate::seen::Look;
use crate::trace::{LogitsTrace, Seconds, timed};
use crate::visuals::assign;

/// A conversation with one engine. A turn that fails leaves it as it was.
///
/// Positions continue from the unpruned lengths of all earlier turns, whatever was dropped; each
/// block's cache has its own length. A new image in a later turn goes through both stages by itself:
/// it competes with no earlier image.
#[derive(Debug)]
pub struct Session {
    pruning: Pruning,
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

/// What a turn needs before the decoder runs.
struct Prepared {
    layout: PromptLayout,
    images: Vec<Arc<SeenImage>>,
    plan: Plan,
    history: Vec<Message>,
}

impl Prepared {
    /// Embeddings of the question's words.
    fn question(&self, engine: &Engine) -> Result<Features> {
        let text = self.history.iter().rev().find(|message| message.role == Role::User);
        let text = text.map(Message::text);
        let asked = Asked {
            words: engine.family.prompt.question,
            text: text.as_deref(),
            tokenizer: engine.tokenizer.as_ref(),
            layout: &self.layout,
        };
        question(engine.model.decoder(), asked)
    }
}

impl Session {
    pub(crate) fn new(engine: &Engine, pruning: Pruning) -> Self {
        Self {
            pruning,
            caches: engine.model.decoder().new_caches(),
            positions: vec![0; engine.model.decoder().blocks()],
            length: 0,
            pending: None,
            history: Vec::new(),
            turns: 0,
            images: 0,
        }
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
        let before = self.caches.mark();
        let outcome = self.answer(engine, turn, sink);
        if outcome.is_err() {
            self.caches.restore(before)?;
        }
        outcome
    }

    fn answer(
        &mut self,
        engine: &Engine,
        request: &TurnRequest,
        sink: &mut dyn Sink,
    ) -> Result<Outcome> {
        request.generation.check()?;
        let mut seconds = Seconds::default();
        let prepared = self.prepare(engine, request, &mut seconds, sink)?;
        let pruner = self.pruning.pruner.clone();
        let positions = engine.switches.positions(prepared.plan.positions);
        let selected = timed(&mut seconds.stage1, || {
            let (model, layout) = (&engine.model, &prepared.layout);
            let plan = prepared.plan.stage1.as_ref();
            let asks = plan.is_some_and(|plan| plan.signals.has(Tensor::Text));
            let question = asks.then(|| prepared.question(engine)).transpose()?;
            stage1(&Stage1Work {
                model,
                pruner: pruner.as_ref(),
                plan,
                images: &prepared.images,
                layout,
                first_image: self.images,
                question: question.as_ref(),
                positions,
            })
            .map(|selected| (selected, question))
        });
        let (selected, question) = selected?;
        seconds.stage1 -= selected.projecting;
        seconds.projector += selected.projecting;
        let turn = Turn {
            layout: &prepared.layout,
            stage1: &selected,
            cuts: &prepared.plan.cuts,
            pruner: pruner.as_ref(),
            family: engine.model.config().family,
            starts: &self.positions,
            positions,
            observe_all: request.dump,
        };
        let mut watched = Watched { seconds: &mut seconds, sink: &mut *sink };
        let filled = prefill(engine.model.decoder(), &mut self.caches, &turn, &mut watched)?;
        let cache_lengths = self.caches.lengths();
        let logits: Vec<f32> = filled.logits.to_vec1()?;
        check_finite(&logits, 0)?;
        let first_logits = LogitsTrace::new(&logits);
        let length = self.length + prepared.layout.len();
        let room = engine.longest().saturating_sub(length);
        let generation = Generation {
            max_new_tokens: request.generation.max_new_tokens.min(room),
            ..request.generation.clone()
        };
        let decoding = Decoding {
            decoder: engine.model.decoder(),
            tokenizer: engine.tokenizer.as_ref(),
            options: &generation,
            ends: &engine.ends,
            logits,
            positions: filled.next_positions.clone(),
        };
        let decoded = timed(&mut seconds.decode, || decode(decoding, &mut self.caches, sink))?;
        let spatial = engine.model.config().decoder.rope.axes.is_spatial();
        let tensors = || dump(&prepared.images, question.as_ref(), &filled, spatial);
        let dump = request.dump.then(tensors).transpose()?;
        let report = Report {
            layout: &prepared.layout,
            images: &prepared.images,
            refine_layer: prepared.plan.cuts.last().map_or(
                self.pruning.refine_layer.unwrap_or(engine.schedule.policy.refine_layer),
                |cut| cut.block,
            ),
            // A block the caller or the method chose was scaled from nowhere.
            uncalibrated: engine.schedule.preset.is_none()
                && self.pruning.refine_layer.is_none()
                && pruner.refinement() == Refinement::Model,
            selected,
            filled,
            cache_lengths,
            first_logits,
        };
        let outcome = report.finish(engine, &decoded, seconds, dump);
        self.commit(prepared, decoded, length);
        Ok(outcome)
    }

    /// Images to embeddings, messages to a layout, budget to a plan.
    fn prepare(
        &self,
        engine: &Engine,
        request: &TurnRequest,
        seconds: &mut Seconds,
        sink: &mut dyn Sink,
    ) -> Result<Prepared> {
        let (ids, history) = self.ids(engine, &request.prompt)?;
        let config = engine.model.config();
        let videos = engine.takes_video();
        let (ids, visuals) = assign(&ids, engine.placeholder, &request.images, videos)?;
        let packing = engine.packing(self.pruning.pruner.prunes());
        let mut looked = Vec::new();
        for visual in &visuals {
            looked.push(engine.look(visual, packing, seconds)?);
        }
        let layouts: Vec<&VisualLayout> = looked.iter().map(Look::layout).collect();
        let plan = engine.plan(&self.pruning, &layouts)?;
        let spatial = config.decoder.rope.axes.is_spatial();
        let extent = |layout: &&VisualLayout| {
            if spatial { Extent::grid(layout) } else { Extent::line(layout.len()) }
        };
        let extents: Vec<Extent> = layouts.iter().map(extent).collect();
        let layout = PromptLayout::expand(&ids, engine.placeholder, &extents)?;
        let layout = layout.after(self.pending);
        check_length(self.length + layout.len(), engine.longest())?;
        check_text(&plan, &layout)?;
        let mut taps = plan.stage1.as_ref().map_or_else(VisionTaps::default, Stage1Plan::taps);
        taps.features |= request.dump;
        taps.attention.deep |= request.dump;
        let sink = RefCell::new(sink);
        let tell = |done, total| {
            sink.borrow_mut().progress(Step { phase: Phase::Vision, done, total });
        };
        let unprojected = !request.dump
            && plan.stage1.as_ref().is_some_and(|plan| {
                config.family.traits().projects_tokens && plan.selects_unprojected()
            });
        let how =
            Seeing { unprojected, watch: Watch::new(&tell), ..engine.seeing(taps, request.dump) };
        let mut images = Vec::new();
        for image in looked {
            images.push(match image {
                Look::Seen(image) => image,
                Look::Fresh(image) => Arc::new(see(&engine.model, *image, &how, seconds)?),
            });
        }
        Ok(Prepared { layout, images, plan, history })
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
            Prompt::InputIds(ids) => Ok((ids.clone(), Vec::new())),
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
                Ok((engine.encode_pieces(&messages, later)?, messages))
            }
        }
    }

    /// Takes a finished turn into the conversation.
    fn commit(&mut self, prepared: Prepared, decoded: Decoded, length: usize) {
        // All tokens of the answer are in the caches, but for one that may be pending.
        self.length = length + decoded.ids.len() - usize::from(decoded.pending.is_some());
        self.positions = decoded.positions;
        self.pending = decoded.pending;
        self.turns += 1;
        self.images += prepared.images.len();
        if !prepared.history.is_empty() {
            self.history = prepared.history;
            self.history.push(Message::assistant(decoded.text));
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
    let asks = plan.stage1.as_ref().is_some_and(|plan| plan.signals.has(Tensor::Text));
    let scored = asks || plan.cuts.iter().any(|cut| cut.signals.attention.is_some());
    if scored && layout.len() == layout.visual_tokens() {
        let accepted = "at least 1 text token, by which visual tokens are scored";
        return Err(Error::range("prompt", "0 text tokens", accepted));
    }
    Ok(())
}
