//! The chunks of a WebP file: canvas, number of frames and their delays.

use std::io::{ErrorKind, Read, Seek, SeekFrom};

use mico_vision::Size;

use super::Outline;
use crate::budget::Budget;
use crate::error::Problem;
use crate::options::Limits;

/// Bytes of `RIFF`, its size and `WEBP`.
const RIFF_HEADER: u64 = 12;
/// Bytes of a chunk's name and size.
const CHUNK_HEADER: u64 = 8;
/// The animation bit of `VP8X`.
const ANIMATED: u8 = 0x02;

/// Walks over the chunks of a file of `length` bytes. `None` if it is not animated.
pub(super) fn outline(
    file: &mut (impl Read + Seek),
    length: u64,
    limits: &Limits,
) -> Result<Option<Outline>, Problem> {
    let mut at = RIFF_HEADER;
    let mut outline: Option<Outline> = None;
    // A chunk that is cut is found out when its frame is decoded.
    while at + CHUNK_HEADER <= length {
        file.seek(SeekFrom::Start(at))?;
        let [name @ .., s0, s1, s2, s3] = take::<8>(file)?;
        let size = u64::from(u32::from_le_bytes([s0, s1, s2, s3]));
        match (&name, &mut outline) {
            (b"VP8X", None) => {
                let [flags, _, _, _, w0, w1, w2, h0, h1, h2] = take(file)?;
                if flags & ANIMATED == 0 {
                    return Ok(None);
                }
                let side = |bytes| u24(bytes) + 1;
                let canvas = Size::new(side([w0, w1, w2]), side([h0, h1, h2]));
                Budget::new(*limits).check_size(canvas)?;
                outline = Some(Outline { canvas, delays: Vec::new() });
            }
            (_, None) => return Ok(None),
            (b"ANMF", Some(outline)) => {
                let [.., d0, d1, d2, _] = take::<16>(file)?;
                outline.push(u24([d0, d1, d2]), limits.source_frames)?;
            }
            _ => {}
        }
        // Chunks are padded to an even length.
        at += CHUNK_HEADER + size + size % 2;
    }
    Ok(outline)
}

fn u24([low, middle, high]: [u8; 3]) -> u32 {
    u32::from_le_bytes([low, middle, high, 0])
}

fn take<const N: usize>(file: &mut impl Read) -> Result<[u8; N], Problem> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => {
            Problem::Damaged { format: "WebP", reason: "the data ends within a chunk".into() }
        }
        _ => Problem::from(error),
    })?;
    Ok(bytes)
}
