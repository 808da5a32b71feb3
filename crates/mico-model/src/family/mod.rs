//! Families: how each puts its vision side together. The decoder is the same for all.
//!
//! A family is one file here that composes a tower with what leads from it to the decoder, and one
//! line of [`build`].

mod llava;

use std::fmt::Debug;

use crate::config::{ModelConfig, VisionConfig};
use crate::error::Result;
use crate::vision::{Embedded, Encoded, Pixels, VisionTaps};
use crate::weights::Builder;

/// The vision side of a family: pixels to one embedding per visual token.
pub trait VisionSide: Debug + Send + Sync {
    /// Runs the tower on one image or video and observes what `taps` asks for.
    fn encode(&self, pixels: &Pixels, taps: VisionTaps) -> Result<Encoded>;

    /// Projects or merges what the tower gave into the decoder's space.
    fn embed(&self, encoded: &Encoded) -> Result<Embedded>;
}

/// Builds the vision side a configuration describes.
pub(crate) fn build(b: &mut Builder, config: &ModelConfig) -> Result<Box<dyn VisionSide>> {
    let width = config.decoder.hidden_size;
    Ok(match &config.vision {
        VisionConfig::Llava(vision) => Box::new(llava::Llava::build(b, config, vision, width)?),
    })
}
