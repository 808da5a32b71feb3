//! How scenes travel to the training script: one record after the other on a stream.
//!
//! A record is a little-endian `u32` with the length of a JSON document, the document ([`Contents`]),
//! then, if pixels were asked for, the 336 x 336 x 3 bytes of the picture.

use std::io::{self, Write};

use serde::Serialize;

use crate::question::Question;
use crate::scene::{Object, Scene};

/// Everything known about a scene.
#[derive(Debug, Serialize)]
pub struct Contents<'a> {
    /// The objects.
    pub objects: &'a [Object],
    /// For each patch of a 24 x 24 raster the object on it, -1 for the background.
    pub patches: Vec<i8>,
    /// The questions with their answers.
    pub questions: &'a [Question],
}

/// Patches per side in a record.
const PATCHES: usize = 24;
/// Share of a patch an object must cover to be what the patch shows.
const SHARE: f32 = 0.4;

/// Writes one record.
pub fn write_record(
    out: &mut impl Write,
    scene: &Scene,
    questions: &[Question],
    pixels: bool,
) -> io::Result<()> {
    let patches =
        scene.cover(PATCHES, SHARE).iter().map(|cell| cell.map_or(-1, |o| o as i8)).collect();
    let contents = Contents { objects: &scene.objects, patches, questions };
    let json = serde_json::to_vec(&contents)?;
    out.write_all(&(json.len() as u32).to_le_bytes())?;
    out.write_all(&json)?;
    if pixels {
        out.write_all(&scene.render().pixels)?;
    }
    Ok(())
}
