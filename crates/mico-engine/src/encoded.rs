//! Images that have been through the vision side once, for any number of requests.

use std::sync::Arc;

use mico_model::VisionTaps;
use mico_util::digest::Hasher;
use mico_vision::Processed;
use mico_vision::layout::VisualLayout;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::image_key::{ContentDigest, ImageKey, conditions};
use crate::pipeline::{EncodeOptions, ImageRun, VisionOutput};
use crate::preprocess::{ImageLimits, Packing, Preprocessor};
use crate::request::{ImageInput, SessionOptions};
use crate::sink::{Phase, Sink, Step, report};
use crate::switches::Switches;
use crate::trace::{Seconds, timed};
use crate::visuals::Visual;

/// What the vision side made of an image. Cheap to clone: clones share it.
///
/// [`Engine::encode_image`] gives one with every Stage-1 signal, which many questions, pruners and budgets
/// can share as [`ImageInput::Features`]. A prompt gives one with what its own plan asks for
/// ([`crate::Prefill::encoded`]), which serves requests that want the same ([`crate::Prepared::supply`]).
#[derive(Debug, Clone)]
pub struct EncodedImage {
    output: Arc<VisionOutput>,
    key: ImageKey,
    encoding: EncodingKey,
    how: EncodeOptions,
}

/// Everything but the image that decides what the vision side makes of it. Requests with equal keys
/// can share an [`EncodedImage`]; a request with another key refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodingKey {
    engine: u64,
    packing: Packing,
    switches: Switches,
    limits: ImageLimits,
}

impl EncodedImage {
    pub(crate) fn new(
        output: VisionOutput,
        key: ImageKey,
        encoding: EncodingKey,
        how: EncodeOptions,
    ) -> Self {
        Self { output: Arc::new(output), key, encoding, how }
    }

    pub(crate) fn output(&self) -> &VisionOutput {
        &self.output
    }

    /// Its sequence and groups.
    pub fn layout(&self) -> &VisualLayout {
        &self.output.layout
    }

    /// What it was encoded under.
    pub fn encoding(&self) -> EncodingKey {
        self.encoding
    }

    /// The image and all that decides what became of it.
    pub fn key(&self) -> ImageKey {
        self.key
    }

    /// Memory it holds, in bytes.
    pub fn bytes(&self) -> usize {
        self.output.bytes()
    }

    /// Refuses to stand for image `index` of a request that wants images encoded in another way.
    pub(crate) fn check(&self, index: usize, wanted: &EncodeOptions) -> Result<()> {
        if self.how.covers(wanted) {
            return Ok(());
        }
        let found = format!("number {} was encoded without signals that are needed", index + 1);
        Err(Error::range("image", found, "one encoded with every signal, or for an equal request"))
    }

    /// Stage 1's features, one row per token of the sequence (zeros for tokens that are no patch).
    pub fn features(&self) -> Option<&Features> {
        self.output.features.as_ref()
    }

    /// Stage 1's reliability: attention from the class token, or the mean attention received where the
    /// tower has none; one number per token (0 for tokens that are no patch).
    pub fn reliability(&self) -> Option<&[f32]> {
        self.output.reliability.as_deref()
    }
}

/// An image or video on its way into a prompt.
#[derive(Debug)]
pub(crate) enum VisualInput {
    /// Pixels after the family's processor, with the layout of their tokens; the tower is yet to
    /// run.
    Preprocessed(Box<Processed>),
    /// Encoded by an earlier call.
    Encoded(EncodedImage),
}

impl VisualInput {
    pub(crate) fn layout(&self) -> &VisualLayout {
        match self {
            Self::Preprocessed(processed) => &processed.layout,
            Self::Encoded(image) => image.layout(),
        }
    }
}

/// How a session's images are prepared.
pub(crate) struct VisualPipeline {
    processor: Preprocessor,
    encoding: EncodingKey,
    /// What keys of images have in common.
    conditions: Hasher,
}

/// An image before its key is known, which depends on the plan for all of them.
pub(crate) struct PreparedImage {
    pub(crate) input: VisualInput,
    /// Of what it came as; `None` if it came encoded.
    content: Option<ContentDigest>,
}

impl VisualPipeline {
    pub(crate) fn new(engine: &Engine, options: &SessionOptions) -> Result<Self> {
        let processor = engine.preprocessor(&options.switches, &options.limits)?;
        let encoding = engine.encoding_key(options);
        let conditions = conditions(&engine.image_conditions(&encoding));
        Ok(Self { processor, encoding, conditions })
    }

    pub(crate) fn encoding(&self) -> EncodingKey {
        self.encoding
    }

    /// The key of an image that is to be encoded in a certain way, or was before.
    pub(crate) fn key(&self, image: &PreparedImage, how: &EncodeOptions) -> Result<ImageKey> {
        match (&image.input, &image.content) {
            (VisualInput::Encoded(image), _) => Ok(image.key),
            (VisualInput::Preprocessed(_), Some(content)) => {
                Ok(ImageKey::new(&self.conditions, content, how))
            }
            (VisualInput::Preprocessed(_), None) => {
                Err(Error::internal("an image without contents was preprocessed"))
            }
        }
    }

    /// Decodes, resizes and lays out what one placeholder stands for.
    pub(crate) fn prepare(
        &self,
        engine: &Engine,
        visual: &Visual<'_>,
        seconds: &mut Seconds,
    ) -> Result<PreparedImage> {
        if let [ImageInput::Features(image)] = visual.images {
            if image.encoding == self.encoding {
                let input = VisualInput::Encoded(image.clone());
                return Ok(PreparedImage { input, content: None });
            }
            let found = format!("number {} was encoded under other settings", visual.first + 1);
            let accepted = "one encoded by the same engine with the same switches, limits and \
                            packing (pruned or not)";
            return Err(Error::range("image", found, accepted));
        }
        let packing = self.encoding.packing;
        timed(&mut seconds.preprocess, || {
            let processed = match visual.images {
                // Frames may be many: they are looked at where they are.
                [ImageInput::Frames(frames)] if engine.takes_video() => {
                    self.processor.process(frames, packing)
                }
                [ImageInput::Decoded(image)] => {
                    self.processor.process(std::slice::from_ref(image), packing)
                }
                images => {
                    let mut pictures = Vec::new();
                    for (index, image) in (visual.first..).zip(images) {
                        pictures.extend(engine.decode_input(index, image)?);
                    }
                    self.processor.process(&pictures, packing)
                }
            };
            let index = visual.first;
            let unfit = |error| match error {
                Error::Processor(source) => Error::Unfit { index, source },
                other => other,
            };
            let input = VisualInput::Preprocessed(Box::new(processed.map_err(unfit)?));
            Ok(PreparedImage { input, content: ContentDigest::of(visual.images) })
        })
    }
}

impl Engine {
    /// Takes an image or video through the vision side, for any number of requests whose options have
    /// the same [`EncodingKey`]: the same switches that concern images, the same limits, and pruned as
    /// well or unpruned as well where the family packs visual tokens differently then.
    pub fn encode_image(
        &self,
        image: &ImageInput,
        options: &SessionOptions,
        sink: &mut dyn Sink,
    ) -> Result<EncodedImage> {
        self.install(|| {
            let pipeline = VisualPipeline::new(self, options)?;
            let mut seconds = Seconds::default();
            let image = pipeline.prepare(self, &Visual::new(0, image), &mut seconds)?;
            report(sink, Step::new(Phase::Preprocess, 1, 1))?;
            let how = EncodeOptions::new(self, &options.switches, VisionTaps::ALL);
            let how = EncodeOptions { keep_pixels: true, ..how };
            let key = pipeline.key(&image, &how)?;
            match image.input {
                VisualInput::Encoded(image) => Ok(image),
                VisualInput::Preprocessed(processed) => {
                    let mut run = ImageRun::begin(&self.model, *processed, how)?;
                    while let Some(step) = run.advance(&mut seconds)? {
                        report(sink, step)?;
                    }
                    let output = run.finish(&self.model, &mut seconds)?;
                    Ok(EncodedImage::new(output, key, pipeline.encoding, how))
                }
            }
        })
    }

    /// What of these options decides how an image is encoded.
    pub fn encoding_key(&self, options: &SessionOptions) -> EncodingKey {
        EncodingKey {
            engine: self.id,
            packing: self.packing(options),
            switches: of_images(options.switches),
            limits: options.limits,
        }
    }
}

impl Engine {
    /// Everything but an image and what is observed of it that decides its encoding, one text each.
    fn image_conditions(&self, encoding: &EncodingKey) -> Vec<String> {
        let model = match &self.fingerprint {
            Some(fingerprint) => format!("weights {fingerprint}"),
            None => format!("engine {} of process {}", self.id, std::process::id()),
        };
        let config = self.model.config();
        let EncodingKey { packing, switches, limits, .. } = encoding;
        // Numbers print in full, and every field of these values with its name.
        vec![
            model,
            format!("{config:?}"),
            self.model.vision_format(),
            format!("{:?}", self.model.decoder().device().location()),
            format!("{:?}", self.preprocessing),
            format!("{:?}", self.decode.alpha),
            format!("{packing:?}"),
            format!("{switches:?}"),
            format!("{limits:?}"),
        ]
    }
}

/// The switches that decide what the vision side makes of an image; packing is looked at by itself.
fn of_images(switches: Switches) -> Switches {
    let Switches { position_mode, relevance, next_packing, video_newline, .. } =
        Switches::default();
    Switches { position_mode, relevance, next_packing, video_newline, ..switches }
}
