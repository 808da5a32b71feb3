//! Reading the images of a request, and sizes that stand for one.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use mico_util::input::{open_stream, read_at_most};
use mico_vision::decode::{DecodeOptions, decode, is_animated};
use mico_vision::{RgbImage, Size};

use crate::failure::Failure;

/// The most pixels along a side of an image that is only a size.
const MAX_SIDE: u32 = 1 << 14;

/// What is said when there is nothing to look at.
pub(crate) const NONE: &str = "no image: give --image FILE, one on standard input, or --video FILE; \
    --no-image asks the model without one";

/// The images of `paths`, or one from standard input if there are none and it is no terminal.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<RgbImage>, Failure> {
    if paths.is_empty() {
        if std::io::stdin().is_terminal() {
            return Ok(Vec::new());
        }
        return Ok(vec![from_stdin()?]);
    }
    paths.iter().map(|path| read_one(path)).collect()
}

fn read_one(path: &Path) -> Result<RgbImage, Failure> {
    if path.as_os_str() == "-" {
        return from_stdin();
    }
    let name = path.display().to_string();
    let file = open_stream(path);
    let file = file.map_err(|error| Failure::failed(format!("{name}: {error}")))?;
    decode_named(&read_all(file, &name)?, &name)
}

fn from_stdin() -> Result<RgbImage, Failure> {
    let bytes = read_all(std::io::stdin().lock(), "standard input")?;
    if bytes.is_empty() {
        return Err(Failure::misused(NONE));
    }
    decode_named(&bytes, "standard input")
}

/// At most as many bytes as an image may have.
fn read_all(reader: impl Read, name: &str) -> Result<Vec<u8>, Failure> {
    let limit = DecodeOptions::default().limits.encoded_bytes;
    read_at_most(reader, limit).map_err(|error| Failure::failed(format!("{name}: {error}")))
}

fn decode_named(bytes: &[u8], name: &str) -> Result<RgbImage, Failure> {
    let image = decode(bytes, &DecodeOptions::default())
        .map_err(|error| Failure::failed(format!("{name}: {error}")))?;
    if is_animated(bytes) {
        eprintln!("note: {name} is animated: its first frame is shown (--video takes them all)");
    }
    Ok(image)
}

/// Parses a size in pixels, written as `WIDTHxHEIGHT`.
pub(crate) fn image_size(text: &str) -> Result<Size, String> {
    let side = |text: &str| text.parse().ok().filter(|side| (1..=MAX_SIDE).contains(side));
    let sides = text.split_once('x').and_then(|(width, height)| side(width).zip(side(height)));
    let (width, height) =
        sides.ok_or_else(|| format!("accepted: WIDTHxHEIGHT, sides from 1 to {MAX_SIDE}"))?;
    Ok(Size::new(width, height))
}
