//! The vision side's configuration: each family has its own type, behind one trait.

use std::any::Any;
use std::fmt::{self, Debug};
use std::ops::Deref;
use std::path::Path;

use super::vision_work::VisionWork;
use super::vit::VitConfig;
use crate::error::{Error, Result};
use crate::vision::Grid;
use crate::vision::flops::VisionFlops;

/// What every family's vision configuration answers. What only the family itself needs is in its own
/// type, which [`VisionConfig::get`] returns.
pub trait VisionSettings: Any + Debug + Send + Sync {
    /// Width of the features Stage 1 works on.
    fn feature_width(&self) -> usize;

    /// Width of one attention head of the tower, hence of its head-averaged keys.
    fn head_width(&self) -> usize;

    /// The vision tower, if its input size is fixed; else `None`.
    fn tower(&self) -> Option<&VitConfig> {
        None
    }

    /// Visual tokens of one view, if the input size is fixed; else `None`.
    fn tokens_per_view(&self) -> Option<usize> {
        None
    }

    /// The number of tower blocks that run, and so have to be loaded.
    fn blocks(&self) -> Result<usize>;

    /// Folder of a vision tower that is not part of the checkpoint; `None` if it is.
    fn tower_folder(&self) -> Option<&Path> {
        None
    }

    /// Refuses settings no tower can have. `file` is named in the error.
    fn validate(&self, file: &str) -> Result<()>;

    /// Logical FLOPs of everything before a decoder of width `width`, on these groups of visual
    /// tokens.
    fn flops(&self, grids: &[Grid], width: usize) -> Result<VisionFlops>;

    /// The sizes that decide what these groups of visual tokens take in memory; `None` if the family does not say,
    /// so that requests to it are admitted without counting its tower.
    fn work(&self, _grids: &[Grid]) -> Option<VisionWork> {
        None
    }
}

/// Cloning and comparison, which a trait object cannot inherit from its type.
trait Held: VisionSettings {
    fn copy(&self) -> Box<dyn Held>;
    fn equals(&self, other: &dyn Held) -> bool;
}

impl<T: VisionSettings + Clone + PartialEq> Held for T {
    fn copy(&self) -> Box<dyn Held> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn Held) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<T>() == Some(self)
    }
}

/// The configuration of a vision side of any family: the tower, and the projector or merger to the
/// decoder.
///
/// ```
/// use mico_model::config::LlavaVision;
/// let mut config = mico_model::Preset::find("llava-1.5-7b")?.config();
/// assert_eq!(config.vision.tokens_per_view(), Some(576));
/// if let Some(vision) = config.vision.get_mut::<LlavaVision>() {
///     vision.tower.image_size = 224;
/// }
/// assert_eq!(config.vision.tokens_per_view(), Some(256));
/// # Ok::<(), mico_model::Error>(())
/// ```
pub struct VisionConfig(Box<dyn Held>);

impl VisionConfig {
    /// Wraps the configuration of any family.
    pub fn new(settings: impl VisionSettings + Clone + PartialEq) -> Self {
        Self(Box::new(settings))
    }

    /// The family's own configuration, `None` if it is of another type.
    pub fn get<T: VisionSettings>(&self) -> Option<&T> {
        let settings: &dyn Any = self.0.as_ref();
        settings.downcast_ref()
    }

    /// Like [`Self::get`], for changes.
    pub fn get_mut<T: VisionSettings>(&mut self) -> Option<&mut T> {
        let settings: &mut dyn Any = self.0.as_mut();
        settings.downcast_mut()
    }

    /// Like [`Self::get`], with an error for another type: for a family's own code.
    pub fn expect<T: VisionSettings>(&self) -> Result<&T> {
        let wanted = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
        self.get().ok_or_else(|| {
            Error::input("vision settings", format!("{:?}, expected a {wanted}", self.0))
        })
    }
}

impl Deref for VisionConfig {
    type Target = dyn VisionSettings;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref()
    }
}

impl Clone for VisionConfig {
    fn clone(&self) -> Self {
        Self(self.0.copy())
    }
}

impl PartialEq for VisionConfig {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(other.0.as_ref())
    }
}

impl Debug for VisionConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
