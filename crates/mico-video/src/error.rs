//! Every way a video can fail, with the file it concerns.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mico_vision::decode::DecodeError;

/// What this build takes for a video.
const ACCEPTED: &str = if cfg!(feature = "h264") {
    "MP4 and QuickTime with H.264, animated GIF and WebP, and folders of images"
} else {
    "animated GIF and WebP, and folders of images"
};

/// A video that could not be read: which, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", one_line(path))]
pub struct VideoError {
    /// The file or folder asked for; of a folder's image, that image.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: Problem,
}

/// A path on one line, whatever its name holds.
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

/// What is wrong with a video.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// An option that makes no sense.
    #[error("{name} is {found}: {accepted} is accepted")]
    Setting {
        /// The option.
        name: &'static str,
        /// Its value.
        found: String,
        /// What it may be.
        accepted: &'static str,
    },
    /// The operating system refuses.
    #[error("cannot be read: {0}")]
    Io(String),
    /// Neither a file nor a folder.
    #[error("neither a file nor a folder")]
    NoFile,
    /// The content is none of the accepted formats.
    #[error("unknown video format (content starts with \"{start}\"): accepted are {ACCEPTED}")]
    UnknownFormat {
        /// The first bytes, readable.
        start: String,
    },
    /// One picture of a format that has no moving form here.
    #[error("a {format} file is a single image: accepted are {ACCEPTED}")]
    StillImage {
        /// The format found.
        format: &'static str,
    },
    /// A folder without images.
    #[error(
        "no image among the {entries} entries of the folder: accepted are names ending in {accepted}"
    )]
    NoImages {
        /// Entries seen.
        entries: u64,
        /// The endings looked for.
        accepted: String,
    },
    /// Something real that is not read here.
    #[error("{what} not supported: {accepted} accepted")]
    Unsupported {
        /// What was found, with its verb ("HEVC video (hvc1) is").
        what: String,
        /// What would be accepted, with its verb.
        accepted: &'static str,
    },
    /// A limit is exceeded; nothing of that size has been allocated.
    #[error("video too large: {found} {what}, at most {limit} are accepted")]
    TooLarge {
        /// The quantity at fault.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The largest value accepted.
        limit: u64,
    },
    /// The file contradicts its format.
    #[error("damaged {format} file: {reason}")]
    Damaged {
        /// The format found.
        format: &'static str,
        /// The contradiction.
        reason: String,
    },
    /// A picture that cannot be decoded.
    #[error("the picture at {time:.3} s cannot be decoded: {reason}")]
    Picture {
        /// When it would be shown, in seconds.
        time: f64,
        /// What the decoder said.
        reason: String,
    },
    /// An image of a folder, or a still WebP file, that cannot be decoded.
    #[error(transparent)]
    Image(#[from] DecodeError),
}

impl Problem {
    /// A contradiction in an MP4 file.
    pub(crate) fn mp4(reason: impl Into<String>) -> Self {
        Self::Damaged { format: "MP4", reason: reason.into() }
    }

    /// Attaches the path.
    pub(crate) fn of(self, path: &Path) -> VideoError {
        VideoError { path: path.to_owned(), problem: self }
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self::Io(plain(&error.to_string()))
    }
}

/// What another library says, on one line and not without end.
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
