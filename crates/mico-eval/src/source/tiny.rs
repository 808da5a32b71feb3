//! The built-in benchmark: questions about generated scenes, one track per kind.

use mico_scenes::{Color, KINDS, Kind, SIDE, Shape, Split, ask, scene};
use mico_score::{Fields, Segment};
use mico_util::SplitMix64;
use mico_vision::{RgbImage, Size};
use serde_json::Value;

use super::{Items, Source};
use crate::error::{Error, Result};
use crate::item::{DamagedRow, Item, Visual};
use crate::scorer::Scorer;
use crate::scoring::{Scoring, TrackSpec};

/// Attempts at a question that a scene may not allow.
const TRIES: usize = 20;
/// Sets the random numbers of the questions apart from those of the scenes.
const ASKING: u64 = 0x61_736b;
/// Longest answer: the questions ask for a word or two.
const MAX_NEW_TOKENS: usize = 16;

/// A question about a scene.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SceneQuestion {
    track: usize,
    position: usize,
    picture: u64,
    question: String,
    answer: String,
}

/// Scenes of one split with the same number of questions of every kind, at most one of a kind about
/// each scene. A longer suite contains the items of a shorter one.
#[derive(Debug, Clone)]
pub struct TinySuite {
    split: Split,
    seed: u64,
    tracks: Vec<TrackSpec>,
    asked: Vec<SceneQuestion>,
}

impl TinySuite {
    /// `per_track` questions of every kind.
    pub fn new(split: Split, seed: u64, per_track: usize) -> Self {
        let tracks = KINDS.map(|kind| TrackSpec {
            name: kind.name().to_owned(),
            scoring: Scoring::Scenes { scorer: scorer(kind) },
        });
        let mut asked = Vec::with_capacity(per_track * KINDS.len());
        let mut missing = KINDS.map(|_| per_track);
        let mut picture = 0;
        while missing.iter().any(|&count| count > 0) {
            let scene = scene(split, seed, picture).0;
            for (track, kind) in KINDS.into_iter().enumerate() {
                if missing[track] == 0 {
                    continue;
                }
                let mut rng =
                    SplitMix64::keyed(&[ASKING, split as u64, seed, picture, track as u64]);
                let Some(found) = (0..TRIES).find_map(|_| ask(&scene, kind, &mut rng)) else {
                    continue;
                };
                let position = per_track - missing[track];
                missing[track] -= 1;
                let (question, answer) = (found.text, found.answer);
                asked.push(SceneQuestion { track, position, picture, question, answer });
            }
            picture += 1;
        }
        Self { split, seed, tracks: tracks.to_vec(), asked }
    }

    /// The picture of that number.
    pub fn picture(&self, number: u64) -> Result<RgbImage> {
        let pixels = scene(self.split, self.seed, number).0.render().pixels;
        RgbImage::new(size(), pixels).map_err(|source| Error::Picture { number, source })
    }

    fn item(&self, asked: &SceneQuestion) -> std::result::Result<Item, DamagedRow> {
        let name = &self.tracks[asked.track].name;
        let picture = self.picture(asked.picture);
        let picture = picture
            .map_err(|error| DamagedRow { track: name.clone(), reason: error.to_string() })?;
        let texts = [
            ("question", asked.question.clone()),
            ("answer", asked.answer.clone()),
            ("form", form(&asked.question)),
        ];
        let fields: Fields =
            texts.into_iter().map(|(name, text)| (name.to_owned(), Value::from(text))).collect();
        Ok(Item {
            id: format!("{name}-{}", asked.picture),
            track: asked.track,
            position: asked.position,
            cluster: asked.picture.to_string(),
            fields,
            visuals: vec![Visual::Pixels(picture)],
        })
    }
}

impl Source for TinySuite {
    fn name(&self) -> String {
        let split = match self.split {
            Split::Train => "train",
            Split::Calibration => "calibration",
            Split::Benchmark => "benchmark",
        };
        format!("tiny v{}, {split} split, seed {}", mico_scenes::VERSION, self.seed)
    }

    fn tracks(&self) -> &[TrackSpec] {
        &self.tracks
    }

    fn items(&self) -> Result<Items<'_>> {
        Ok(Box::new(self.asked.iter().map(|asked| self.item(asked))))
    }

    fn expected(&self) -> Option<usize> {
        Some(self.asked.len())
    }

    fn prompt(&self, item: &Item) -> Result<Vec<Segment>> {
        let question = item.fields.get("question").and_then(Value::as_str).unwrap_or_default();
        Ok(vec![Segment::Image(0), Segment::Text(question.to_owned())])
    }

    fn max_new_tokens(&self) -> usize {
        MAX_NEW_TOKENS
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
        Color::ALL.iter().any(|color| color.word() == word)
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
            assert_eq!(suite.asked.iter().filter(|item| item.track == track).count(), 12);
        }
        let other = TinySuite::new(Split::Calibration, 0, 12);
        let last = suite.asked.last().unwrap().picture.min(20);
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
        assert!(short.asked.iter().all(|item| long.asked.contains(item)));
        let ids = |suite: &TinySuite| {
            suite.items().unwrap().map(|item| item.unwrap().id).collect::<Vec<_>>()
        };
        assert!(ids(&short).iter().all(|id| ids(&long).contains(id)));
    }

    #[test]
    fn forms_leave_names_out() {
        assert_eq!(form("Is there a red circle?"), "Is there a _ _");
        assert_eq!(form("How many stars are there?"), "How many _ are there?");
    }
}
