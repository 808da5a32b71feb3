//! The engine: a model with everything around it that a request needs.

use mico_model::{LoadOptions, LoadReport, Model, ModelConfig, ModelFiles, VisionTaps, Watch};
use mico_vision::RgbImage;
use mico_vision::decode::{DecodeOptions, decode};
use mico_vision::layout::VisualLayout;
use mico_vision::preprocessor_config::PreprocessorConfig;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::families::{FAMILIES, FamilySpec};
use crate::generate::Sink;
use crate::pipeline::Seeing;
use crate::preprocess::{ImageLimits, Packing, Preprocessor, read_preprocessing};
use crate::prompt::{
    ChatTemplate, Message, PromptStyle, enclosed, encode, image_token_text, pieces,
};
use crate::pruner::{Plan, Pruning};
use crate::request::{ImageInput, Outcome, Request};
use crate::schedule::ModelSchedule;
use crate::session::Session;
use crate::switches::{InternFeature, Switches, VideoFeature};
use crate::tokenizer::{TOKENIZER_FILE, Tokenizer};

/// How to open a model folder.
pub struct EngineOptions<'a> {
    /// The families a folder may be of: those that ship with the engine, and any others.
    pub families: &'static [&'static FamilySpec],
    /// Device, number format, quantisation, progress.
    pub load: LoadOptions<'a>,
    /// Choices the paper leaves open.
    pub switches: Switches,
    /// How messages become a prompt; the checkpoint's template, or its text model's style, if unset.
    pub style: Option<PromptStyle>,
    /// What an image may cost and what becomes of transparency.
    pub decode: DecodeOptions,
    /// How large an image may become, in place of what the checkpoint says.
    pub limits: ImageLimits,
}

impl Default for EngineOptions<'_> {
    fn default() -> Self {
        Self {
            families: FAMILIES,
            load: LoadOptions::default(),
            switches: Switches::default(),
            style: None,
            decode: DecodeOptions::default(),
            limits: ImageLimits::default(),
        }
    }
}

/// A model ready to answer. It holds no state of any conversation.
#[derive(Debug)]
pub struct Engine {
    pub(crate) family: &'static FamilySpec,
    pub(crate) model: Model,
    pub(crate) tokenizer: Option<Tokenizer>,
    pub(crate) schedule: ModelSchedule,
    pub(crate) switches: Switches,
    /// Ids that end an answer.
    pub(crate) ends: Vec<u32>,
    /// The id that stands for an image in a prompt.
    pub(crate) placeholder: u32,
    pub(crate) processor: Preprocessor,
    preprocessing: PreprocessorConfig,
    limits: ImageLimits,
    template: Option<ChatTemplate>,
    style: PromptStyle,
    decode: DecodeOptions,
    missing: String,
}

/// What an engine is made of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Description {
    /// `llava`, `llava_next`, `qwen2_5_vl`, ...
    pub family: &'static str,
    /// The published model with this shape and schedule, if it is one.
    pub preset: Option<&'static str>,
    /// Whether the refinement block was scaled rather than calibrated for this model.
    pub uncalibrated: bool,
    /// Decoder blocks L.
    pub layers: usize,
    /// Refinement block K, counted from 1.
    pub refine_layer: usize,
    /// Width of the decoder.
    pub hidden_size: usize,
    /// Vocabulary.
    pub vocabulary: usize,
    /// Longest sequence the model was made for.
    pub max_positions: usize,
    /// The id that stands for an image.
    pub image_token_id: u32,
    /// Ids that end an answer.
    pub end_token_ids: Vec<u32>,
    /// Visual tokens of one view, where the tower's input has one size.
    pub tokens_per_view: Option<usize>,
    /// Whether texts can be used.
    pub tokenizer: bool,
    /// Where the chat template was found.
    pub template: Option<String>,
    /// How messages become a prompt.
    pub prompt_style: &'static str,
    /// Bytes of the decoder's matrices.
    pub decoder_bytes: usize,
    /// Number format of the hidden states.
    pub dtype: String,
    /// Number format of the tower's and projector's matrices.
    pub vision_format: String,
}

impl Engine {
    /// Opens a model folder, or a model in memory. Without `tokenizer.json` it answers token ids alone.
    pub fn open<'a>(
        files: impl Into<ModelFiles<'a>>,
        options: &EngineOptions<'_>,
    ) -> Result<(Self, LoadReport)> {
        let files = files.into();
        let config = ModelConfig::read(files, &FamilySpec::architectures(options.families))?;
        let family = FamilySpec::among(options.families, config.family)?;
        let (model, report) = Model::load_as(config, files, &options.load)?;
        let tokenizer = match Tokenizer::open(files) {
            Ok(tokenizer) => Some(tokenizer),
            Err(Error::NoTokenizer { .. }) => None,
            Err(error) => return Err(error),
        };
        let template = match &tokenizer {
            Some(tokenizer) => ChatTemplate::open(files, tokenizer)?,
            None => None,
        };
        let preprocessing = read_preprocessing(files, family, model.config())?;
        let mut engine =
            Self::from_parts(family, model, tokenizer, preprocessing, options.switches)?;
        engine.set_limits(options.limits)?;
        engine.missing = format!("{} does not exist", files.path(TOKENIZER_FILE).display());
        engine.decode = options.decode;
        let own = family.prompt_style(engine.model.config(), template.as_ref());
        engine.template = template;
        engine.style = options.style.unwrap_or(own);
        Ok((engine, report))
    }

    /// Puts an engine together from parts, for models that come from no folder.
    pub fn from_parts(
        family: &'static FamilySpec,
        model: Model,
        tokenizer: Option<Tokenizer>,
        preprocessing: PreprocessorConfig,
        switches: Switches,
    ) -> Result<Self> {
        let config = model.config();
        let mut ends = config.eos_token_ids.clone();
        let named = tokenizer.as_ref().and_then(|t| t.id(t.named("eos_token")?));
        ends.extend(named.filter(|id| !config.eos_token_ids.contains(id)));
        Ok(Self {
            schedule: ModelSchedule::of(family, config),
            processor: Preprocessor::new(
                family,
                config,
                &preprocessing,
                &switches,
                &ImageLimits::default(),
            )?,
            style: family.prompt_style(config, None),
            placeholder: family.placeholder(config, tokenizer.as_ref()),
            family,
            model,
            tokenizer,
            switches,
            ends,
            preprocessing,
            limits: ImageLimits::default(),
            template: None,
            decode: DecodeOptions::default(),
            missing: "the engine was built without one".into(),
        })
    }

    /// Exchanges the switches.
    pub fn set_switches(&mut self, switches: Switches) -> Result<()> {
        self.processor = self.preprocessor(&switches, &self.limits)?;
        self.switches = switches;
        Ok(())
    }

    /// Exchanges the limits on image sizes.
    pub fn set_limits(&mut self, limits: ImageLimits) -> Result<()> {
        self.processor = self.preprocessor(&self.switches, &limits)?;
        self.limits = limits;
        Ok(())
    }

    /// The limits on image sizes.
    pub fn limits(&self) -> ImageLimits {
        self.limits
    }

    fn preprocessor(&self, switches: &Switches, limits: &ImageLimits) -> Result<Preprocessor> {
        Preprocessor::new(self.family, self.model.config(), &self.preprocessing, switches, limits)
    }

    /// Exchanges the prompt style.
    pub fn set_style(&mut self, style: PromptStyle) {
        self.style = style;
    }

    /// What is particular to the model's family.
    pub fn family(&self) -> &'static FamilySpec {
        self.family
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// How visual tokens stand in the sequence of a run that prunes, or does not.
    pub(crate) fn packing(&self, prunes: bool) -> Packing {
        self.family.packing(&self.switches, prunes)
    }

    /// How an image is seen when `signals` are asked for.
    pub(crate) fn seeing(&self, taps: VisionTaps, keep_pixels: bool) -> Seeing<'static> {
        let joined = self.switches.intern_feature == InternFeature::Concat;
        Seeing {
            taps: VisionTaps { joined, ..taps },
            keep_pixels,
            projected: self.switches.video_stage1_feature == VideoFeature::Projected,
            unprojected: false,
            watch: Watch::default(),
        }
    }

    /// Whether the model takes videos.
    pub fn takes_video(&self) -> bool {
        self.family.traits().takes_video
    }

    /// The longest sequence the model attends over.
    pub(crate) fn longest(&self) -> usize {
        let decoder = &self.model.config().decoder;
        decoder.sliding_window.map_or(decoder.max_positions, |w| w.min(decoder.max_positions))
    }

    /// The tokenizer, if there is one.
    pub fn tokenizer(&self) -> Option<&Tokenizer> {
        self.tokenizer.as_ref()
    }

    /// The switches.
    pub fn switches(&self) -> &Switches {
        &self.switches
    }

    /// The model's schedule.
    pub fn schedule(&self) -> &ModelSchedule {
        &self.schedule
    }

    /// What the engine is made of.
    pub fn describe(&self) -> Description {
        let config = self.model.config();
        let decoder = self.model.decoder();
        Description {
            family: config.family.name(),
            preset: self.schedule.preset,
            uncalibrated: self.schedule.preset.is_none(),
            layers: decoder.blocks(),
            refine_layer: self.schedule.policy.refine_layer,
            hidden_size: config.decoder.hidden_size,
            vocabulary: config.decoder.vocab_size,
            max_positions: config.decoder.max_positions,
            image_token_id: self.placeholder,
            end_token_ids: self.ends.clone(),
            tokens_per_view: config.vision.tokens_per_view(),
            tokenizer: self.tokenizer.is_some(),
            template: self.template.as_ref().map(|template| template.file().to_owned()),
            prompt_style: self.style.name(),
            decoder_bytes: decoder.bytes(),
            dtype: format!("{:?}", decoder.dtype()).to_lowercase(),
            vision_format: self.model.vision_format(),
        }
    }

    /// Token ids of a conversation that ends with the assistant's turn, one placeholder per image.
    pub fn encode_messages(&self, messages: &[Message]) -> Result<Vec<u32>> {
        self.encode_pieces(messages, false)
    }

    /// The part of a conversation after its last answer, or all of it with the first token.
    pub(crate) fn encode_pieces(&self, messages: &[Message], tail: bool) -> Result<Vec<u32>> {
        let Some(tokenizer) = &self.tokenizer else {
            return Err(Error::NoTokenizer { reason: self.missing.clone() });
        };
        let placeholder = self.placeholder;
        let image = image_token_text(tokenizer, placeholder);
        let mut pieces = pieces(self.style, self.template.as_ref(), messages, &image, tail)?;
        if let Some(marks) = self.family.prompt.enclosure {
            pieces = enclosed(pieces, marks);
        }
        if tail {
            let answer = |piece: &crate::prompt::Piece| piece.is_answer();
            let Some(last) = pieces.iter().rposition(answer) else {
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
            ImageInput::Seen(_) => {
                Err(Error::range("image", "seen already", "a file's bytes or pixels"))
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

    /// A pruner's plan for images of these layouts; an error if the method is refused.
    pub fn plan(&self, pruning: &Pruning, images: &[&VisualLayout]) -> Result<Plan> {
        let config = self.model.config();
        pruning.plan(config, &self.schedule, &self.switches, images)
    }

    /// Begins a conversation.
    pub fn session(&self, pruning: Pruning) -> Session {
        Session::new(self, pruning)
    }

    /// Answers one request.
    pub fn run(&self, request: &Request, sink: &mut dyn Sink) -> Result<Outcome> {
        self.session(request.pruning.clone()).ask(self, &request.turn, sink)
    }
}
