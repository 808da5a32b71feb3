//! One frame of an animation: where it goes, how, and its pixels.

use std::io::{Cursor, Read, Seek};

use image::DynamicImage;
use image::codecs::webp::WebPDecoder;
use mico_vision::Size;

use super::canvas::Placement;
use super::chunks::{CHUNK_HEADER, Chunk, Chunks};
use super::{HAS_ALPHA, u24};
use crate::animation::picture;
use crate::error::Problem;

/// Bytes of an `ANMF` chunk before its picture.
const FRAME_HEADER: usize = 16;
/// The bit of a frame that is cleared to transparency before the next one.
const CLEARED: u8 = 0x01;
/// The bit of a frame that replaces what it covers, transparent or not.
const REPLACES: u8 = 0x02;
/// Most coded bytes per pixel: twice what the plain pixels take. No encoder comes near.
const CODED_BYTES_PER_PIXEL: u64 = 8;
/// Room for the tables of a small picture on top of that.
const CODED_SLACK_BYTES: u64 = 1 << 20;
/// The largest value of a side in the header of a coded picture.
const SIDE_BITS: u32 = (1 << 14) - 1;

/// What the header of a frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    x: u32,
    y: u32,
    size: Size,
    /// Milliseconds.
    pub(super) delay: u32,
    flags: u8,
}

/// A frame's picture, still coded, as a still image file of its own.
pub(super) struct Coded {
    file: Vec<u8>,
    has_alpha: bool,
}

impl Coded {
    /// Decodes the picture.
    pub(super) fn decode(&self) -> Result<Pixels, Fault> {
        let decoded = WebPDecoder::new(Cursor::new(self.file.as_slice()))
            .and_then(DynamicImage::from_decoder)
            .map_err(|error| Fault::Picture(error.to_string()))?;
        Ok(Pixels { rgba: decoded.into_rgba8().into_raw(), has_alpha: self.has_alpha })
    }
}

/// A frame's picture.
pub(super) struct Pixels {
    pub(super) rgba: Vec<u8>,
    /// Whether the coded picture says that it has transparency.
    has_alpha: bool,
}

/// What is wrong with a frame.
pub(super) enum Fault {
    /// Its picture.
    Picture(String),
    /// Anything else.
    Other(Problem),
}

impl Fault {
    /// The error for a frame shown at `time`.
    pub(super) fn at(self, time: f64) -> Problem {
        match self {
            Self::Picture(reason) => picture(time, &reason),
            Self::Other(problem) => problem,
        }
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self::Other(problem)
    }
}

impl Frame {
    /// Takes the header of an `ANMF` chunk apart.
    pub(super) fn new(header: [u8; FRAME_HEADER]) -> Self {
        let [x0, x1, x2, y0, y1, y2, w0, w1, w2, h0, h1, h2, d0, d1, d2, flags] = header;
        Self {
            x: u24([x0, x1, x2]) * 2,
            y: u24([y0, y1, y2]) * 2,
            size: Size::new(u24([w0, w1, w2]) + 1, u24([h0, h1, h2]) + 1),
            delay: u24([d0, d1, d2]),
            flags,
        }
    }

    /// Whether the frame lies on the canvas, which also bounds its size.
    pub(super) fn check(&self, canvas: Size) -> Result<(), Fault> {
        let Self { x, y, size, .. } = *self;
        if x + size.width > canvas.width || y + size.height > canvas.height {
            return Err(Fault::Picture(format!(
                "a part of {size} pixels at ({x}, {y}) does not lie on the canvas of {canvas}"
            )));
        }
        Ok(())
    }

    /// Reads the coded picture of a frame that has been checked.
    pub(super) fn coded(
        &self,
        chunks: &mut Chunks<impl Read + Seek>,
        chunk: &Chunk,
    ) -> Result<Coded, Fault> {
        let mut parts = chunks.within(chunk, FRAME_HEADER as u64);
        let end = chunk.end().min(parts.end());
        let missing = || Fault::Picture("the frame ends before its picture".into());
        let first = parts.next()?.ok_or_else(missing)?;
        let apart = first.name == *b"ALPH";
        let last = if apart { parts.next()?.ok_or_else(missing)? } else { first };
        if !matches!((&last.name, apart), (b"VP8 ", _) | (b"VP8L", false)) {
            let name = last.name.escape_ascii();
            return Err(Fault::Picture(format!("a {name} chunk where a picture is expected")));
        }
        if first.end() > end || last.end() > end {
            return Err(Fault::Picture("the data ends before the picture does".into()));
        }
        let (size, has_alpha) = described(chunks, &last)?;
        // The decoder makes room for what the picture says of itself.
        if size != self.size {
            let expected = self.size;
            return Err(Fault::Picture(format!("a picture of {size} in a frame of {expected}")));
        }
        let from = first.start - CHUNK_HEADER;
        let (bytes, most) = (last.end() - from, self.most_coded_bytes());
        if bytes > most {
            return Err(Fault::Picture(format!(
                "{bytes} coded bytes for {size} pixels, at most {most} are accepted"
            )));
        }
        let padding = last.size % 2;
        let mut file = self.file_header(bytes + padding, apart || last.name == *b"VP8L");
        chunks.append(from, last.end(), &mut file)?;
        file.resize(file.len() + padding as usize, 0);
        Ok(Coded { file, has_alpha: apart || has_alpha })
    }

    /// Below 2^32, since a coded picture has at most 2^14 pixels a side.
    fn most_coded_bytes(&self) -> u64 {
        self.size.area() * CODED_BYTES_PER_PIXEL + CODED_SLACK_BYTES
    }

    /// The beginning of a still image file whose picture takes `bytes`. The alpha channel of a
    /// lossless picture is asked for even where its header says it is not used: that is only a hint.
    fn file_header(&self, bytes: u64, alpha: bool) -> Vec<u8> {
        const EXTENDED_BYTES: u8 = 10;
        let after_size = 4 + CHUNK_HEADER + u64::from(EXTENDED_BYTES) + bytes;
        let mut file = b"RIFF".to_vec();
        file.extend((after_size as u32).to_le_bytes());
        file.extend(b"WEBPVP8X");
        file.extend([EXTENDED_BYTES, 0, 0, 0, if alpha { HAS_ALPHA } else { 0 }, 0, 0, 0]);
        file.extend(&(self.size.width - 1).to_le_bytes()[..3]);
        file.extend(&(self.size.height - 1).to_le_bytes()[..3]);
        file
    }

    /// Where these pixels go, and how.
    pub(super) fn placement(&self, pixels: &Pixels) -> Placement {
        Placement {
            x: self.x,
            y: self.y,
            size: self.size,
            has_alpha: pixels.has_alpha,
            blends: self.flags & REPLACES == 0,
            is_cleared: self.flags & CLEARED != 0,
        }
    }
}

/// What a coded picture says of itself: its size, and whether it has transparency.
fn described(
    chunks: &mut Chunks<impl Read + Seek>,
    picture: &Chunk,
) -> Result<(Size, bool), Problem> {
    if picture.name == *b"VP8L" {
        let [_signature, b0, b1, b2, b3] = chunks.take(picture)?;
        let bits = u32::from_le_bytes([b0, b1, b2, b3]);
        let size = Size::new((bits & SIDE_BITS) + 1, ((bits >> 14) & SIDE_BITS) + 1);
        Ok((size, (bits >> 28) & 1 == 1))
    } else {
        let [_, _, _, _, _, _, w0, w1, h0, h1] = chunks.take(picture)?;
        let side = |low, high| u32::from(u16::from_le_bytes([low, high])) & SIDE_BITS;
        Ok((Size::new(side(w0, w1), side(h0, h1)), false))
    }
}
