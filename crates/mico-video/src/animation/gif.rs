//! GIF files: reads canvas size, frame count and delays from the blocks; the frames themselves are
//! decoded by the `image` crate.

use std::io::{BufRead, ErrorKind};

use image::{Frames, RgbaImage};
use mico_vision::Size;

use super::{Outline, Pictures, picture};
use crate::budget::{Budget, at_most};
use crate::error::Problem;
use crate::options::Limits;

const EXTENSION: u8 = 0x21;
const GRAPHIC_CONTROL: u8 = 0xf9;
const IMAGE: u8 = 0x2c;
const TRAILER: u8 = 0x3b;
/// The unit of GIF delays, in milliseconds.
const CENTISECOND: u32 = 10;

/// Reads the block structure from the start of the file, without decoding pixels.
pub(super) fn outline(file: &mut impl BufRead, limits: &Limits) -> Result<Outline, Problem> {
    let [.., w0, w1, h0, h1, packed, _, _] = take::<13>(file)?;
    let side = |low, high| u32::from(u16::from_le_bytes([low, high]));
    let canvas = Size::new(side(w0, w1), side(h0, h1));
    Budget::new(*limits).check_size(canvas)?;
    skip_colors(file, packed)?;
    let mut outline = Outline { canvas, delays: Vec::new() };
    let mut delay = 0;
    loop {
        match next_block(file)? {
            // Some writers omit the trailer; a truncated frame is detected when it is decoded.
            None | Some(TRAILER) => return Ok(outline),
            Some(EXTENSION) => {
                let [label] = take(file)?;
                if label == GRAPHIC_CONTROL {
                    let [length, _, low, high, _] = take(file)?;
                    if length != 4 {
                        return Err(damaged(format!("a graphic control block of {length} bytes")));
                    }
                    delay = u32::from(u16::from_le_bytes([low, high])) * CENTISECOND;
                }
                skip_data(file)?;
            }
            Some(IMAGE) => {
                let [_, _, _, _, w0, w1, h0, h1, packed] = take(file)?;
                let size = Size::new(side(w0, w1), side(h0, h1));
                at_most("pixels in a part of a frame", size.area(), limits.frame_pixels)?;
                skip_colors(file, packed)?;
                let [_code_size] = take(file)?;
                skip_data(file)?;
                outline.push(delay, limits.source_frames)?;
                delay = 0;
            }
            Some(other) => return Err(damaged(format!("a block of unknown kind 0x{other:02x}"))),
        }
    }
}

/// Decodes the frames of a GIF file one after the other.
pub(super) struct Player {
    frames: Frames<'static>,
    shown: RgbaImage,
}

impl Player {
    pub(super) fn new(frames: Frames<'static>) -> Self {
        Self { frames, shown: RgbaImage::default() }
    }
}

impl Pictures for Player {
    fn advance(&mut self, time: f64) -> Result<(), Problem> {
        // The old canvas is freed first, so that there is one fewer while the next is made.
        self.shown = RgbaImage::default();
        self.shown = match self.frames.next() {
            Some(Ok(frame)) => frame.into_buffer(),
            Some(Err(error)) => return Err(picture(time, &error.to_string())),
            None => return Err(picture(time, "the data ends before the picture does")),
        };
        Ok(())
    }

    fn size(&self) -> Size {
        Size::new(self.shown.width(), self.shown.height())
    }

    fn rgba(&self) -> &[u8] {
        self.shown.as_raw()
    }

    fn has_alpha(&self) -> bool {
        true
    }
}

fn damaged(reason: String) -> Problem {
    Problem::Damaged { format: "GIF", reason }
}

fn take<const N: usize>(file: &mut impl BufRead) -> Result<[u8; N], Problem> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => damaged("the data ends within a block".into()),
        _ => Problem::from(error),
    })?;
    Ok(bytes)
}

/// The type byte of the next block; `None` at the end of the file.
fn next_block(file: &mut impl BufRead) -> Result<Option<u8>, Problem> {
    let byte = file.fill_buf()?.first().copied();
    file.consume(usize::from(byte.is_some()));
    Ok(byte)
}

/// Skips the colour table, if the packed field says that there is one.
fn skip_colors(file: &mut impl BufRead, packed: u8) -> Result<(), Problem> {
    if packed & 0x80 != 0 { skip(file, 3 << ((packed & 7) + 1)) } else { Ok(()) }
}

/// Skips data sub-blocks up to the empty one that ends them.
fn skip_data(file: &mut impl BufRead) -> Result<(), Problem> {
    loop {
        let [length] = take(file)?;
        if length == 0 {
            return Ok(());
        }
        skip(file, length.into())?;
    }
}

fn skip(file: &mut impl BufRead, mut count: usize) -> Result<(), Problem> {
    while count > 0 {
        let there = file.fill_buf()?.len().min(count);
        if there == 0 {
            return Err(damaged("the data ends within a block".into()));
        }
        file.consume(there);
        count -= there;
    }
    Ok(())
}
