//! The record format in which scenes are streamed to the training script.
//!
//! A record is the length of a JSON document as a little-endian `u32`, the document ([`Contents`])
//! and, if pixels were requested, the 336 x 336 x 3 bytes of the picture.

use std::io::{self, Write};

use serde::Serialize;

use crate::question::Question;
use crate::scene::{Object, Scene};

/// The JSON document of a record: everything known about a scene.
#[derive(Debug, Serialize)]
pub struct Contents<'a> {
    /// The objects of the scene, in the order that indices refer to.
    pub objects: &'a [Object],
    /// For each patch of a 24 x 24 grid the index of the object on it; -1 for the background.
    pub patches: Vec<i8>,
    /// The questions about the scene, with their answers.
    pub questions: &'a [Question],
}

/// The number of patches per side.
const PATCHES: usize = 24;
/// The least share of a patch that an object must cover to be assigned to it.
const SHARE: f32 = 0.4;

/// Writes the record of one scene, with the picture's bytes if `pixels` is true.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Split, ask, scene};

    #[test]
    fn records_have_the_spelling_that_training_reads() {
        let asked = (0..100).find_map(|number| {
            let (scene, mut rng) = scene(Split::Train, 0, number);
            ask(&scene, Kind::Color, &mut rng).map(|question| (scene, question))
        });
        let (scene, question) = asked.unwrap();
        let mut record = Vec::new();
        write_record(&mut record, &scene, &[question], false).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&record[4..]).unwrap();
        assert!(json["objects"][0]["colour"].is_string(), "{json}");
        assert_eq!(json["questions"][0]["kind"], "colour");
    }
}
