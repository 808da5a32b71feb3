//! The errors of reading a video, with the file they concern.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mico_vision::decode::DecodeError;

/// The formats that this build accepts, for messages.
const ACCEPTED: &str = if cfg!(feature = "h264") {
    "MP4 and QuickTime with H.264, animated GIF and WebP, and folders of images"
} else {
    "animated GIF and WebP, and folders of images"
};

/// A video that could not be read, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", one_line(path))]
#[non_exhaustive]
pub struct VideoError {
    /// The file or folder that was requested; for an image in a folder, that image.
    pub path: PathBuf,
    /// What is wrong with the video.
    pub problem: Problem,
}

/// A path for messages, on one line even if its name has control characters.
fn one_line(path: &Path) -> String {
    let mut text = String::new();
    for character in path.to_string_lossy().chars() {
        if character.is_control() {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
    text
}

/// Why a video could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// An option has an invalid value.
    #[error("{name} is {found}: {accepted} is accepted")]
    Setting {
        /// The name of the option.
        name: &'static str,
        /// The value that was given.
        found: String,
        /// A description of the accepted values.
        accepted: &'static str,
    },
    /// The operating system reported an error, or the decoder could not be created.
    #[error("cannot be read: {0}")]
    Io(String),
    /// The path is neither a regular file nor a folder, for instance a pipe.
    #[error("neither a file nor a folder")]
    NoFile,
    /// The content has none of the accepted formats.
    #[error("unknown video format (content starts with \"{start}\"): accepted are {ACCEPTED}")]
    UnknownFormat {
        /// The first bytes of the file, in printable form.
        start: String,
    },
    /// A still image in a format that is not read as a video.
    #[error("a {format} file is a single image: accepted are {ACCEPTED}")]
    StillImage {
        /// The image format that was recognised.
        format: &'static str,
    },
    /// The folder contains no image.
    #[error(
        "no image among the {entries} entries of the folder: accepted are names ending in {accepted}"
    )]
    NoImages {
        /// The number of entries in the folder.
        entries: u64,
        /// The file endings that are accepted.
        accepted: String,
    },
    /// The file is valid but uses a feature that is not supported.
    #[error("{what} not supported: {accepted} accepted")]
    Unsupported {
        /// The unsupported feature, with its verb ("HEVC video (hvc1) is").
        what: String,
        /// What is accepted instead, with its verb.
        accepted: &'static str,
    },
    /// A limit is exceeded; no memory of that size has been allocated.
    #[error("video too large: {found} {what}, at most {limit} are accepted")]
    TooLarge {
        /// The quantity that exceeds its limit, such as "frames to decode".
        what: &'static str,
        /// The amount that was found.
        found: u64,
        /// The largest amount that is accepted.
        limit: u64,
    },
    /// The file violates its format.
    #[error("damaged {format} file: {reason}")]
    Damaged {
        /// The format of the file.
        format: &'static str,
        /// What is wrong, as text for a message.
        reason: String,
    },
    /// A frame cannot be decoded.
    #[error("the picture at {time:.3} s cannot be decoded: {reason}")]
    Picture {
        /// The time of the frame, in seconds from the start.
        time: f64,
        /// The message of the decoder, on one line.
        reason: String,
    },
    /// An image in a folder, or a still WebP file, cannot be decoded.
    #[error(transparent)]
    Image(#[from] DecodeError),
}

impl Problem {
    /// The error for a malformed MP4 file.
    pub(crate) fn mp4(reason: impl Into<String>) -> Self {
        Self::Damaged { format: "MP4", reason: reason.into() }
    }

    /// Adds the path of the file that the problem concerns.
    pub(crate) fn of(self, path: &Path) -> VideoError {
        VideoError { path: path.to_owned(), problem: self }
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self::Io(plain(&error.to_string()))
    }
}

/// Another library's message, on one line and at most 160 characters.
pub(crate) fn plain(message: &str) -> String {
    const LONGEST: usize = 160;
    let mut text = String::new();
    for character in message.chars().take(LONGEST) {
        let _ = text.write_char(if character.is_control() { ' ' } else { character });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_file_on_one_line() {
        let error = Problem::NoFile.of(Path::new("a\nb.mp4"));
        assert_eq!(error.to_string(), "a\\nb.mp4: neither a file nor a folder");
        assert_eq!(plain("two\nlines"), "two lines");
    }
}
