//! Opens a video of any supported kind; the entry point of the crate.

use std::path::Path;

use mico_vision::RgbImage;

use crate::budget::Budget;
use crate::error::{Problem, VideoError};
use crate::options::VideoOptions;
use crate::source::Source;
use crate::{animation, folder, mp4};

/// The number of bytes read to recognise the format.
const START_BYTES: u64 = 16;
/// The number of bytes of an unknown file that the error shows.
const SHOWN_BYTES: usize = 8;

/// The kind of source that a video was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VideoKind {
    /// A folder of images, one per frame.
    Folder,
    /// A GIF file, animated or with one frame.
    Gif,
    /// A WebP file, animated or still.
    WebP,
    /// An MP4 or QuickTime file with an H.264 track.
    Mp4,
}

/// Progress of reading a video.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The number of frames processed so far.
    pub done: usize,
    /// The number of frames to process; more than are kept, because frames depend on earlier ones.
    pub total: usize,
}

/// The frames sampled from a video.
#[derive(Debug, Clone, PartialEq)]
pub struct Video {
    /// The kind of source that the video was read from.
    pub kind: VideoKind,
    /// The sampled frames, upright and in display order. The images of a folder may differ in size.
    pub frames: Vec<RgbImage>,
    /// The 0-based index of each sampled frame in the source.
    pub indices: Vec<usize>,
    /// The display time of each sampled frame, in seconds from the start. The images of a folder
    /// count as one second apart.
    pub times: Vec<f64>,
    /// The total number of frames in the source.
    pub source_frames: usize,
    /// The average frame rate of the source in frames per second; 1 for a folder.
    pub fps: f64,
}

impl Video {
    /// Samples frames from the video at `path`.
    pub fn open(path: impl AsRef<Path>, options: &VideoOptions) -> Result<Self, VideoError> {
        Self::open_with_progress(path, options, &mut |_| {})
    }

    /// Samples frames from the video at `path`, calling `progress` after every processed frame.
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
        // Reading a pipe or a device could block forever.
        if !metadata.is_file() {
            return Err(Problem::NoFile.of(path));
        }
        read_file(path, &mut job).map_err(|problem| problem.of(path))
    }
}

/// What every reader needs: the options, the resource budget and the progress callback.
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
