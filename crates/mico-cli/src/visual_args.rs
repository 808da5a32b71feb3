//! The images or the video of a request.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use mico_engine::{Engine, Error, ImageInput};
use mico_video::{Video, VideoKind, VideoOptions};
use mico_vision::RgbImage;

use crate::again;
use crate::failure::Failure;
use crate::files::Outputs;
use crate::images;
use crate::progress::Bar;

/// The most frames one may ask for.
const MAX_FRAMES: u64 = mico_vision::llava_video::MAX_FRAMES as u64;

/// Endings of names that a video is likely behind.
const VIDEO_ENDINGS: [&str; 6] = ["mp4", "m4v", "mov", "mkv", "webm", "avi"];

/// What to look at.
#[derive(Debug, Args)]
pub(crate) struct VisualArgs {
    /// An image; may be given several times, and several are one video to a model that takes videos.
    /// One is read from standard input if there is none. The variable holds one file.
    #[arg(long = "image", value_name = "FILE")]
    images: Vec<PathBuf>,
    /// A video: a folder of images, an animated GIF or WebP, or an MP4 file with an H.264 track.
    #[arg(long, value_name = "FILE", conflicts_with = "images")]
    video: Option<PathBuf>,
    /// Frames taken of each second of the video; 1 unless given. A folder has no clock: all its
    /// images are taken, up to --max-frames.
    #[arg(long, value_name = "F", allow_negative_numbers = true)]
    fps: Option<f64>,
    /// Most frames taken of the video, 64 unless given; if there would be more, so many are spread
    /// evenly.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_FRAMES))]
    max_frames: Option<u64>,
}

/// What there is to look at, decoded: one input for each placeholder.
#[derive(Debug)]
pub(crate) struct Visuals {
    /// Images, or one video.
    pub(crate) inputs: Vec<ImageInput>,
    /// What to call the frames of the video; empty for their numbers.
    pub(crate) labels: Vec<String>,
}

/// What is said where a file's name stands where none is expected, beside these other words.
pub(crate) fn meant(file: &str, words: &[&str]) -> String {
    let ending = Path::new(file).extension().and_then(OsStr::to_str).unwrap_or_default();
    let is_video = VIDEO_ENDINGS.iter().any(|video| ending.eq_ignore_ascii_case(video));
    let flag = if is_video { "--video" } else { "--image" };
    let words: Vec<String> = words.iter().map(|word| again::quoted(word)).collect();
    let call = format!("{flag} {} {}", again::quoted(file), words.join(" "));
    format!("'{file}' is a file: did you mean {}?", call.trim_end())
}

impl VisualArgs {
    /// Keeps outputs away from what is looked at.
    pub(crate) fn protect(&self, outputs: &mut Outputs) -> Result<(), Failure> {
        if let Some(path) = &self.video {
            return outputs.reads("--video", path);
        }
        if self.images.is_empty() {
            return outputs.reads_stdin();
        }
        self.images.iter().try_for_each(|path| outputs.reads("--image", path))
    }

    /// Whether there is anything to look at on the command line.
    pub(crate) fn are_given(&self) -> bool {
        !self.images.is_empty() || self.video.is_some()
    }

    /// Reads and decodes the images; those of a video wait for a model that takes one.
    pub(crate) fn images(&self) -> Result<Option<Vec<RgbImage>>, Failure> {
        if self.video.is_some() {
            return Ok(None);
        }
        // Not left to the parser, which forgives a missing --video beside an --image.
        let flags = [("--fps", self.fps.is_some()), ("--max-frames", self.max_frames.is_some())];
        if let Some((flag, _)) = flags.iter().find(|(_, given)| *given) {
            return Err(Failure::misused(format!("{flag} needs a video: --video FILE")));
        }
        images::read(&self.images).map(Some)
    }

    /// What the model is to look at. Frames are decoded with progress on standard error.
    pub(crate) fn visuals(
        &self,
        images: Option<Vec<RgbImage>>,
        engine: &Engine,
    ) -> Result<Visuals, Failure> {
        match (&self.video, images) {
            (Some(path), _) if !engine.takes_video() => {
                let family = engine.model().config().family.name();
                let path = path.display();
                let message = format!("--video {path}, but the family {family} takes images only");
                Err(Failure::misused(message))
            }
            (Some(path), _) => self.video(path),
            (None, images) => {
                let inputs = images.into_iter().flatten().map(ImageInput::Decoded).collect();
                Ok(Visuals { inputs, labels: Vec::new() })
            }
        }
    }

    fn video(&self, path: &Path) -> Result<Visuals, Failure> {
        let usual = VideoOptions::default();
        let fps = self.fps.unwrap_or(usual.fps);
        if !(fps.is_finite() && fps > 0.0) {
            return Err(Failure::misused(format!("--fps is {fps}, accepted: a number above 0")));
        }
        let max_frames = self.max_frames.and_then(|most| usize::try_from(most).ok());
        let max_frames = max_frames.unwrap_or(usual.max_frames);
        let bar = Bar::new("decoding frames");
        let options = VideoOptions { fps, max_frames, ..usual };
        let video = Video::open_with_progress(path, &options, &mut |progress| {
            bar.show(progress.done, progress.total);
        });
        let video = video.map_err(Failure::failed)?;
        let folder = video.kind == VideoKind::Folder;
        if folder && self.fps.is_some() {
            let message = format!("--fps {fps}, but the folder {} has no clock", path.display());
            return Err(Failure::misused(message));
        }
        let label = |(index, time): (&usize, &f64)| {
            if folder { format!("image {}", index + 1) } else { format!("{time:.1} s") }
        };
        let labels = video.indices.iter().zip(&video.times).map(label).collect();
        Ok(Visuals { inputs: vec![ImageInput::Frames(video.frames)], labels })
    }

    /// An error in the words of the command line: an image by its file.
    pub(crate) fn with_file_name(&self, error: Error) -> Failure {
        match error {
            Error::Unfit { index, source } => match self.images.get(index) {
                Some(path) => Failure::failed(format!("{}: {source}", path.display())),
                None => Failure::from(Error::Unfit { index, source }),
            },
            other => Failure::from(other),
        }
    }
}

impl Visuals {
    /// Several images are one video to a model that takes videos.
    pub(crate) fn for_text(mut self, engine: &Engine) -> Self {
        if self.inputs.len() > 1 && engine.takes_video() {
            let frames = self.inputs.into_iter().filter_map(|input| match input {
                ImageInput::Decoded(image) => Some(image),
                _ => None,
            });
            self.inputs = vec![ImageInput::Frames(frames.collect())];
        }
        self
    }
}
