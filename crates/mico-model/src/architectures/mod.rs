//! Architectures: the model half of a family. How its `config.json` is read, how its vision side is
//! put together, and its published models. The decoder is the same for all.
//!
//! Open this to see what a family must bring, or to add one that ships with the crate. One that
//! lives elsewhere brings the same [`Architecture`], made of the parts in [`crate::extend`].

pub(crate) mod internvl;
pub(crate) mod llava;
pub(crate) mod llava_video;
mod qwen;

pub use internvl::INTERNVL;
pub use llava::{LLAVA, LLAVA_NEXT};
pub use llava_video::LLAVA_VIDEO;
pub use qwen::{QWEN2_5_VL, QWEN3_5, QWEN3_VL};

use std::fmt::{self, Debug};
use std::path::Path;
use std::sync::Arc;

use candle_core::{Device, Tensor};

use crate::config::{Fields, ModelConfig};
use crate::error::{Error, Result};
use crate::presets::Preset;
use crate::vision::{Embedded, Encoded, Grid, Pixels, TowerRun, VisionTaps};
use crate::weights::Builder;

/// Every architecture that ships with the crate.
pub const ARCHITECTURES: &[&Architecture] =
    &[&LLAVA, &LLAVA_NEXT, &QWEN2_5_VL, &QWEN3_VL, &QWEN3_5, &INTERNVL, &LLAVA_VIDEO];

/// The model half of a family. Two are the same if their names are.
pub struct Architecture {
    /// The name used in traces and tables.
    pub name: &'static str,
    /// Values of `model_type` its files have.
    pub model_types: &'static [&'static str],
    /// Whether a file of such a type is its own, where families share a `model_type`.
    pub claims: fn(&Fields) -> bool,
    /// Reads `config.json`; the folder is where further files may lie.
    pub read: fn(&Path, &Fields) -> Result<ModelConfig>,
    /// Builds the vision side out of a checkpoint's tensors.
    pub build: fn(&mut Builder<'_>, &ModelConfig) -> Result<Box<dyn VisionSide>>,
    /// How its visual tokens come about.
    pub traits: Traits,
    /// Its published models. The first one's refinement block is scaled for models of another
    /// depth.
    pub presets: &'static [Preset],
}

/// How a family's visual tokens come about, as far as pruning methods distinguish it.
#[expect(clippy::struct_excessive_bools, reason = "families combine them independently")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traits {
    /// The projector takes the tower's tokens one by one, so that they can be chosen, or merged,
    /// before it.
    pub projects_tokens: bool,
    /// Images are taken at their own resolution.
    pub native_resolution: bool,
    /// An image is a base view and crops stitched into one grid.
    pub anyres_crops: bool,
    /// Images are padded to a square, so that some tokens show nothing.
    pub pads_to_square: bool,
    /// Frames of videos are taken, and budgets are counted as the paper counts them for video.
    pub takes_video: bool,
}

impl Traits {
    /// A model with none of these properties, to start from.
    pub const NONE: Self = Self {
        projects_tokens: false,
        native_resolution: false,
        anyres_crops: false,
        pads_to_square: false,
        takes_video: false,
    };
}

impl Debug for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The family a model belongs to: its architecture, compared by name.
#[derive(Clone, Copy)]
pub struct Family(&'static Architecture);

impl Family {
    /// The family of an architecture.
    pub const fn of(architecture: &'static Architecture) -> Self {
        Self(architecture)
    }

    /// The name used in traces and tables.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// How its visual tokens come about.
    pub fn traits(self) -> Traits {
        self.0.traits
    }

    /// What it is made of.
    pub fn architecture(self) -> &'static Architecture {
        self.0
    }
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Family {}

impl Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(self.0, f)
    }
}

/// The vision side of a family: pixels to one embedding per visual token.
pub trait VisionSide: Debug + Send + Sync {
    /// Begins to run the tower on one image or video, and to observe what `taps` asks for. The run shares
    /// the weights and owns the rest, so it outlives the call; a family that does not divide its work
    /// gives [`TowerRun::once`]. The pixels are given away: a large image's take more memory than what
    /// the tower makes of them, so they go as soon as they are embedded.
    fn begin(self: Arc<Self>, pixels: Pixels, taps: VisionTaps) -> Result<TowerRun>;

    /// Projects or merges what the tower gave into the decoder's space.
    fn embed(&self, encoded: &Encoded) -> Result<Embedded>;

    /// Brings rows of Stage-1 features into the decoder's space, for families whose projector takes
    /// visual tokens one by one as the tower gives them; `None` for the others.
    fn project(&self, features: &Tensor) -> Result<Option<Tensor>> {
        let _ = features;
        Ok(None)
    }
}

/// Refuses views that are not those of a tower whose views all have `grid`.
pub fn check_views(pixels: &Pixels, grid: Grid) -> Result<()> {
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
pub fn single_state(encoded: &Encoded) -> Result<&Tensor> {
    match encoded.states.as_slice() {
        [rows] => Ok(rows),
        other => {
            let message = format!("{} tensors, expected 1", other.len());
            Err(Error::input("tower output", message))
        }
    }
}

/// Means of each `joined` successive rows: `[n * joined, d]` to `[n, d]`.
pub fn patch_means(rows: &Tensor, joined: usize) -> Result<Tensor> {
    let (count, width) = rows.dims2()?;
    Ok(rows.reshape((count / joined, joined, width))?.mean(1)?)
}

/// One number per visual token, on the CPU: means of each `joined` successive values.
pub fn token_means(values: &[f32], joined: usize) -> Result<Tensor> {
    let tokens: Vec<f32> = values.chunks_exact(joined).map(mean_of).collect();
    let count = tokens.len();
    Ok(Tensor::from_vec(tokens, count, &Device::Cpu)?)
}

fn mean_of(values: &[f32]) -> f32 {
    values.iter().sum::<f32>() / values.len() as f32
}
