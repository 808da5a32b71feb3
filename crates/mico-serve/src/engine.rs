//! The engine under its scheduler, as the server's model.

mod errors;
mod report;
mod sink;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mico_batch::engine::EngineBackend;
use mico_batch::{
    EncoderCache, Limits, Observation, Observer, Scheduler, Setup, Shutdown, SubmitOptions,
};
use mico_engine::{
    Engine, GenerationOptions, ImageInput, Message, Part, Prepared, Prompt, Request, Role,
    SessionOptions, pruner::Pruning,
};
use mico_util::digest::Hasher;

use crate::backend::{
    Backend, ChatJob, Load, Media, ModelInfo, Planned, Speaker, Submission, Ticket, Turn, TurnPart,
};
use crate::config::CapacityFlags;
use crate::error::{Code, Result, ServeError};
use crate::events::EventSender;
use crate::metrics::Metrics;
use errors::{engine_error, refusal};
use report::{Shown, planned};
use sink::AnswerSink;

/// The share of the machine's memory that keys and values may take unless a flag says otherwise.
const KV_SHARE: u64 = 4;

/// What the server needs to know of an engine beside the engine itself.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Served {
    /// The name of the model's folder.
    pub root: String,
    /// What decides answers beside the request: files, quantisation, number format.
    pub identity: String,
    /// What all requests have in common: switches, image limits, prompt style.
    pub options: SessionOptions,
}

impl Served {
    /// A model by the name of its folder.
    pub fn new(
        root: impl Into<String>,
        identity: impl Into<String>,
        options: SessionOptions,
    ) -> Self {
        Self { root: root.into(), identity: identity.into(), options }
    }
}

/// The engine under its scheduler.
pub struct EngineServer {
    info: ModelInfo,
    options: SessionOptions,
    backend: Arc<EngineBackend>,
    scheduler: Scheduler<EngineBackend>,
}

impl std::fmt::Debug for EngineServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineServer").field("info", &self.info).finish_non_exhaustive()
    }
}

/// Counts what the scheduler observes.
struct Counting(Arc<Metrics>);

impl Observer for Counting {
    fn record(&self, observation: &Observation<'_>) {
        match observation {
            Observation::NextToken { gap } => self.0.next_token(*gap),
            Observation::Step { rows, .. } => self.0.step(*rows),
            Observation::Panicked { call, message } => {
                tracing::error!(call, message, "a panic was caught");
            }
            _ => {}
        }
    }
}

impl EngineServer {
    /// Starts the computing thread.
    pub fn start(
        engine: Engine,
        served: Served,
        capacity: &CapacityFlags,
        metrics: Arc<Metrics>,
    ) -> io::Result<Self> {
        let info = info(&engine, &served);
        let cache = Arc::new(EncoderCache::new(capacity.encoder_cache as u64));
        let backend = Arc::new(EngineBackend::new(Arc::new(engine), cache));
        let quarter = || mico_util::memory::total().map_or(u64::MAX, |bytes| bytes / KV_SHARE);
        let limits = Limits {
            memory_bytes: capacity.kv_memory.map_or_else(quarter, |bytes| bytes as u64),
            sequences: capacity.max_sequences,
            rows: capacity.max_sequences,
            queue: capacity.max_queue,
            ..Limits::default()
        };
        let setup = Setup { observer: Arc::new(Counting(metrics)), ..Setup::from(limits) };
        let scheduler = Scheduler::spawn(Arc::clone(&backend), setup)?;
        Ok(Self { info, options: served.options, backend, scheduler })
    }

    fn engine(&self) -> &Engine {
        self.backend.engine()
    }

    fn request(&self, job: &ChatJob) -> Result<(Request, Vec<String>)> {
        let params: Vec<String> = job.media.iter().map(|(param, _)| param.clone()).collect();
        let inputs = job.media.iter().enumerate().map(|(index, (_, media))| {
            let input = self.input(index, media, job.returns.overlay);
            input.map_err(|error| engine_error(&error, &params))
        });
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        let mut options = self.options.clone();
        options.pruning = match &job.pruning {
            Some(spec) => spec.build().map_err(|error| engine_error(&error.into(), &params))?,
            None => Pruning::off(),
        };
        let sampling = &job.sampling;
        let generation = GenerationOptions {
            max_new_tokens: sampling.max_tokens,
            temperature: sampling.temperature,
            top_k: sampling.top_k,
            top_p: sampling.top_p,
            seed: sampling.seed,
            stop: sampling.stop.clone(),
            logprobs: sampling.logprobs,
            ..GenerationOptions::default()
        };
        let prompt = Prompt::Messages(job.turns.iter().map(message).collect());
        Ok((Request::new(inputs, prompt).with(options).generating(generation), params))
    }

    /// An image as the engine takes it; decoded here where its pixels are needed later.
    fn input(&self, index: usize, media: &Media, decoded: bool) -> mico_engine::Result<ImageInput> {
        let decode = |bytes: &bytes::Bytes| {
            self.engine().decode_image(index, &ImageInput::Encoded(bytes.to_vec()))
        };
        match media {
            Media::Image(bytes) if decoded => decode(bytes).map(ImageInput::Decoded),
            Media::Image(bytes) => Ok(ImageInput::Encoded(bytes.to_vec())),
            Media::Frames(frames) => {
                frames.iter().map(decode).collect::<Result<_, _>>().map(ImageInput::Frames)
            }
        }
    }
}

fn info(engine: &Engine, served: &Served) -> ModelInfo {
    let description = engine.describe();
    let mut info = ModelInfo::new(&served.root, description.family);
    info.layers = description.layers;
    info.refine_layer = description.refine_layer;
    info.max_model_len = description.max_positions;
    info.takes_video = engine.takes_video();
    info.description = serde_json::to_value(&description).unwrap_or_default();
    let mut digest = Hasher::new();
    for part in [&served.identity, &info.description.to_string(), &format!("{:?}", served.options)]
    {
        digest.update_part(part);
    }
    info.fingerprint = digest.hex();
    info
}

fn message(turn: &Turn) -> Message {
    let role = match turn.speaker {
        Speaker::System => Role::System,
        Speaker::User => Role::User,
        Speaker::Assistant => Role::Assistant,
    };
    let parts = turn.parts.iter().map(|part| match part {
        TurnPart::Text(text) => Part::Text(text.clone()),
        TurnPart::Media => Part::Image,
    });
    Message { role, parts: parts.collect() }
}

/// A job as it waits for its submission.
struct Waiting {
    prepared: Prepared,
    shown: Shown,
}

impl Backend for EngineServer {
    fn model(&self) -> &ModelInfo {
        &self.info
    }

    fn tokenize(&self, text: &str, special: bool) -> Result<Vec<u32>> {
        let Some(tokenizer) = self.engine().tokenizer() else { return Err(no_tokenizer()) };
        let ids = tokenizer.encode(text).map_err(|error| engine_error(&error, &[]).at("prompt"))?;
        let first = tokenizer.begins_with().filter(|_| special);
        Ok(first.into_iter().chain(ids).collect())
    }

    fn tokenize_turns(&self, turns: &[Turn]) -> Result<Vec<u32>> {
        let messages: Vec<Message> = turns.iter().map(message).collect();
        let ids = self.engine().encode_messages(&messages, self.options.style);
        ids.map_err(|error| engine_error(&error, &[]))
    }

    fn detokenize(&self, ids: &[u32]) -> Result<String> {
        let Some(tokenizer) = self.engine().tokenizer() else { return Err(no_tokenizer()) };
        if let Some(index) = ids.iter().position(|id| tokenizer.token(*id).is_none()) {
            let message = format!("token {} is not in the vocabulary", ids[index]);
            return Err(ServeError::invalid(format!("tokens[{index}]"), message));
        }
        tokenizer.decode(ids).map_err(|error| engine_error(&error, &[]).at("tokens"))
    }

    fn prepare(&self, job: ChatJob) -> Result<Planned> {
        let (request, params) = self.request(&job)?;
        let prepared = self.engine().prepare(&request, &mut ());
        let prepared = prepared.map_err(|error| engine_error(&error, &params))?;
        if prepared.max_new_tokens() == 0 {
            let message = format!(
                "the prompt has {} tokens and leaves no room for an answer, accepted: fewer than {}",
                prepared.prompt_tokens(),
                self.info.max_model_len
            );
            return Err(ServeError::new(Code::ContextLengthExceeded, message).at("messages"));
        }
        let plan = planned(self.engine(), &prepared, &job);
        let inputs = if job.returns.overlay { request.turn.images } else { Vec::new() };
        let shown = Shown::new(plan.clone(), params, job.returns, inputs);
        Ok(Planned { plan, job: Box::new(Waiting { prepared, shown }) })
    }

    fn submit(
        &self,
        planned: Planned,
        submission: Submission,
        events: EventSender,
    ) -> Result<Ticket> {
        let waiting = planned.job.downcast::<Waiting>();
        let Waiting { prepared, shown } =
            *waiting.map_err(|_| ServeError::internal("a job of another backend"))?;
        let tokenizer = self.engine().tokenizer().cloned();
        let cached = self.backend.cache().capacity() > 0;
        let sink = AnswerSink::new(events, tokenizer, shown, cached);
        let options = SubmitOptions::of(submission.client).within(submission.timeout);
        let ticket = self.scheduler.submit(prepared, options, sink);
        ticket.map(Ticket::new).map_err(|why| refusal(&why))
    }

    fn load(&self) -> Load {
        let now = self.scheduler.snapshot();
        Load {
            waiting: now.waiting,
            running: now.running,
            kv_bytes: now.kept_bytes,
            encoder_cache_bytes: self.backend.cache().stats().bytes,
            stalled: now.stalled,
            panics: now.panics,
        }
    }

    fn close(&self, patience: Duration) {
        self.scheduler.close(Shutdown::DrainFor(patience));
    }
}

fn no_tokenizer() -> ServeError {
    ServeError::new(Code::UnsupportedParameter, "the model has no tokenizer")
}
