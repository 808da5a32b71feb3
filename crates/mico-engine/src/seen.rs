//! Images that have been through the vision side once, for any number of requests.

use std::sync::Arc;

use mico_model::VisionTaps;
use mico_vision::Processed;
use mico_vision::layout::VisualLayout;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::pipeline::{SeenImage, see};
use crate::preprocess::Packing;
use crate::pruner::Features;
use crate::request::ImageInput;
use crate::trace::{Seconds, timed};
use crate::visuals::Visual;

/// An image's embeddings with every Stage-1 signal. Many questions, pruners and budgets can share
/// it; each then spends time on its own selection and decoding only.
#[derive(Debug, Clone)]
pub struct Seen {
    pub(crate) image: Arc<SeenImage>,
    packing: Packing,
}

impl Seen {
    /// Its sequence and groups.
    pub fn layout(&self) -> &VisualLayout {
        &self.image.layout
    }

    /// Stage 1's features, one row per token of the sequence (zeros for tokens that are no patch).
    pub fn features(&self) -> Option<&Features> {
        self.image.features.as_ref()
    }

    /// Stage 1's reliability: attention from the class token, or the mean attention received where the
    /// tower has none; one number per token (0 for tokens that are no patch).
    pub fn reliability(&self) -> Option<&[f32]> {
        self.image.reliability.as_deref()
    }
}

/// An image or video on its way into a prompt.
pub(crate) enum Look {
    Fresh(Box<Processed>),
    Seen(Arc<SeenImage>),
}

impl Look {
    pub(crate) fn layout(&self) -> &VisualLayout {
        match self {
            Self::Fresh(processed) => &processed.layout,
            Self::Seen(image) => &image.layout,
        }
    }
}

impl Engine {
    /// Takes an image or video through the vision side. LLaVA-NeXT and LLaVA-Video pack visual tokens
    /// differently when a request prunes; what was seen for one kind of request is refused by the
    /// other.
    pub fn see(&self, image: &ImageInput, prunes: bool) -> Result<Seen> {
        let packing = self.packing(prunes);
        let mut seconds = Seconds::default();
        match self.look(&Visual::new(0, image), packing, &mut seconds)? {
            Look::Seen(image) => Ok(Seen { image, packing }),
            Look::Fresh(processed) => {
                let how = self.seeing(VisionTaps::ALL, true);
                let image = see(&self.model, *processed, &how, &mut seconds)?;
                Ok(Seen { image: Arc::new(image), packing })
            }
        }
    }

    pub(crate) fn look(
        &self,
        visual: &Visual<'_>,
        packing: Packing,
        seconds: &mut Seconds,
    ) -> Result<Look> {
        if let [ImageInput::Seen(seen)] = visual.images {
            if seen.packing == packing {
                return Ok(Look::Seen(Arc::clone(&seen.image)));
            }
            let accepted = "one seen for the same kind of request, pruned or not";
            return Err(Error::range("image", format!("number {}", visual.first + 1), accepted));
        }
        timed(&mut seconds.preprocess, || {
            let processed = match visual.images {
                // Frames may be many: they are looked at where they are.
                [ImageInput::Frames(frames)] if self.takes_video() => {
                    self.processor.process(frames, packing)
                }
                images => {
                    let mut pictures = Vec::new();
                    for (index, image) in (visual.first..).zip(images) {
                        pictures.extend(self.decode_input(index, image)?);
                    }
                    self.processor.process(&pictures, packing)
                }
            };
            let index = visual.first;
            let unfit = |error| match error {
                Error::Processor(source) => Error::Unfit { index, source },
                other => other,
            };
            Ok(Look::Fresh(Box::new(processed.map_err(unfit)?)))
        })
    }
}
