//! Checks of a configuration for towers with a fixed input size.

use super::{PreprocessorConfig, Resize};
use crate::param::ParamError;
use crate::pixels::Size;

impl PreprocessorConfig {
    /// Refuses a configuration without resizing, or with a size that depends on the image.
    pub(crate) fn one_input_size(&self) -> Result<(), ParamError> {
        if !self.do_resize {
            let accepted = "true (the tower has one input size)";
            return Err(ParamError::new("do_resize", false, accepted));
        }
        for (parameter, stated) in [
            ("min_pixels", self.area.min),
            ("max_pixels", self.area.max),
            ("merge_size", self.merge.map(u64::from)),
            ("temporal_patch_size", self.frames.map(u64::from)),
        ] {
            if let Some(stated) = stated {
                let accepted = "nothing, the tower has one input size";
                return Err(ParamError::new(parameter, stated, accepted));
            }
        }
        Ok(())
    }

    /// Refuses a configuration of anything but square views of this side, with patches of this
    /// side where it names any. How the file resizes is not asked, only to what: a file in CLIP's
    /// style, which keeps the aspect and crops, comes with models whose own code does neither.
    pub(crate) fn square_views(&self, side: u32, patch: u32) -> Result<(), ParamError> {
        self.one_input_size()?;
        let size = match self.resize {
            Resize::ShortestEdge(side) => Size::square(side),
            Resize::Exact(size) => size,
        };
        let crop = if self.do_center_crop { self.crop } else { size };
        for (parameter, found) in [("size", size), ("crop_size", crop)] {
            if found != Size::square(side) {
                let accepted = format!("{side}x{side}, the tower's input");
                return Err(ParamError::new(parameter, found, accepted));
            }
        }
        match self.patch.filter(|stated| *stated != patch) {
            Some(stated) => {
                let accepted = format!("{patch}, as the vision tower has it");
                Err(ParamError::new("patch_size", stated, accepted))
            }
            None => Ok(()),
        }
    }
}
