//! The built-in benchmark: questions about generated scenes, one track per kind.

use mico_scenes::{Colour, KINDS, Kind, Rng, SIDE, Shape, Split, ask, scene};
use mico_vision::{RgbImage, Size};

use crate::error::{Error, Result};
use crate::scorer::Scorer;
use crate::task::{Item, Suite, Track};

/// Attempts at a question that a scene may not allow.
const TRIES: usize = 20;
/// Sets the random numbers of the questions apart from those of the scenes.
const ASKING: u64 = 0x61_736b;
/// The blank picture's grey.
const GREY: u8 = 128;

/// Scenes of one split with the same number of questions of every kind, at most one of a kind about
/// each scene. A longer suite contains the items of a shorter one.
#[derive(Debug, Clone)]
pub struct TinySuite {
    split: Split,
    seed: u64,
    tracks: Vec<Track>,
    items: Vec<Item>,
}

impl TinySuite {
    /// `per_track` questions of every kind.
    pub fn new(split: Split, seed: u64, per_track: usize) -> Self {
        let tracks = KINDS.map(|kind| Track { name: kind.name(), scorer: scorer(kind) });
        let mut items = Vec::with_capacity(per_track * KINDS.len());
        let mut missing = KINDS.map(|_| per_track);
        let mut picture = 0;
        while missing.iter().any(|&count| count > 0) {
            let scene = scene(split, seed, picture).0;
            for (track, kind) in KINDS.into_iter().enumerate() {
                if missing[track] == 0 {
                    continue;
                }
                let mut rng = Rng::keyed(&[ASKING, split as u64, seed, picture, track as u64]);
                let Some(asked) = (0..TRIES).find_map(|_| ask(&scene, kind, &mut rng)) else {
                    continue;
                };
                missing[track] -= 1;
                items.push(Item {
                    id: format!("{}-{picture}", kind.name()),
                    track,
                    picture,
                    form: form(&asked.text),
                    question: asked.text,
                    answer: asked.answer,
                });
            }
            picture += 1;
        }
        Self { split, seed, tracks: tracks.to_vec(), items }
    }
}

impl Suite for TinySuite {
    fn name(&self) -> String {
        let split = match self.split {
            Split::Train => "train",
            Split::Calibration => "calibration",
            Split::Benchmark => "benchmark",
        };
        format!("tiny v{}, {split} split, seed {}", mico_scenes::VERSION, self.seed)
    }

    fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    fn items(&self) -> &[Item] {
        &self.items
    }

    fn picture(&self, number: u64) -> Result<RgbImage> {
        let pixels = scene(self.split, self.seed, number).0.render().pixels;
        RgbImage::new(size(), pixels).map_err(|source| Error::Picture { number, source })
    }

    fn blank(&self) -> RgbImage {
        RgbImage::filled(size(), [GREY; 3])
    }
}

fn size() -> Size {
    Size { width: SIDE as u32, height: SIDE as u32 }
}

fn scorer(kind: Kind) -> Scorer {
    if kind == Kind::Locate { Scorer::Cell } else { Scorer::Exact }
}

/// The question with colours and shapes taken out.
fn form(question: &str) -> String {
    let named = |word: &str| {
        let word = word.trim_end_matches('?');
        Colour::ALL.iter().any(|colour| colour.word() == word)
            || Shape::ALL.iter().any(|shape| shape.word() == word || shape.plural() == word)
    };
    let words = question.split_whitespace().map(|word| if named(word) { "_" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_track_has_its_questions_and_splits_share_none() {
        let suite = TinySuite::new(Split::Benchmark, 0, 12);
        for track in 0..suite.tracks().len() {
            assert_eq!(suite.items().iter().filter(|item| item.track == track).count(), 12);
        }
        let other = TinySuite::new(Split::Calibration, 0, 12);
        let last = suite.items().last().unwrap().picture.min(20);
        let shown = |suite: &TinySuite| (0..=last).map(|n| suite.picture(n).unwrap()).collect();
        let (mine, others): (Vec<_>, Vec<_>) = (shown(&suite), shown(&other));
        for (at, picture) in mine.iter().enumerate() {
            assert!(!others.contains(picture) && !mine[..at].contains(picture));
        }
    }

    #[test]
    fn longer_suites_contain_shorter_ones() {
        let (short, long) =
            (TinySuite::new(Split::Benchmark, 3, 5), TinySuite::new(Split::Benchmark, 3, 9));
        assert!(short.items().iter().all(|item| long.items().contains(item)));
    }

    #[test]
    fn forms_leave_names_out() {
        assert_eq!(form("Is there a red circle?"), "Is there a _ _");
        assert_eq!(form("How many stars are there?"), "How many _ are there?");
    }
}
