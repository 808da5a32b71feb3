//! Accounts for what a video has cost so far, and enforces the limits.

use mico_vision::Size;

use crate::error::Problem;
use crate::options::Limits;

/// The amounts used so far of the [`Limits`].
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    decoded_frames: u64,
    decoded_pixels: u64,
    held_pixels: u64,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, decoded_frames: 0, decoded_pixels: 0, held_pixels: 0 }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Checks that a frame of this size may be decoded at all.
    pub(crate) fn check_size(&self, size: Size) -> Result<(), Problem> {
        at_most("pixels of width", size.width.into(), self.limits.frame_side.into())?;
        at_most("pixels of height", size.height.into(), self.limits.frame_side.into())?;
        at_most("pixels in a frame", size.area(), self.limits.frame_pixels)
    }

    /// Checks in advance whether `decoded` frames of this size may be decoded and `held` of them
    /// kept, so that a video that is too large fails at once instead of after minutes.
    pub(crate) fn foresee(&self, decoded: usize, held: usize, size: Size) -> Result<(), Problem> {
        self.check_size(size)?;
        self.check_decoded(decoded as u64, pixels(decoded, size))?;
        at_most("pixels in the frames to keep", pixels(held, size), self.limits.held_pixels)
    }

    /// Counts one decoded frame; an error if a limit is exceeded.
    pub(crate) fn decode(&mut self, size: Size) -> Result<(), Problem> {
        self.check_size(size)?;
        self.decoded_frames += 1;
        self.decoded_pixels = self.decoded_pixels.saturating_add(size.area());
        self.check_decoded(self.decoded_frames, self.decoded_pixels)
    }

    /// Counts a frame that is kept; to be called before its memory is allocated.
    pub(crate) fn hold(&mut self, size: Size) -> Result<(), Problem> {
        self.held_pixels = self.held_pixels.saturating_add(size.area());
        at_most("pixels in the frames to keep", self.held_pixels, self.limits.held_pixels)
    }

    fn check_decoded(&self, frames: u64, pixels: u64) -> Result<(), Problem> {
        at_most("frames to decode", frames, self.limits.decoded_frames)?;
        at_most("pixels in the frames to decode", pixels, self.limits.decoded_pixels)
    }
}

fn pixels(frames: usize, size: Size) -> u64 {
    size.area().saturating_mul(frames as u64)
}

/// Compares a quantity with its limit; all limits are checked here.
pub(crate) fn at_most(what: &'static str, found: u64, limit: u64) -> Result<(), Problem> {
    if found > limit { Err(Problem::TooLarge { what, found, limit }) } else { Ok(()) }
}
