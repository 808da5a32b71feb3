//! The images or the video of a request.

use std::path::PathBuf;

use clap::Args;
use mico_engine::{Engine, ImageInput};
use mico_video::{Video, VideoOptions};
use mico_vision::RgbImage;

use crate::failure::Failure;
use crate::images;
use crate::progress::Bar;

/// The most frames one may ask for.
const MAX_FRAMES: u64 = mico_vision::llava_video::MAX_FRAMES as u64;

/// What to look at.
#[derive(Debug, Args)]
pub(crate) struct VisualArgs {
    /// An image; may be given several times. One is read from standard input if there is none.
    #[arg(long = "image", env = "MICO_IMAGE", value_name = "FILE")]
    images: Vec<PathBuf>,
    /// A video: a folder of images, an animated GIF or WebP, or an MP4 file with an H.264 track.
    #[arg(long, env = "MICO_VIDEO", value_name = "FILE", conflicts_with = "images")]
    video: Option<PathBuf>,
    /// Frames taken of each second of the video.
    #[arg(
        long,
        env = "MICO_FPS",
        value_name = "F",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    fps: f64,
    /// Most frames taken of the video; if there would be more, so many are spread evenly.
    #[arg(long, env = "MICO_MAX_FRAMES", value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=MAX_FRAMES))]
    max_frames: u64,
}

/// What there is to look at, decoded.
#[derive(Debug)]
pub(crate) enum Visuals {
    /// Images, perhaps none.
    Images(Vec<RgbImage>),
    /// One video: its frames and what to call them.
    Video(Vec<RgbImage>, Vec<String>),
}

impl VisualArgs {
    /// Reads and decodes; frames with progress on standard error.
    pub(crate) fn read(&self) -> Result<Visuals, Failure> {
        let Some(path) = &self.video else {
            return Ok(Visuals::Images(images::read(&self.images)?));
        };
        if !(self.fps.is_finite() && self.fps > 0.0) {
            let message = format!("--fps is {}, accepted: a number above 0", self.fps);
            return Err(Failure::misused(message));
        }
        let options = VideoOptions {
            fps: self.fps,
            max_frames: usize::try_from(self.max_frames).unwrap_or(usize::MAX),
            ..VideoOptions::default()
        };
        let bar = Bar::new("decoding frames");
        let video = Video::open_with_progress(path, &options, &mut |progress| {
            bar.show(progress.done, progress.total);
        });
        let video = video.map_err(Failure::failed)?;
        let labels = video.times.iter().map(|time| format!("{time:.1} s")).collect();
        Ok(Visuals::Video(video.frames, labels))
    }
}

impl Visuals {
    /// Whether there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Images(images) if images.is_empty())
    }

    /// Several images are one video to a model that takes videos.
    pub(crate) fn for_text(self, engine: &Engine) -> Self {
        match self {
            Self::Images(images) if images.len() > 1 && engine.takes_video() => {
                Self::Video(images, Vec::new())
            }
            other => other,
        }
    }

    /// As the engine takes them, one for each placeholder.
    pub(crate) fn inputs(&self) -> Vec<ImageInput> {
        match self {
            Self::Images(images) => images.iter().cloned().map(ImageInput::Decoded).collect(),
            Self::Video(frames, _) => vec![ImageInput::Frames(frames.clone())],
        }
    }
}
