//! Options for sampling a video, and limits on the resources it may use.

use mico_vision::decode::AlphaMode;

use crate::error::Problem;

/// Default largest file: 16 GiB. (An MP4 file is never held in memory.)
pub const MAX_FILE_BYTES: u64 = 16 << 30;
/// Default largest index of an MP4 file (its `moov` box): 64 MiB, enough for hours of video.
pub const MAX_INDEX_BYTES: u64 = 64 << 20;
/// Default largest number of frames in a file, or of entries in a folder.
pub const MAX_SOURCE_FRAMES: u64 = 1_000_000;
/// Default largest number of pixels in a frame: 16 Mi, 4096 x 4096.
pub const MAX_FRAME_PIXELS: u64 = 16 << 20;
/// Default largest width and height of a frame, in pixels.
pub const MAX_FRAME_SIDE: u32 = 16_384;
/// Default largest number of pixels in all frames that are kept: 512 Mi, 64 frames of 3840 x 2160
/// (three bytes each: 1.5 GiB).
pub const MAX_HELD_PIXELS: u64 = 512 << 20;
/// Default largest number of frames that are decoded to obtain the wanted ones.
pub const MAX_DECODED_FRAMES: u64 = 200_000;
/// Default largest number of pixels in all frames that are decoded: 128 Gi, 66,000 frames of
/// 1920 x 1080.
pub const MAX_DECODED_PIXELS: u64 = 128 << 30;

/// Upper limits on the resources that reading a video may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest file in bytes; in a folder, the largest image file.
    pub file_bytes: u64,
    /// The largest index (`moov` box) of an MP4 file in bytes.
    pub index_bytes: u64,
    /// The most frames in a file, or entries in a folder.
    pub source_frames: u64,
    /// The most pixels (width times height) in a frame.
    pub frame_pixels: u64,
    /// The largest width and the largest height of a frame in pixels.
    pub frame_side: u32,
    /// The most pixels in all frames that are kept together.
    pub held_pixels: u64,
    /// The most frames that are decoded, including those that are not kept.
    pub decoded_frames: u64,
    /// The most pixels in all frames that are decoded.
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

/// Which frames to take from a video, and how to decode them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VideoOptions {
    /// The number of frames to take per second, above 0. A folder has no frame rate; all its images
    /// are candidates.
    pub fps: f64,
    /// The most frames to take, at least 1; if there would be more, this many are spread evenly.
    pub max_frames: usize,
    /// How transparency in images, GIF and WebP is handled.
    pub alpha: AlphaMode,
    /// Whether H.264 is accepted; true by default if the crate was built with the feature `h264`,
    /// without which H.264 is always rejected. Its decoder is the only part that is not
    /// memory-safe.
    pub h264: bool,
    /// The limits on the resources that the video may use.
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
