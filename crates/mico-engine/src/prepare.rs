//! A turn before anything of it runs: messages to token ids, images to pixels, the budget to a plan. From
//! here on its counts, its memory and its images' keys are known.

use mico_select::Signal;
use mico_select::pruner::{Plan, TokenLayout};
use mico_vision::layout::VisualLayout;

use crate::encoded::{EncodedImage, EncodingKey, PreparedImage, VisualInput, VisualPipeline};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::flops::Planned;
use crate::generate::GenerationOptions;
use crate::image_key::ImageKey;
use crate::layout::{Extent, PromptLayout};
use crate::model_traits::token_layout;
use crate::pipeline::{EncodeOptions, Turn};
use crate::prompt::{Message, Role};
use crate::report::model_trace;
use crate::request::{Prompt, Request, TurnRequest};
use crate::session::{Place, Session};
use crate::sink::{Phase, Sink, Step, report};
use crate::trace::Seconds;
use crate::visuals::assign;

/// A turn that is ready to run: decoded, preprocessed, laid out and planned. The vision tower has not run.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) engine: u64,
    pub(crate) place: Place,
    pub(crate) turn: Turn,
    pub(crate) how: EncodeOptions,
    pub(crate) encoding: EncodingKey,
    pub(crate) inputs: Vec<VisualInput>,
    pub(crate) keys: Vec<ImageKey>,
    /// The request's, with the room that is left for an answer.
    pub(crate) generation: GenerationOptions,
    pub(crate) seconds: Seconds,
    pub(crate) record: TurnRecord,
    /// Visual tokens in each block, at most.
    visual_per_block: Vec<usize>,
    /// Tokens in each block's cache after the prompt, at most.
    cache_lengths: Vec<Option<usize>>,
}

/// What a conversation remembers of a turn beside its answer.
#[derive(Debug, Default)]
pub(crate) struct TurnRecord {
    /// All messages of the conversation, this turn's included.
    pub(crate) history: Vec<Message>,
    /// Tokens of the conversation with this prompt, unpruned.
    pub(crate) length: usize,
    /// Images of the turn.
    pub(crate) images: usize,
}

impl Prepared {
    /// How many tokens stay where, and which signals decide it.
    pub fn plan(&self) -> &Plan {
        &self.turn.plan
    }

    /// The layouts of the turn's images, in their order.
    pub fn layouts(&self) -> impl ExactSizeIterator<Item = &VisualLayout> {
        self.inputs.iter().map(VisualInput::layout)
    }

    /// P0: tokens of the turn's unpruned prompt, visual ones included.
    pub fn prompt_tokens(&self) -> usize {
        self.turn.layout.len()
    }

    /// N0: visual tokens of the unpruned prompt.
    pub fn visual_tokens(&self) -> usize {
        self.turn.layout.visual_tokens()
    }

    /// Visual tokens that enter the decoder; at most as many where the method may leave fewer than it was
    /// asked for ([`Count::AtMost`](crate::pruner::Count::AtMost)).
    pub fn visual_tokens_entering(&self) -> usize {
        self.visual_per_block.first().copied().unwrap_or(0)
    }

    /// Visual tokens in the last block, at most.
    pub fn visual_tokens_kept(&self) -> usize {
        self.visual_per_block.last().copied().unwrap_or(0)
    }

    /// Visual tokens in each block, at most.
    pub fn visual_per_block(&self) -> &[usize] {
        &self.visual_per_block
    }

    /// Tokens each block's cache holds after the prompt, at most, those of earlier turns included; `None`
    /// for blocks that keep a recurrent state. The answer adds up to [`Self::max_new_tokens`] less one.
    pub fn cache_lengths(&self) -> &[Option<usize>] {
        &self.cache_lengths
    }

    /// Most tokens of the answer: as many as the request allows and the model has room for.
    pub fn max_new_tokens(&self) -> usize {
        self.generation.max_new_tokens
    }

    /// The keys of what the vision side will make of the images, in their order.
    pub fn image_keys(&self) -> &[ImageKey] {
        &self.keys
    }

    /// Whether the vision side has nothing left to do for an image.
    pub fn is_encoded(&self, index: usize) -> bool {
        matches!(self.inputs.get(index), Some(VisualInput::Encoded(_)))
    }

    /// Gives an image's encoding, so that the vision side need not run on it. It must have the image's own
    /// key: then the answer has the same bits as without it.
    pub fn supply(&mut self, index: usize, image: EncodedImage) -> Result<()> {
        let images = self.keys.len();
        let (Some(key), Some(input)) = (self.keys.get(index), self.inputs.get_mut(index)) else {
            return Err(Error::range("image", index, format!("a number below {images}")));
        };
        if *key != image.key() {
            let found = format!("encoded under the key {}", image.key());
            return Err(Error::range("image", found, format!("one of the key {key}")));
        }
        *input = VisualInput::Encoded(image);
        Ok(())
    }
}

impl Engine {
    /// Looks at a request without running any of it: what it will take, which images it is about, and
    /// whether anything stands in its way. [`Self::begin`] then runs it.
    pub fn prepare(&self, request: &Request, sink: &mut dyn Sink) -> Result<Prepared> {
        self.session(request.options.clone()).prepare(self, &request.turn, sink)
    }
}

impl Session {
    /// Looks at the conversation's next turn without running any of it. [`Self::begin`] then runs it.
    pub fn prepare(
        &self,
        engine: &Engine,
        request: &TurnRequest,
        sink: &mut dyn Sink,
    ) -> Result<Prepared> {
        engine.install(|| self.prepared(engine, request, sink))
    }

    fn prepared(
        &self,
        engine: &Engine,
        request: &TurnRequest,
        sink: &mut dyn Sink,
    ) -> Result<Prepared> {
        self.check_engine(engine)?;
        request.generation.check()?;
        let mut seconds = Seconds::default();
        let (ids, history) = self.ids(engine, &request.prompt)?;
        let videos = engine.takes_video();
        let (ids, visuals) = assign(&ids, engine.placeholder, &request.images, videos)?;
        let pipeline = VisualPipeline::new(engine, self.options())?;
        let mut images = Vec::new();
        for visual in &visuals {
            images.push(pipeline.prepare(engine, visual, &mut seconds)?);
            report(sink, Step::new(Phase::Preprocess, images.len(), visuals.len()))?;
        }
        let turn = self.turn(engine, request, &ids, &images, &history)?;
        let (switches, stage1) = (&self.options().switches, turn.plan.stage1.as_ref());
        let how = EncodeOptions::of_turn(engine, switches, stage1, request.observe);
        let key = |(index, image): (usize, &PreparedImage)| {
            if let VisualInput::Encoded(image) = &image.input {
                image.check(index, &how)?;
            }
            pipeline.key(image, &how)
        };
        let keys = images.iter().enumerate().map(key).collect::<Result<Vec<_>>>()?;
        let length = self.length + turn.layout.len();
        let room = engine.longest().saturating_sub(length);
        let max_new_tokens = request.generation.max_new_tokens.min(room);
        let visual_per_block = visual_per_block(engine, &turn, &images);
        let text = turn.layout.len() - turn.layout.visual_tokens();
        let blocks = self.cache_lengths().into_iter().zip(&visual_per_block);
        let cache_lengths =
            blocks.map(|(before, visual)| before.map(|before| before + text + visual)).collect();
        Ok(Prepared {
            engine: engine.id,
            place: self.place(),
            turn,
            how,
            encoding: pipeline.encoding(),
            record: TurnRecord { history, length, images: images.len() },
            inputs: images.into_iter().map(|image| image.input).collect(),
            keys,
            generation: GenerationOptions { max_new_tokens, ..request.generation.clone() },
            seconds,
            visual_per_block,
            cache_lengths,
        })
    }

    /// The turn as it is laid out and planned.
    fn turn(
        &self,
        engine: &Engine,
        request: &TurnRequest,
        ids: &[u32],
        images: &[PreparedImage],
        history: &[Message],
    ) -> Result<Turn> {
        let layouts: Vec<&VisualLayout> = images.iter().map(|image| image.input.layout()).collect();
        let tokens = layouts
            .iter()
            .map(|layout| token_layout(layout))
            .collect::<Result<Vec<TokenLayout>>>()?;
        let options = self.options();
        let plan = engine.plan_tokens(options, &tokens)?;
        let spatial = engine.model.config().decoder.rope.axes.is_spatial();
        let extent = |layout: &&VisualLayout| {
            if spatial { Extent::grid(layout) } else { Extent::line(layout.len()) }
        };
        let extents: Vec<Extent> = layouts.iter().map(extent).collect();
        let layout = PromptLayout::expand(ids, engine.placeholder, &extents)?.after(self.pending);
        check_length(self.length + layout.len(), engine.longest())?;
        check_text(&plan, &layout)?;
        let said = history.iter().rev().find(|message| message.role == Role::User);
        Ok(Turn {
            model: model_trace(engine, options, &plan),
            units: engine.schedule.units(layouts.iter().copied()),
            options: options.clone(),
            question: said.map(Message::text),
            plan,
            layout,
            tokens,
            first_image: self.images,
            starts: self.positions().to_vec(),
            observe: request.observe,
        })
    }

    /// Ids of this turn, and the messages with it.
    fn ids(&self, engine: &Engine, prompt: &Prompt) -> Result<(Vec<u32>, Vec<Message>)> {
        let refuse = |message: &str| Err(Error::Conversation(message.into()));
        let (later, history) = (self.turns > 0, self.history());
        match prompt {
            Prompt::InputIds(_) if !history.is_empty() => {
                refuse("it began with messages and cannot go on with token ids")
            }
            Prompt::InputIds(ids) if ids.is_empty() => refuse("no token ids were given"),
            Prompt::InputIds(ids) => {
                check_vocabulary(ids, engine)?;
                Ok((ids.clone(), Vec::new()))
            }
            Prompt::Messages(_) if later && history.is_empty() => {
                refuse("it began with token ids and cannot go on with messages")
            }
            Prompt::Messages(messages) if messages.last().is_none_or(|m| m.role != Role::User) => {
                refuse("the last message must be the user's")
            }
            Prompt::Messages(new) if later && new.iter().any(|m| m.role == Role::Assistant) => {
                refuse("a later turn cannot bring answers of its own")
            }
            Prompt::Messages(new) => {
                let mut messages = history.to_vec();
                messages.extend(new.iter().cloned());
                let ids = engine.encode_pieces(&messages, self.options().style, later)?;
                Ok((ids, messages))
            }
        }
    }
}

/// Visual tokens in each block, as planned.
fn visual_per_block(engine: &Engine, turn: &Turn, images: &[PreparedImage]) -> Vec<usize> {
    let layouts: Vec<&VisualLayout> = images.iter().map(|image| image.input.layout()).collect();
    let planned = Planned {
        config: engine.model.config(),
        images: &layouts,
        pruner: turn.pruner(),
        plan: &turn.plan,
        text: 0,
        after_image: 0,
    };
    planned.visual_per_block()
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
