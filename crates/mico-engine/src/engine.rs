//! The engine: a model with everything around it that a request needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mico_model::{LoadOptions, LoadReport, Model, ModelConfig, ModelFiles};
use mico_select::pruner::{ModelTraits, Plan, TokenLayout};
use mico_vision::RgbImage;
use mico_vision::decode::{DecodeOptions, decode};
use mico_vision::layout::VisualLayout;
use mico_vision::preprocessor_config::PreprocessorConfig;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::description::Description;
use crate::encoded::EncodedImage;
use crate::error::{Error, Result};
use crate::families::{FAMILIES, FamilySpec};
use crate::generate::Generation;
use crate::model_traits::{model_traits, plan_context, token_layout};
use crate::outcome::Outcome;
use crate::pipeline::Prefill;
use crate::prepare::Prepared;
use crate::preprocess::{ImageLimits, Packing, Preprocessor, read_preprocessing};
use crate::prompt::{ChatTemplate, Message, Piece, PromptStyle};
use crate::prompt::{enclosed, encode, image_token_text, no_template, pieces};
use crate::request::{ImageInput, Request, SessionOptions};
use crate::schedule::ModelSchedule;
use crate::sequence::Sequence;
use crate::session::Session;
use crate::sink::Sink;
use crate::switches::Switches;
use crate::tokenizer::{TOKENIZER_FILE, Tokenizer};

/// Tells engines of one process apart.
static ENGINES: AtomicU64 = AtomicU64::new(0);

/// How to open a model folder.
#[derive(Clone)]
pub struct EngineOptions {
    /// The families a folder may be of: those that ship with the engine, and any others.
    pub families: &'static [&'static FamilySpec],
    /// Device, number format, quantisation, progress.
    pub load: LoadOptions,
    /// What an image may cost to decode and what becomes of transparency.
    pub decode: DecodeOptions,
    /// Threads of a pool of the engine's own, on which it loads and answers; `None` works on the
    /// caller's rayon pool. Products of `q6k` and `q8_0` matrices run on a pool of candle's, which has
    /// as many threads as the variable `CANDLE_NUM_THREADS` says when the first of them runs.
    pub threads: Option<usize>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            families: FAMILIES,
            load: LoadOptions::default(),
            decode: DecodeOptions::default(),
            threads: None,
        }
    }
}

/// A model ready to answer. It holds no state of any conversation and nothing that a request could
/// change, so any number of threads may share it.
#[derive(Debug)]
pub struct Engine {
    /// Unique in this process.
    pub(crate) id: u64,
    pub(crate) family: &'static FamilySpec,
    pub(crate) model: Model,
    pub(crate) tokenizer: Option<Arc<Tokenizer>>,
    pub(crate) schedule: ModelSchedule,
    /// The model as pruning methods see it.
    pub(crate) traits: ModelTraits,
    /// Ids that end an answer.
    pub(crate) ends: Vec<u32>,
    /// The id that stands for an image in a prompt.
    pub(crate) placeholder: u32,
    pub(crate) template: Option<ChatTemplate>,
    pub(crate) preprocessing: PreprocessorConfig,
    pub(crate) decode: DecodeOptions,
    /// What names the weights beyond this process.
    pub(crate) fingerprint: Option<String>,
    /// Why there is no tokenizer, if there is none.
    missing: String,
    pool: Option<ThreadPool>,
}

// Servers share one engine among threads, and move requests between them at any stage.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    const fn moved<T: Send + 'static>() {}
    shared::<Engine>();
    shared::<Request>();
    shared::<EncodedImage>();
    moved::<Prepared>();
    moved::<Prefill>();
    moved::<Generation>();
    moved::<Sequence>();
    moved::<Session>();
    moved::<Outcome>();
    moved::<Error>();
};

impl Engine {
    /// Opens a model folder, or a model in memory. Without `tokenizer.json` it answers token ids alone.
    pub fn open<'a>(
        files: impl Into<ModelFiles<'a>>,
        options: &EngineOptions,
    ) -> Result<(Self, LoadReport)> {
        let files = files.into();
        let pool = options.threads.map(pool).transpose()?;
        let config = ModelConfig::read(files, &FamilySpec::architectures(options.families))?;
        let family = FamilySpec::among(options.families, config.family)?;
        let load = || Model::load_as(config, files, &options.load);
        let (model, mut report) = in_pool(pool.as_ref(), load)?;
        let tokenizer = match Tokenizer::open(files) {
            Ok(tokenizer) => Some(tokenizer),
            Err(Error::NoTokenizer { .. }) => None,
            Err(error) => return Err(error),
        };
        let template = match &tokenizer {
            Some(tokenizer) => ChatTemplate::open(files, tokenizer)?,
            None => None,
        };
        let (preprocessing, note) = read_preprocessing(files, family, model.config())?;
        report.notes.extend(note);
        let missing = format!("{} does not exist", files.path(TOKENIZER_FILE).display());
        let parts = Self::from_parts(family, model, tokenizer, preprocessing)?;
        let decode = options.decode;
        Ok((Self { template, decode, missing, pool, ..parts }, report))
    }

    /// Puts an engine together from parts, for models that come from no folder.
    pub fn from_parts(
        family: &'static FamilySpec,
        model: Model,
        tokenizer: Option<Tokenizer>,
        preprocessing: PreprocessorConfig,
    ) -> Result<Self> {
        let config = model.config();
        let mut ends = config.eos_token_ids.clone();
        let named = tokenizer.as_ref().and_then(|t| t.id(t.named("eos_token")?));
        ends.extend(named.filter(|id| !config.eos_token_ids.contains(id)));
        // A folder whose preprocessing does not fit its tower is told before anything is asked.
        let (switches, limits) = (Switches::default(), ImageLimits::default());
        Preprocessor::new(family, config, &preprocessing, &switches, &limits)?;
        Ok(Self {
            id: ENGINES.fetch_add(1, Ordering::Relaxed),
            schedule: ModelSchedule::of(family, config),
            traits: model_traits(config),
            placeholder: family.placeholder(config, tokenizer.as_ref()),
            family,
            model,
            tokenizer: tokenizer.map(Arc::new),
            ends,
            fingerprint: None,
            preprocessing,
            template: None,
            decode: DecodeOptions::default(),
            missing: "the engine was built without one".into(),
            pool: None,
        })
    }

    /// The same on a pool of its own with so many threads.
    pub fn with_threads(self, threads: usize) -> Result<Self> {
        Ok(Self { pool: Some(pool(threads)?), ..self })
    }

    /// The same under a name for its weights, such as a digest of the model's files, which makes
    /// [`ImageKey`](crate::ImageKey)s comparable between processes. Without one they hold for this engine.
    pub fn with_fingerprint(self, fingerprint: impl Into<String>) -> Self {
        Self { fingerprint: Some(fingerprint.into()), ..self }
    }

    /// Runs `work` on the engine's threads, if it has any of its own.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        in_pool(self.pool.as_ref(), work)
    }

    /// What is particular to the model's family.
    pub fn family(&self) -> &'static FamilySpec {
        self.family
    }

    /// The loaded weights: vision side and decoder, for callers that run parts of the model
    /// themselves.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The tokenizer, if there is one.
    pub fn tokenizer(&self) -> Option<&Arc<Tokenizer>> {
        self.tokenizer.as_ref()
    }

    /// The schedule this model prunes by: the preset it matches, or one scaled to its depth.
    pub fn schedule(&self) -> &ModelSchedule {
        &self.schedule
    }

    /// Whether the model takes videos.
    pub fn takes_video(&self) -> bool {
        self.family.traits().takes_video
    }

    /// How messages become a prompt unless a request says otherwise.
    pub fn style(&self) -> PromptStyle {
        self.family.prompt_style(self.model.config(), self.template.as_ref())
    }

    /// What the engine is made of.
    pub fn describe(&self) -> Description {
        Description::of(self)
    }

    /// Refuses options that this model does not know, before anything is asked under them.
    pub fn check(&self, options: &SessionOptions) -> Result<()> {
        if options.style == Some(PromptStyle::Template) && self.template.is_none() {
            // A template's special tokens are the tokenizer's: without one it is not even read.
            return Err(no_template(match self.tokenizer {
                Some(_) => "the checkpoint has none",
                None => "it cannot be used without a tokenizer",
            }));
        }
        self.preprocessor(&options.switches, &options.limits).map(|_| ())
    }

    /// A pruner's plan for images of these layouts; an error if the method is refused.
    pub fn plan(&self, options: &SessionOptions, images: &[&VisualLayout]) -> Result<Plan> {
        let tokens =
            images.iter().map(|layout| token_layout(layout)).collect::<Result<Vec<_>>>()?;
        self.plan_tokens(options, &tokens)
    }

    pub(crate) fn plan_tokens(
        &self,
        options: &SessionOptions,
        images: &[TokenLayout],
    ) -> Result<Plan> {
        let images: Vec<&TokenLayout> = images.iter().collect();
        let switches = &options.switches;
        let context = plan_context(&self.traits, &self.schedule, switches, &images);
        Ok(options.pruning.plan(&context)?)
    }

    /// Begins a conversation, with empty caches; its turns share `options`.
    pub fn session(&self, options: impl Into<SessionOptions>) -> Session {
        Session::new(self, options.into())
    }

    /// Answers one request by itself, in a session of a single turn.
    pub fn run(&self, request: &Request, sink: &mut dyn Sink) -> Result<Outcome> {
        self.session(request.options.clone()).ask(self, &request.turn, sink)
    }

    /// Token ids of a conversation that ends with the assistant's turn, one placeholder per image.
    pub fn encode_messages(
        &self,
        messages: &[Message],
        style: Option<PromptStyle>,
    ) -> Result<Vec<u32>> {
        self.encode_pieces(messages, style, false)
    }

    /// Decodes an image as this engine would.
    pub fn decode_image(&self, index: usize, image: &ImageInput) -> Result<RgbImage> {
        match image {
            ImageInput::Decoded(image) => Ok(image.clone()),
            ImageInput::Encoded(bytes) => {
                decode(bytes, &self.decode).map_err(|source| Error::Image { index, source })
            }
            ImageInput::Frames(frames) => {
                let found = format!("a video of {} frames", frames.len());
                Err(Error::range("image", found, "a file's bytes or pixels"))
            }
            ImageInput::Features(_) => {
                Err(Error::range("image", "encoded already", "a file's bytes or pixels"))
            }
        }
    }

    /// The picture of an image, or the frames of a video.
    pub(crate) fn decode_input(&self, index: usize, image: &ImageInput) -> Result<Vec<RgbImage>> {
        match image {
            ImageInput::Frames(frames) if self.takes_video() => Ok(frames.clone()),
            ImageInput::Frames(frames) => {
                let family = self.model.config().family.name();
                let found = format!("{} frames", frames.len());
                Err(Error::range("video", found, format!("none, the family {family} takes images")))
            }
            other => Ok(vec![self.decode_image(index, other)?]),
        }
    }

    /// The part of a conversation after its last answer, or all of it with the first token.
    pub(crate) fn encode_pieces(
        &self,
        messages: &[Message],
        style: Option<PromptStyle>,
        tail: bool,
    ) -> Result<Vec<u32>> {
        let Some(tokenizer) = &self.tokenizer else {
            return Err(Error::NoTokenizer { reason: self.missing.clone() });
        };
        let (style, placeholder) = (style.unwrap_or_else(|| self.style()), self.placeholder);
        let image = image_token_text(tokenizer, placeholder);
        let mut pieces = pieces(style, self.template.as_ref(), messages, &image, tail)?;
        if let Some(marks) = self.family.prompt.enclosure {
            pieces = enclosed(pieces, marks);
        }
        if tail {
            let Some(last) = pieces.iter().rposition(Piece::is_answer) else {
                let message = "the prompt leaves out the answer that was given last";
                return Err(Error::Conversation(message.into()));
            };
            return encode(tokenizer, &pieces.split_off(last + 1), placeholder, false);
        }
        let mut ids = encode(tokenizer, &pieces, placeholder, true)?;
        if let Some(first) = tokenizer.begins_with()
            && ids.first() != Some(&first)
        {
            ids.insert(0, first);
        }
        Ok(ids)
    }

    pub(crate) fn preprocessor(
        &self,
        switches: &Switches,
        limits: &ImageLimits,
    ) -> Result<Preprocessor> {
        Preprocessor::new(self.family, self.model.config(), &self.preprocessing, switches, limits)
    }

    /// How visual tokens stand in the sequence: some families pack them differently when a request
    /// prunes.
    pub(crate) fn packing(&self, options: &SessionOptions) -> Packing {
        self.family.packing(&options.switches, options.pruning.pruner.prunes())
    }

    /// The longest sequence the model attends over.
    pub(crate) fn longest(&self) -> usize {
        let decoder = &self.model.config().decoder;
        decoder.sliding_window.map_or(decoder.max_positions, |w| w.min(decoder.max_positions))
    }
}

fn pool(threads: usize) -> Result<ThreadPool> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Error::Threads { threads, reason: error.to_string() })
}

fn in_pool<T: Send>(pool: Option<&ThreadPool>, work: impl FnOnce() -> T + Send) -> T {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}
