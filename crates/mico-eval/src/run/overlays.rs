//! Pictures of what was kept, for reports: of the first items of each track, under every setting.

use std::fs;
use std::path::{Path, PathBuf};

use mico_chart::overlay::{Clip, Pruned, shade, shade_frames};
use mico_engine::Outcome;
use mico_util::files::write_atomic;
use mico_util::input::read_regular;
use mico_vision::{RgbImage, Size, encode_jpeg};

use crate::condition::Condition;
use crate::error::Result;
use crate::file_error::FileError;
use crate::item::Item;
use crate::record::RecordKey;

/// The folder's name in a results folder.
pub const PICTURES: &str = "pictures";
/// The long side of a picture alone, and of one among others.
const ALONE: u32 = 448;
const AMONG: u32 = 224;
/// The most images of an item, the most frames of a video, and how many stand in a row.
const IMAGES: usize = 8;
const FRAMES: usize = 4;
const ROW: usize = 4;
/// Space between pictures, and what it shows.
const GAP: u32 = 4;
const GROUND: [u8; 3] = [128; 3];
/// Of the JPEG files.
const QUALITY: u8 = 80;
/// The most bytes of a picture, several times what one of that size and quality can have.
const MAX_BYTES: u64 = 2 << 20;

/// A folder of pictures.
#[derive(Debug)]
pub struct OverlayStore {
    folder: PathBuf,
    most: usize,
}

/// What the engine was given as one input.
pub(super) enum InputPixels {
    Image(RgbImage),
    Video(Vec<RgbImage>),
}

impl OverlayStore {
    /// Makes the folder for pictures of the first `most` items of each track in a results folder.
    pub fn open(results: &Path, most: usize) -> Result<Self> {
        let folder = results.join(PICTURES);
        fs::create_dir_all(&folder).map_err(FileError::io(&folder))?;
        Ok(Self { folder, most })
    }

    /// The file of a record's picture in a results folder.
    pub fn file(results: &Path, key: &RecordKey) -> PathBuf {
        results.join(PICTURES).join(format!("{key}.jpg"))
    }

    /// The contents of a picture's file; an error if it is larger than any that is written here.
    pub fn read(file: &Path) -> Result<Vec<u8>> {
        Ok(read_regular(file, MAX_BYTES).map_err(FileError::io(file))?)
    }

    /// Copies the pictures of parts of a run into the folder of the whole, if there are any.
    pub fn collect(parts: &[PathBuf], whole: &Path) -> Result<()> {
        for part in parts {
            // A part need not have kept any.
            let listed = fs::read_dir(part.join(PICTURES)).into_iter().flatten().flatten();
            for entry in listed.filter(|entry| entry.path().extension() == Some("jpg".as_ref())) {
                let store = Self::open(whole, 0)?;
                let bytes = Self::read(&entry.path())?;
                store.write(&entry.file_name().to_string_lossy(), &bytes)?;
            }
        }
        Ok(())
    }

    /// Whether a picture is to be kept; plain grey is none.
    pub(super) fn includes(&self, item: &Item, setting: &Condition) -> bool {
        item.position < self.most && !setting.blank
    }

    /// Writes the picture of an answer: whole or not at all. Where nothing can be drawn, no file is
    /// written.
    pub(super) fn save(
        &self,
        key: &RecordKey,
        inputs: &[InputPixels],
        outcome: &Outcome,
    ) -> Result<()> {
        let sheet = sheet(&shaded(inputs, outcome));
        let Some(jpeg) = sheet.and_then(|sheet| encode_jpeg(&sheet, QUALITY).ok()) else {
            return Ok(());
        };
        self.write(&format!("{key}.jpg"), &jpeg)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        Ok(write_atomic(&path, bytes).map_err(FileError::io(&path))?)
    }
}

/// Each image and frame with what was dropped dimmed.
fn shaded(inputs: &[InputPixels], outcome: &Outcome) -> Vec<RgbImage> {
    let long = match inputs {
        [InputPixels::Image(_)] => ALONE,
        _ => AMONG,
    };
    let mut pictures = Vec::new();
    for (frames, image) in inputs.iter().zip(&outcome.images) {
        let (stage1, kept) = (outcome.stage1_of(image), &outcome.kept_of(image));
        let (layout, stage1) = (&*image.layout, stage1.as_deref());
        match frames {
            InputPixels::Image(image) => {
                pictures.extend(shade(&Pruned { image, layout, stage1, kept }, long).ok());
            }
            InputPixels::Video(frames) => {
                let clip = Clip { frames, layout, stage1, kept, labels: &[] };
                pictures.extend(shade_frames(&clip, FRAMES, long).unwrap_or_default());
            }
        }
    }
    // A video may also have been shown as one image for each frame.
    pictures.truncate(IMAGES);
    pictures
}

/// Pictures side by side, in rows.
fn sheet(pictures: &[RgbImage]) -> Option<RgbImage> {
    if let [only] = pictures {
        return Some(only.clone());
    }
    let rows = || pictures.chunks(ROW);
    let wide = |row: &[RgbImage]| row.iter().map(|p| p.size().width + GAP).sum::<u32>();
    let high = |row: &[RgbImage]| row.iter().map(|p| p.size().height).max().unwrap_or(0) + GAP;
    let size = Size::new(
        rows().map(wide).max()?.saturating_sub(GAP),
        rows().map(high).sum::<u32>().saturating_sub(GAP),
    );
    let mut out = RgbImage::filled(size, GROUND);
    let mut top = 0;
    for row in rows() {
        let mut left = 0;
        for picture in row {
            out.paste(picture, left as usize, top as usize);
            left += picture.size().width + GAP;
        }
        top += high(row);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_stand_side_by_side_in_rows() {
        let picture = |width, height| RgbImage::filled(Size::new(width, height), [9, 8, 7]);
        assert!(sheet(&[]).is_none());
        assert_eq!(sheet(&[picture(10, 20)]).unwrap().size(), Size::new(10, 20));
        let five = [picture(10, 20), picture(10, 5), picture(10, 5), picture(10, 5), picture(3, 7)];
        let shaded = sheet(&five).unwrap();
        assert_eq!(shaded.size(), Size::new(52, 31));
        assert_eq!(shaded.pixel(0, 24), Some([9, 8, 7]));
        assert_eq!(shaded.pixel(0, 21), Some(GROUND));
    }

    #[test]
    fn pictures_of_parts_come_together() {
        let folder = tempfile::tempdir().unwrap();
        let part = |name: &str| folder.path().join(name);
        for (name, file) in [("a", "1.jpg"), ("b", "2.jpg"), ("b", ".3.part")] {
            fs::create_dir_all(part(name).join(PICTURES)).unwrap();
            fs::write(part(name).join(PICTURES).join(file), name).unwrap();
        }
        OverlayStore::collect(&[part("a"), part("b"), part("none")], &part("whole")).unwrap();
        let whole = part("whole").join(PICTURES);
        assert_eq!(fs::read_dir(&whole).unwrap().count(), 2);
        assert_eq!(fs::read(whole.join("2.jpg")).unwrap(), b"b");
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(PICTURES), "no folder").unwrap();
        let message = OverlayStore::open(folder.path(), 2).unwrap_err().to_string();
        assert!(message.contains(PICTURES), "{message}");
    }
}
