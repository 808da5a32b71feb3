//! What both LLaVA processors need to know, checked once.

use crate::layout::VisualLayout;
use crate::normalise::Normalise;
use crate::pixels::{RgbImage, Size};
use crate::preprocessor_config::{PreprocessorConfig, Resize};
use crate::processed::Processed;
use crate::resample::ResizeBackend;
use crate::view::View;

/// Largest side of a view.
pub const MAX_VIEW_SIDE: u32 = 4096;
/// Most numbers one image may become: 1 GiB of f32.
pub const MAX_PIXEL_VALUES: u64 = 1 << 28;

/// A processor parameter that cannot be worked with.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{parameter} is {found}: accepted is {accepted}")]
pub struct ParamError {
    /// The parameter at fault.
    pub parameter: &'static str,
    /// Its value.
    pub found: String,
    /// What would be accepted.
    pub accepted: String,
}

impl ParamError {
    pub(super) fn new(
        parameter: &'static str,
        found: impl std::fmt::Display,
        accepted: impl Into<String>,
    ) -> Self {
        Self { parameter, found: format!("{found}"), accepted: accepted.into() }
    }
}

/// What a vision tower expects of its input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tower {
    /// Size of a view.
    pub view: Size,
    /// Side of a patch in pixels.
    pub patch: u32,
    /// Colour of padding.
    pub ground: [u8; 3],
    /// Bytes to numbers.
    pub normalise: Normalise,
    /// Whose resampling to reproduce.
    pub backend: ResizeBackend,
}

impl Tower {
    /// Checks every value.
    pub fn check(&self) -> Result<(), ParamError> {
        let Size { width, height } = self.view;
        for (parameter, side) in [("view width", width), ("view height", height)] {
            if !(1..=MAX_VIEW_SIDE).contains(&side) {
                return Err(ParamError::new(parameter, side, format!("1 to {MAX_VIEW_SIDE}")));
            }
        }
        let most = width.min(height);
        if !(1..=most).contains(&self.patch) {
            return Err(ParamError::new("patch size", self.patch, format!("1 to {most}")));
        }
        if let Some(scale) = self.normalise.rescale.filter(|scale| !scale.is_finite()) {
            return Err(ParamError::new("rescale_factor", scale, "a finite number"));
        }
        let Some(statistics) = self.normalise.statistics else { return Ok(()) };
        if let Some(mean) = statistics.mean.iter().find(|mean| !mean.is_finite()) {
            return Err(ParamError::new("image_mean", mean, "finite numbers"));
        }
        // Checked as the f32 it is used as: a tiny deviation would otherwise turn pixels infinite.
        let usable = |std: f64| (std as f32).is_normal();
        match statistics.std.iter().find(|std| !usable(**std)) {
            Some(std) => Err(ParamError::new("image_std", std, "finite numbers other than 0")),
            None => Ok(()),
        }
    }

    /// The tower that `config` describes, with patches of side `patch`, and its checked resize
    /// rule.
    pub(super) fn from_config(
        config: &PreprocessorConfig,
        patch: u32,
    ) -> Result<(Self, Resize), ParamError> {
        for (parameter, done) in
            [("do_resize", config.do_resize), ("do_center_crop", config.do_center_crop)]
        {
            if !done {
                return Err(ParamError::new(
                    parameter,
                    done,
                    "true (the tower has one input size)",
                ));
            }
        }
        let tower = Self {
            view: config.crop,
            patch,
            ground: config.ground,
            normalise: config.normalise,
            backend: config.backend,
        };
        tower.check()?;
        Ok((tower, config.resize))
    }

    /// Resamples and normalises `views`, which all have the tower's input size.
    pub(super) fn render(
        &self,
        image: &RgbImage,
        views: &[View],
        layout: VisualLayout,
    ) -> Processed {
        let pictures: Vec<RgbImage> =
            views.iter().map(|view| view.render(image, self.backend)).collect();
        Processed {
            pixels: self.normalise.apply(&pictures),
            views: views.len(),
            height: self.view.height as usize,
            width: self.view.width as usize,
            layout,
        }
    }

    /// Rows and columns of a view's patch grid; what is left of a patch at the border is not seen.
    pub fn grid(&self) -> (usize, usize) {
        ((self.view.height / self.patch) as usize, (self.view.width / self.patch) as usize)
    }
}
