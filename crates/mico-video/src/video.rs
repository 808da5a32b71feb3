//! A video, opened.

use std::path::Path;

use mico_vision::RgbImage;

use crate::budget::Budget;
use crate::error::{Problem, VideoError};
use crate::options::VideoOptions;
use crate::source::Source;
use crate::{animation, folder, mp4};

/// Bytes that tell the formats apart.
const START_BYTES: u64 = 16;
/// Bytes of an unknown file shown in the error.
const SHOWN_BYTES: usize = 8;

/// What a video was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VideoKind {
    /// A folder of images.
    Folder,
    /// A GIF file.
    Gif,
    /// A WebP file.
    WebP,
    /// An MP4 or QuickTime file with an H.264 track.
    Mp4,
}

/// How far reading a video has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Frames dealt with.
    pub done: usize,
    /// Frames to deal with: more than are kept, since frames build on each other.
    pub total: usize,
}

/// The frames taken from a video.
#[derive(Debug, Clone, PartialEq)]
pub struct Video {
    /// What it was read from.
    pub kind: VideoKind,
    /// The frames taken, in the order they are shown, upright. A folder's images may differ in size.
    pub frames: Vec<RgbImage>,
    /// Which of the source's frames they are, counted from 0.
    pub indices: Vec<usize>,
    /// When each is shown, in seconds from the start. A folder has no clock; its images count as one
    /// second apart.
    pub times: Vec<f64>,
    /// Number of frames the source has.
    pub source_frames: usize,
    /// Frames per second of the source, on average; of a folder, 1.
    pub fps: f64,
}

impl Video {
    /// Takes frames from the video at `path`.
    pub fn open(path: impl AsRef<Path>, options: &VideoOptions) -> Result<Self, VideoError> {
        Self::open_with_progress(path, options, &mut |_| {})
    }

    /// Takes frames from the video at `path` and calls `progress` after every frame dealt with.
    pub fn open_with_progress(
        path: impl AsRef<Path>,
        options: &VideoOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, VideoError> {
        let path = path.as_ref();
        options.check().map_err(|problem| problem.of(path))?;
        let metadata = std::fs::metadata(path).map_err(|error| Problem::from(error).of(path))?;
        let mut job = Job { options, budget: Budget::new(options.limits), progress };
        if metadata.is_dir() {
            return folder::read(path, &mut job);
        }
        // A pipe or a device could block for ever.
        if !metadata.is_file() {
            return Err(Problem::NoFile.of(path));
        }
        read_file(path, &mut job).map_err(|problem| problem.of(path))
    }
}

/// What every reader needs: what is wanted, what it has cost, and who wants to know.
pub(crate) struct Job<'a> {
    pub(crate) options: &'a VideoOptions,
    pub(crate) budget: Budget,
    pub(crate) progress: &'a mut dyn FnMut(Progress),
}

fn read_file(path: &Path, job: &mut Job<'_>) -> Result<Video, Problem> {
    let mut source = Source::open(path, job.options.limits.file_bytes)?;
    let start = source.start(START_BYTES)?;
    match start.as_slice() {
        [b'G', b'I', b'F', b'8', ..] => animation::gif(source, job),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
            animation::webp(source, job)
        }
        [0x89, b'P', b'N', b'G', ..] => Err(Problem::StillImage { format: "PNG" }),
        [0xff, 0xd8, 0xff, ..] => Err(Problem::StillImage { format: "JPEG" }),
        [b'B', b'M', ..] => Err(Problem::StillImage { format: "BMP" }),
        [_, _, _, _, kind @ ..] if mp4::is_first_box(kind) => mp4::read(source, job),
        bytes => {
            let shown = &bytes[..bytes.len().min(SHOWN_BYTES)];
            Err(Problem::UnknownFormat { start: shown.escape_ascii().to_string() })
        }
    }
}
