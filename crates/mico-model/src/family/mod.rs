//! Families: how each puts its vision side together. The decoder is the same for all.
//!
//! A family is one file here that composes a tower with what leads from it to the decoder, and one
//! line of [`build`].

mod internvl;
mod llava;
mod llava_video;
mod qwen;

use std::fmt::Debug;

use candle_core::{Device, Tensor};

use crate::config::{ModelConfig, VisionConfig};
use crate::error::{Error, Result};
use crate::vision::{Embedded, Encoded, Grid, Pixels, VisionTaps, Watch};
use crate::weights::Builder;

/// The vision side of a family: pixels to one embedding per visual token.
pub trait VisionSide: Debug + Send + Sync {
    /// Runs the tower on one image or video and observes what `taps` asks for.
    fn encode(&self, pixels: &Pixels, taps: VisionTaps, watch: Watch<'_>) -> Result<Encoded>;

    /// Projects or merges what the tower gave into the decoder's space.
    fn embed(&self, encoded: &Encoded) -> Result<Embedded>;

    /// Brings rows of Stage-1 features into the decoder's space, for families whose projector takes
    /// visual tokens one by one as the tower gives them; `None` for the others.
    fn project(&self, features: &Tensor) -> Result<Option<Tensor>> {
        let _ = features;
        Ok(None)
    }
}

/// Builds the vision side a configuration describes.
pub(crate) fn build(b: &mut Builder, config: &ModelConfig) -> Result<Box<dyn VisionSide>> {
    let width = config.decoder.hidden_size;
    Ok(match &config.vision {
        VisionConfig::Llava(vision) => Box::new(llava::Llava::build(b, config, vision, width)?),
        VisionConfig::Qwen(vision) => Box::new(qwen::Qwen::build(b, vision)?),
        VisionConfig::InternVl(vision) => Box::new(internvl::InternVl::build(b, vision, width)?),
        VisionConfig::LlavaVideo(vision) => {
            Box::new(llava_video::LlavaVideo::build(b, vision, width)?)
        }
    })
}

/// Refuses views that are not those of a tower whose views all have `grid`.
fn check_views(pixels: &Pixels, grid: Grid) -> Result<()> {
    if let Some(other) = pixels.grids.iter().find(|found| **found != grid) {
        let (rows, columns) = (grid.rows, grid.columns);
        let message = format!(
            "{}x{} visual tokens, the tower gives {rows}x{columns}",
            other.rows, other.columns
        );
        return Err(Error::input("view", message));
    }
    let views = pixels.values.dim(0)?;
    if views != pixels.grids.len() {
        let message = format!("{views} for {} groups", pixels.grids.len());
        return Err(Error::input("views", message));
    }
    Ok(())
}

/// The one tensor a tower gave.
fn single(encoded: &Encoded) -> Result<&Tensor> {
    match encoded.states.as_slice() {
        [rows] => Ok(rows),
        other => {
            let message = format!("{} tensors, expected 1", other.len());
            Err(Error::input("tower output", message))
        }
    }
}

/// Means of each `joined` successive rows: `[n * joined, d]` to `[n, d]`.
fn patch_means(rows: &Tensor, joined: usize) -> Result<Tensor> {
    let (count, width) = rows.dims2()?;
    Ok(rows.reshape((count / joined, joined, width))?.mean(1)?)
}

/// One number per visual token, on the CPU: means of each `joined` successive values.
fn token_means(values: &[f32], joined: usize) -> Result<Tensor> {
    let tokens: Vec<f32> = values.chunks_exact(joined).map(mean_of).collect();
    let count = tokens.len();
    Ok(Tensor::from_vec(tokens, count, &Device::Cpu)?)
}

fn mean_of(values: &[f32]) -> f32 {
    values.iter().sum::<f32>() / values.len() as f32
}
