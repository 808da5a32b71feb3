//! What to take from a video, and what it may cost.

use mico_vision::decode::AlphaMode;

use crate::error::Problem;

/// Default largest file: 16 GiB. (An MP4 file is never held in memory.)
pub const MAX_FILE_BYTES: u64 = 16 << 30;
/// Default largest index of an MP4 file (its `moov` box): 64 MiB, hours of video.
pub const MAX_INDEX_BYTES: u64 = 64 << 20;
/// Default largest number of frames in a file, or of entries in a folder.
pub const MAX_SOURCE_FRAMES: u64 = 1_000_000;
/// Default largest number of pixels in a frame: 16 Mi, 4096 x 4096.
pub const MAX_FRAME_PIXELS: u64 = 16 << 20;
/// Default largest width and height of a frame.
pub const MAX_FRAME_SIDE: u32 = 16_384;
/// Default largest number of pixels in all frames that are kept: 512 Mi, 64 frames of 3840 x 2160
/// (three bytes each: 1.5 GiB).
pub const MAX_HELD_PIXELS: u64 = 512 << 20;
/// Default largest number of frames that are decoded to get at the wanted ones.
pub const MAX_DECODED_FRAMES: u64 = 200_000;
/// Default largest number of pixels in all frames that are decoded: 128 Gi, 66,000 frames of
/// 1920 x 1080.
pub const MAX_DECODED_PIXELS: u64 = 128 << 30;

/// What a video may cost at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest file in bytes; in a folder, of each image.
    pub file_bytes: u64,
    /// Largest index of an MP4 file in bytes.
    pub index_bytes: u64,
    /// Most frames in a file, or entries in a folder.
    pub source_frames: u64,
    /// Largest width times height of a frame.
    pub frame_pixels: u64,
    /// Largest width and largest height of a frame.
    pub frame_side: u32,
    /// Most pixels in all frames that are kept.
    pub held_pixels: u64,
    /// Most frames that are decoded.
    pub decoded_frames: u64,
    /// Most pixels in all frames that are decoded.
    pub decoded_pixels: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: MAX_FILE_BYTES,
            index_bytes: MAX_INDEX_BYTES,
            source_frames: MAX_SOURCE_FRAMES,
            frame_pixels: MAX_FRAME_PIXELS,
            frame_side: MAX_FRAME_SIDE,
            held_pixels: MAX_HELD_PIXELS,
            decoded_frames: MAX_DECODED_FRAMES,
            decoded_pixels: MAX_DECODED_PIXELS,
        }
    }
}

/// Which frames to take, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VideoOptions {
    /// Frames per second to take. A folder has no clock; all its images are candidates.
    pub fps: f64,
    /// Most frames to take: if there would be more, this many are spread evenly.
    pub max_frames: usize,
    /// What becomes of transparency in images, GIF and WebP.
    pub alpha: AlphaMode,
    /// Whether H.264 is accepted, which is the default where this crate was built with its feature
    /// `h264` and is refused all the same where it was not. Its decoder is the one part that is not
    /// memory-safe.
    pub h264: bool,
    /// What the video may cost.
    pub limits: Limits,
}

impl Default for VideoOptions {
    fn default() -> Self {
        Self {
            fps: 1.0,
            max_frames: 64,
            alpha: AlphaMode::default(),
            h264: cfg!(feature = "h264"),
            limits: Limits::default(),
        }
    }
}

impl VideoOptions {
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if !(self.fps.is_finite() && self.fps > 0.0) {
            let found = self.fps.to_string();
            return Err(Problem::Setting { name: "fps", found, accepted: "a number above 0" });
        }
        if self.max_frames == 0 {
            let found = self.max_frames.to_string();
            return Err(Problem::Setting { name: "max_frames", found, accepted: "1 or more" });
        }
        Ok(())
    }
}
