//! What is asked: items in tracks.

use mico_vision::RgbImage;
use serde::Serialize;

use crate::error::Result;
use crate::scorer::Scorer;

/// Items that are scored alike and counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Track {
    /// The name in tables.
    pub name: &'static str,
    /// What counts as right.
    pub scorer: Scorer,
}

/// A question about a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The name in records, unique in its suite.
    pub id: String,
    /// Index of its track.
    pub track: usize,
    /// The picture it is about. Items about the same picture are not independent of one another.
    pub picture: u64,
    /// What is asked.
    pub question: String,
    /// What is right.
    pub answer: String,
    /// The question with the names of things left out: items alike in this can be told apart by
    /// nothing but the picture and the names.
    pub form: String,
}

/// A benchmark.
pub trait Suite: Sync {
    /// The name, with everything that decides its items.
    fn name(&self) -> String;

    /// The tracks, in the order of tables.
    fn tracks(&self) -> &[Track];

    /// The items, those about one picture together.
    fn items(&self) -> &[Item];

    /// The picture of that number.
    fn picture(&self, number: u64) -> Result<RgbImage>;

    /// A picture of the usual size that shows nothing.
    fn blank(&self) -> RgbImage;
}
