//! One frame of a WebP animation: its header and its coded picture.

use std::io::{Cursor, Read, Seek};

use image::DynamicImage;
use image::codecs::webp::WebPDecoder;
use mico_vision::Size;

use super::canvas::Placement;
use super::chunks::{CHUNK_HEADER, Chunk, Chunks};
use super::{HAS_ALPHA, u24};
use crate::animation::picture;
use crate::error::Problem;

/// The length of the frame header at the start of an `ANMF` chunk.
const FRAME_HEADER: usize = 16;
/// Flag: the frame's area is cleared to transparent before the next frame.
const CLEARED: u8 = 0x01;
/// Flag: the frame replaces what is under it instead of being blended.
const REPLACES: u8 = 0x02;
/// The most coded bytes accepted per pixel: twice an uncompressed picture, far above any encoder's
/// output.
const CODED_BYTES_PER_PIXEL: u64 = 8;
/// Additional bytes accepted, for the coding tables of small pictures.
const CODED_SLACK_BYTES: u64 = 1 << 20;
/// Mask of the 14 bits that hold a width or height in a picture header.
const SIDE_BITS: u32 = (1 << 14) - 1;

/// The contents of a frame header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    x: u32,
    y: u32,
    size: Size,
    /// The display time in milliseconds.
    pub(super) delay: u32,
    flags: u8,
}

/// A frame's coded picture, wrapped as a still WebP file of its own.
pub(super) struct Coded {
    file: Vec<u8>,
    has_alpha: bool,
}

impl Coded {
    /// Decodes the picture with the `image` crate.
    pub(super) fn decode(&self) -> Result<Pixels, Fault> {
        let decoded = WebPDecoder::new(Cursor::new(self.file.as_slice()))
            .and_then(DynamicImage::from_decoder)
            .map_err(|error| Fault::Picture(error.to_string()))?;
        Ok(Pixels { rgba: decoded.into_rgba8().into_raw(), has_alpha: self.has_alpha })
    }
}

/// The decoded pixels of a frame.
pub(super) struct Pixels {
    pub(super) rgba: Vec<u8>,
    /// Whether the coded picture states that it has transparency.
    has_alpha: bool,
}

/// Why a frame could not be read.
pub(super) enum Fault {
    /// The coded picture is malformed; becomes an error that states the frame's time.
    Picture(String),
    /// An error that does not concern the picture, such as an I/O error.
    Other(Problem),
}

impl Fault {
    /// Converts to the error for a frame shown at `time` seconds.
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
    /// Parses the header of an `ANMF` chunk.
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

    /// Checks that the frame lies within the canvas, which also limits its size.
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
        // The decoder allocates by the size in the picture's own header, so that must be the frame's.
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

    /// The most coded bytes accepted; below 2^32, since a coded picture has at most 2^14 pixels per side.
    fn most_coded_bytes(&self) -> u64 {
        self.size.area() * CODED_BYTES_PER_PIXEL + CODED_SLACK_BYTES
    }

    /// The header of a still WebP file whose picture takes `bytes` bytes. The alpha channel of a
    /// lossless picture is requested even if its header says it is unused, which is only a hint.
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

    /// The frame's position and blending, for the canvas.
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

/// The size in a coded picture's own header, and whether it states transparency.
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
