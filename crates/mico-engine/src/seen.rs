//! Images that have been through the vision side once, for any number of requests.

use std::sync::Arc;

use mico_vision::Processed;
use mico_vision::layout::VisualLayout;
use mico_vision::llava::NextPacking;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::pipeline::{SeenImage, see};
use crate::pruner::Stage1Signals;
use crate::request::ImageInput;
use crate::trace::{Seconds, timed};

/// An image's embeddings with every Stage-1 signal. Many questions, pruners and budgets can share
/// it; each then spends time on its own selection and decoding only.
#[derive(Debug, Clone)]
pub struct Seen {
    pub(crate) image: Arc<SeenImage>,
    packing: NextPacking,
}

/// An image on its way into a prompt.
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
    /// Takes an image through the vision side. LLaVA-NeXT packs images differently when `prunes`;
    /// what it saw for one kind of request is refused by the other.
    pub fn see(&self, image: &ImageInput, prunes: bool) -> Result<Seen> {
        let packing = self.packing(prunes);
        let mut seconds = Seconds::default();
        match self.look(0, image, packing, &mut seconds)? {
            Look::Seen(image) => Ok(Seen { image, packing }),
            Look::Fresh(processed) => {
                let all = Stage1Signals { features: true, reliability: true, projected: false };
                let image = see(&self.model, *processed, all, true, &mut seconds)?;
                Ok(Seen { image: Arc::new(image), packing })
            }
        }
    }

    pub(crate) fn look(
        &self,
        index: usize,
        image: &ImageInput,
        packing: NextPacking,
        seconds: &mut Seconds,
    ) -> Result<Look> {
        match image {
            ImageInput::Seen(seen) if seen.packing == packing => {
                Ok(Look::Seen(Arc::clone(&seen.image)))
            }
            ImageInput::Seen(_) => {
                let accepted = "one seen for the same kind of request, pruned or not";
                Err(Error::range("image", format!("number {}", index + 1), accepted))
            }
            ImageInput::Encoded(_) | ImageInput::Decoded(_) => {
                timed(&mut seconds.preprocess, || {
                    let image = self.decode_image(index, image)?;
                    Ok(Look::Fresh(Box::new(self.processor.process(&image, packing))))
                })
            }
        }
    }
}
