//! Files below one folder, opened in a way that cannot lead out of it.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use url::Url;

use crate::error::{Code, Result, ServeError};

/// Opening a pipe must not wait for somebody to write to it.
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

/// A folder whose files requests may name by `file:` URLs.
#[derive(Debug)]
pub struct MediaRoot {
    path: PathBuf,
    folder: Dir,
}

impl MediaRoot {
    /// Opens the folder once; what its path leads to later does not matter.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let path = path.canonicalize()?;
        let folder = Dir::open_ambient_dir(&path, ambient_authority())?;
        Ok(Self { path, folder })
    }

    /// The bytes of a regular file below the folder.
    pub fn read(&self, url: &str, most: usize) -> Result<Vec<u8>> {
        let refused = || {
            let message = "no readable file below the server's media folder";
            ServeError::new(Code::ImageInvalid, message)
        };
        let path = local_path(url).ok_or_else(refused)?;
        let inside = path.strip_prefix(&self.path).map_err(|_| refused())?;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(NONBLOCK);
        let file = self
            .folder
            .open_with(inside, &options)
            .map_err(|error| refused().because(error.kind().to_string()))?;
        let about = file.metadata().map_err(|_| refused())?;
        // A second name of the same file may be one that this folder was meant to keep out.
        if !about.is_file() || about.nlink() != 1 {
            return Err(refused());
        }
        let too_large = || {
            let message = format!("a file of more than {most} bytes");
            ServeError::new(Code::ImageTooLarge, message)
        };
        if about.len() > most as u64 {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|_| refused())?;
        if bytes.len() > most { Err(too_large()) } else { Ok(bytes) }
    }
}

/// The path of a `file:` URL on this machine. Dots are refused rather than resolved, in any spelling.
fn local_path(url: &str) -> Option<PathBuf> {
    let lower = url.to_ascii_lowercase();
    let dots = lower.replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\");
    if dots.split(['/', '\\']).any(|part| part == ".." || part == ".") {
        return None;
    }
    let parsed = Url::parse(url).ok()?;
    if parsed.host_str().is_some() || parsed.query().is_some() {
        return None;
    }
    parsed.to_file_path().ok()
}
