//! The input parameters both LLaVA processors share, checked once.

use crate::layout::VisualLayout;
use crate::normalize::Normalize;
use crate::param::{MAX_VIEW_SIDE, ParamError};
use crate::pixels::{RgbImage, Size};
use crate::preprocessor_config::{PreprocessorConfig, Resize};
use crate::processed::Processed;
use crate::resample::ResizeBackend;
use crate::view::View;

/// The input a vision tower expects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tower {
    /// Size of a view, the tower's input, in pixels.
    pub view: Size,
    /// Side of a patch, in pixels.
    pub patch: u32,
    /// Colour of padding, in RGB.
    pub ground: [u8; 3],
    /// How bytes are rescaled and normalised to the tower's input values.
    pub normalize: Normalize,
    /// Which library's resampling to reproduce.
    pub backend: ResizeBackend,
}

impl Tower {
    /// Refuses parameters no tower can have, naming the one at fault.
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
        self.normalize.check()
    }

    /// The tower that `config` describes, with patches of side `patch`, and its checked resize
    /// rule.
    pub(super) fn from_config(
        config: &PreprocessorConfig,
        patch: u32,
    ) -> Result<(Self, Resize), ParamError> {
        config.one_input_size()?;
        if !config.do_center_crop {
            let accepted = "true (the tower has one input size)";
            return Err(ParamError::new("do_center_crop", false, accepted));
        }
        let tower = Self {
            view: config.crop,
            patch,
            ground: config.ground,
            normalize: config.normalize,
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
            pixels: self.normalize.apply(&pictures),
            shape: vec![views.len(), 3, self.view.height as usize, self.view.width as usize],
            layout,
        }
    }

    /// Rows and columns of a view's patch grid; an incomplete patch at the border is not seen.
    pub fn grid(&self) -> (usize, usize) {
        ((self.view.height / self.patch) as usize, (self.view.width / self.patch) as usize)
    }
}
