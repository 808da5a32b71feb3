//! Images that have been through the vision side once, for any number of requests.

use std::sync::Arc;

use mico_model::VisionTaps;
use mico_vision::layout::VisualLayout;
use mico_vision::{Processed, RgbImage, Size};

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::pipeline::{EncodeOptions, VisionOutput, encode};
use crate::preprocess::{ImageLimits, Packing, Preprocessor};
use crate::request::{ImageInput, SessionOptions};
use crate::sink::{Phase, Sink, report};
use crate::switches::Switches;
use crate::trace::{Seconds, timed};
use crate::visuals::Visual;

/// An image's embeddings with every Stage-1 signal. Many questions, pruners and budgets can share
/// it; each then spends time on its own selection and decoding only.
#[derive(Debug, Clone)]
pub struct EncodedImage {
    pub(crate) output: Arc<VisionOutput>,
    key: EncodingKey,
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
    /// Its sequence and groups.
    pub fn layout(&self) -> &VisualLayout {
        &self.output.layout
    }

    /// What it was encoded under.
    pub fn key(&self) -> EncodingKey {
        self.key
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
pub(crate) enum VisualInput {
    /// Pixels after the family's processor, with the layout of their tokens; the tower is yet to
    /// run.
    Preprocessed(Box<Processed>),
    /// Encoded by an earlier call.
    Encoded(Arc<VisionOutput>),
}

impl VisualInput {
    pub(crate) fn layout(&self) -> &VisualLayout {
        match self {
            Self::Preprocessed(processed) => &processed.layout,
            Self::Encoded(output) => &output.layout,
        }
    }
}

/// How a session's images are prepared.
pub(crate) struct VisualPipeline {
    processor: Preprocessor,
    key: EncodingKey,
}

impl VisualPipeline {
    pub(crate) fn new(engine: &Engine, options: &SessionOptions) -> Result<Self> {
        let processor = engine.preprocessor(&options.switches, &options.limits)?;
        Ok(Self { processor, key: engine.encoding_key(options) })
    }

    /// Pixels and layout of an image or video, if there is memory for them and for the tower on them.
    fn process(&self, engine: &Engine, pictures: &[RgbImage]) -> Result<Processed> {
        let packing = self.key.packing;
        engine.admit_pixels(|| {
            let sizes: Vec<Size> = pictures.iter().map(RgbImage::size).collect();
            self.processor.layout(&sizes, packing)
        })?;
        self.processor.process(pictures, packing)
    }

    /// Decodes, resizes and lays out what one placeholder stands for.
    pub(crate) fn prepare(
        &self,
        engine: &Engine,
        visual: &Visual<'_>,
        seconds: &mut Seconds,
    ) -> Result<VisualInput> {
        if let [ImageInput::Features(image)] = visual.images {
            if image.key == self.key {
                return Ok(VisualInput::Encoded(Arc::clone(&image.output)));
            }
            let found = format!("number {} was encoded under other settings", visual.first + 1);
            let accepted = "one encoded by the same engine with the same switches, limits and \
                            packing (pruned or not)";
            return Err(Error::range("image", found, accepted));
        }
        timed(&mut seconds.preprocess, || {
            let processed = match visual.images {
                // Frames may be many: they are looked at where they are.
                [ImageInput::Frames(frames)] if engine.takes_video() => {
                    self.process(engine, frames)
                }
                [ImageInput::Decoded(image)] => self.process(engine, std::slice::from_ref(image)),
                images => {
                    let mut pictures = Vec::new();
                    for (index, image) in (visual.first..).zip(images) {
                        pictures.extend(engine.decode_input(index, image)?);
                    }
                    self.process(engine, &pictures)
                }
            };
            let index = visual.first;
            let unfit = |error| match error {
                Error::Processor(source) => Error::Unfit { index, source },
                other => other,
            };
            Ok(VisualInput::Preprocessed(Box::new(processed.map_err(unfit)?)))
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
            let key = pipeline.key;
            let mut seconds = Seconds::default();
            let input = pipeline.prepare(self, &Visual::new(0, image), &mut seconds)?;
            report(sink, Phase::Preprocess, 1, 1)?;
            let output = match input {
                VisualInput::Encoded(output) => output,
                VisualInput::Preprocessed(processed) => {
                    let how = EncodeOptions::new(self, &options.switches, VisionTaps::ALL);
                    let how = EncodeOptions { keep_pixels: true, ..how };
                    Arc::new(encode(&self.model, *processed, &how, &mut seconds, sink)?)
                }
            };
            Ok(EncodedImage { output, key })
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

/// The switches that decide what the vision side makes of an image; packing is looked at by itself.
fn of_images(switches: Switches) -> Switches {
    let Switches { position_mode, relevance, next_packing, video_newline, .. } =
        Switches::default();
    Switches { position_mode, relevance, next_packing, video_newline, ..switches }
}
