//! What the model is asked: an image of noise and a prompt of ordinary tokens.

use mico_engine::{Engine, ImageInput};
use mico_model::ModelConfig;
use mico_util::SplitMix64;
use mico_vision::{RgbImage, Size};

use crate::error::{Error, Result};

/// The paper's mean prompt, without the visual tokens.
const TEXT_TOKENS: usize = 69;
/// Text tokens before the image in the paper's prompt, the first token included.
const BEFORE_IMAGE: usize = 35;
/// Ids of ordinary words: past the special tokens at the start of a vocabulary.
const FIRST_WORD: u32 = 3;
const WORDS: u32 = 1000;

/// How an input is made.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct InputOptions {
    /// Size of the image or frame; what fills the family's usual views exactly unless given.
    pub image_size: Option<Size>,
    /// Frames of a video, for families that take one; the family's usual number unless given.
    pub frames: Option<usize>,
    /// Text tokens of the prompt.
    pub text_tokens: usize,
    /// Seed of the pixels.
    pub seed: u64,
}

impl Default for InputOptions {
    fn default() -> Self {
        Self { image_size: None, frames: None, text_tokens: TEXT_TOKENS, seed: 0 }
    }
}

/// One image, or one video, and a prompt.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Input {
    /// The image or the frames.
    pub image: ImageInput,
    /// The prompt, one placeholder for the image in it.
    pub ids: Vec<u32>,
    /// Text tokens after the placeholder.
    pub after_image: usize,
    /// Seed of the pixels.
    pub seed: u64,
}

impl Input {
    /// Noise, with a prompt of ordinary words around it. Of all components only selections can take
    /// longer or shorter for what is in an image.
    pub fn noise(engine: &Engine, options: &InputOptions) -> Result<Self> {
        let placeholder = engine.describe().image_token_id;
        let (ids, after_image) = prompt(engine.model().config(), placeholder, options.text_tokens);
        Ok(Self { image: noise(engine, options)?, ids, after_image, seed: options.seed })
    }

    /// An image of the same size, or a video of as many frames, of other noise for each number.
    pub(crate) fn other_image(&self, number: u64) -> Result<ImageInput> {
        // The generator's outputs are far apart for seeds that are not.
        let seed = SplitMix64::new(self.seed ^ (number + 1)).next_u64();
        let mut rng = SplitMix64::new(seed);
        match &self.image {
            ImageInput::Decoded(image) => Ok(ImageInput::Decoded(picture(image.size(), &mut rng)?)),
            ImageInput::Frames(frames) => {
                let frames = frames.iter().map(|frame| picture(frame.size(), &mut rng));
                Ok(ImageInput::Frames(frames.collect::<Result<_>>()?))
            }
            _ => Err(Error::internal("the input is no noise")),
        }
    }
}

fn noise(engine: &Engine, options: &InputOptions) -> Result<ImageInput> {
    let family = engine.family();
    let size = match options.image_size {
        Some(size) => size,
        None => (family.usual.photo_size)(engine.model().config())?,
    };
    let mut rng = SplitMix64::new(options.seed);
    match (engine.takes_video(), options.frames) {
        (true, frames) => {
            let frames =
                (0..frames.unwrap_or(family.usual.bench_frames)).map(|_| picture(size, &mut rng));
            Ok(ImageInput::Frames(frames.collect::<Result<_>>()?))
        }
        (false, None) => Ok(ImageInput::Decoded(picture(size, &mut rng)?)),
        (false, Some(frames)) => Err(Error::Frames { frames, family: family.name() }),
    }
}

fn picture(size: Size, rng: &mut SplitMix64) -> Result<RgbImage> {
    let bytes = (0..size.area() * 3).map(|_| (rng.next_u64() >> 56) as u8).collect();
    Ok(RgbImage::new(size, bytes)?)
}

/// A prompt of `text` tokens around one placeholder, and how many come after it.
fn prompt(config: &ModelConfig, image: u32, text: usize) -> (Vec<u32>, usize) {
    let before = BEFORE_IMAGE.min(text.div_ceil(2));
    let last = (config.decoder.vocab_size as u32).clamp(FIRST_WORD + 1, WORDS);
    let words = (FIRST_WORD..last).filter(|&id| id != image).cycle();
    let first = config.bos_token_id.filter(|&id| id != image);
    let mut ids: Vec<u32> = first.into_iter().chain(words).take(text).collect();
    ids.insert(before.min(ids.len()), image);
    (ids, text - before)
}

#[cfg(test)]
mod tests {
    use mico_model::Preset;

    use super::*;

    #[test]
    fn the_papers_prompt() {
        let config = Preset::find("llava-1.5-7b").unwrap().config();
        let (ids, after) = prompt(&config, config.image_token_id, TEXT_TOKENS);
        assert_eq!((ids.len(), after), (70, 34));
        assert_eq!(ids.iter().position(|&id| id == config.image_token_id), Some(35));
        assert_eq!(ids[0], 1);
        assert_eq!(prompt(&config, config.image_token_id, 2).0.len(), 3);
    }
}
