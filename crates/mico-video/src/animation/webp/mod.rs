//! Reader for animated WebP files: reads their structure, then decodes and composes the frames.
//!
//! Only the coded pictures are decoded by the `image` crate. Frames are composed here, because the
//! result must be exact: an opaque pixel is the frame's own, whatever it covers.

mod canvas;
mod chunks;
mod frame;

use std::fs::File;
use std::io::{BufReader, Read, Seek};

use mico_vision::Size;

use self::canvas::Canvas;
use self::chunks::{Chunks, damaged};
use self::frame::Frame;
use super::{Outline, Pictures, picture};
use crate::budget::Budget;
use crate::error::Problem;
use crate::options::Limits;

/// The animation flag of the `VP8X` chunk.
const ANIMATED: u8 = 0x02;
/// The transparency flag of the `VP8X` chunk.
const HAS_ALPHA: u8 = 0x10;

/// The structure of an animated file, read before any pixel is decoded.
pub(super) struct Survey {
    /// The canvas size and the frame delays.
    pub(super) outline: Outline,
    /// What the second pass needs to decode the frames.
    pub(super) layout: Layout,
}

/// The parameters needed to decode a file's frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    canvas: Size,
    has_alpha: bool,
    /// The offset beyond which no chunk reaches.
    end: u64,
}

/// Reads the structure of a file of `length` bytes; `None` if it is not animated.
pub(super) fn survey(
    file: &mut (impl Read + Seek),
    length: u64,
    limits: &Limits,
) -> Result<Option<Survey>, Problem> {
    let mut chunks = Chunks::of_file(file, length)?;
    let Some(first) = chunks.next()? else { return Ok(None) };
    if first.name != *b"VP8X" {
        return Ok(None);
    }
    let [flags, _, _, _, w0, w1, w2, h0, h1, h2] = chunks.take(&first)?;
    if flags & ANIMATED == 0 {
        return Ok(None);
    }
    let canvas = Size::new(u24([w0, w1, w2]) + 1, u24([h0, h1, h2]) + 1);
    Budget::new(*limits).check_size(canvas)?;
    let mut outline = Outline { canvas, delays: Vec::new() };
    let mut announced = false;
    // A truncated chunk is detected when its frame is decoded.
    while let Some(chunk) = chunks.next()? {
        match &chunk.name {
            b"ANIM" => announced = true,
            b"ANMF" if !announced => return Err(damaged("there is no ANIM chunk before a frame")),
            b"ANMF" => {
                let frame = Frame::new(chunks.take(&chunk)?);
                outline.push(frame.delay, limits.source_frames)?;
            }
            _ => {}
        }
    }
    let layout = Layout { canvas, has_alpha: flags & HAS_ALPHA != 0, end: chunks.end() };
    Ok(Some(Survey { outline, layout }))
}

/// Reads a 24-bit little-endian number.
fn u24([low, middle, high]: [u8; 3]) -> u32 {
    u32::from_le_bytes([low, middle, high, 0])
}

/// Decodes the frames of a WebP file one after the other.
pub(super) struct Player {
    chunks: Chunks<BufReader<File>>,
    has_alpha: bool,
    canvas: Canvas,
}

impl Player {
    /// Prepares decoding and allocates the canvas.
    pub(super) fn new(file: BufReader<File>, layout: Layout) -> Self {
        let chunks = Chunks::up_to(file, layout.end);
        Self { chunks, has_alpha: layout.has_alpha, canvas: Canvas::new(layout.canvas) }
    }
}

impl Pictures for Player {
    fn advance(&mut self, time: f64) -> Result<(), Problem> {
        while let Some(chunk) = self.chunks.next()? {
            if chunk.name == *b"ANMF" {
                let frame = Frame::new(self.chunks.take(&chunk)?);
                let canvas = self.canvas.size();
                let coded =
                    frame.check(canvas).and_then(|()| frame.coded(&mut self.chunks, &chunk));
                let decoded = coded.and_then(|coded| coded.decode());
                let pixels = decoded.map_err(|fault| fault.at(time))?;
                self.canvas.show(&frame.placement(&pixels), &pixels.rgba);
                return Ok(());
            }
        }
        Err(picture(time, "the data ends before the picture does"))
    }

    fn size(&self) -> Size {
        self.canvas.size()
    }

    fn rgba(&self) -> &[u8] {
        self.canvas.rgba()
    }

    fn has_alpha(&self) -> bool {
        self.has_alpha
    }
}
