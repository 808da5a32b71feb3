//! Generates questions whose answers follow from the contents of a scene.

use serde::Serialize;

use crate::scene::{Color, Object, SIDE, Scene};
use crate::shape::Shape;
use mico_util::SplitMix64;

/// The number of cells per side of the grid used in [`Kind::Locate`].
pub const GRID: usize = 8;

/// The kind of a question; each is a track of the built-in benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Whether an object exists; negative questions combine a colour and a shape that both occur.
    Existence,
    /// The colour of the only object of a shape.
    // The training scripts read this spelling.
    #[serde(rename = "colour")]
    Color,
    /// The shape of the only object of a colour.
    Shape,
    /// Whether two objects have the same colour, or one is larger or smaller than the other.
    Compare,
    /// The number of objects in total, of a shape or of a colour.
    Count,
    /// The character printed on an object.
    Read,
    /// Which of nine regions of the picture an object is in.
    Region,
    /// The column and row of an object in a grid of 8 x 8 cells, from 1.
    Locate,
    /// Whether one object is left of, right of, above or below another.
    Relation,
}

/// Every kind, in the order of the tables.
pub const KINDS: [Kind; 9] = [
    Kind::Existence,
    Kind::Color,
    Kind::Shape,
    Kind::Compare,
    Kind::Count,
    Kind::Read,
    Kind::Region,
    Kind::Locate,
    Kind::Relation,
];

impl Kind {
    /// The name of the track, as in results and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Existence => "existence",
            Self::Color => "colour",
            Self::Shape => "shape",
            Self::Compare => "compare",
            Self::Count => "count",
            Self::Read => "read",
            Self::Region => "region",
            Self::Locate => "locate",
            Self::Relation => "relation",
        }
    }
}

/// A question with its only correct answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    /// The kind of the question, which is also its track.
    pub kind: Kind,
    /// The question as put to the model.
    pub text: String,
    /// The expected answer, in lower case except for characters.
    pub answer: String,
    /// Indices of the objects that the question is about; empty if it is about the whole scene.
    pub objects: Vec<usize>,
}

/// The words in questions and answers other than colours, shapes, characters and digits.
pub(crate) const WORDS: &[&str] = &[
    "is",
    "there",
    "a",
    "an",
    "the",
    "what",
    "colour",
    "shape",
    "object",
    "objects",
    "same",
    "as",
    "larger",
    "smaller",
    "than",
    "how",
    "many",
    "are",
    "character",
    "on",
    "where",
    "in",
    "which",
    "cell",
    "left",
    "right",
    "above",
    "below",
    "of",
    "yes",
    "no",
    "top",
    "bottom",
    "middle",
    "centre",
    "does",
    "picture",
    "show",
    "letter",
    "has",
    "can",
    "you",
    "see",
    "?",
    ".",
    ":",
    "user",
    "assistant",
];

const AXIS: f32 = SIDE as f32 / 3.0;
/// Objects closer than this many pixels to the border of a region are not asked about.
const UNSURE: f32 = 8.0;
/// The least distance in pixels along an axis for one object to be left of or above another.
const APART: f32 = 36.0;
/// The number of attempts to find objects for a question whose answer has been decided first, which
/// keeps answers balanced.
const TRIES: usize = 40;

/// A random question of the given kind; `None` if the scene has no suitable objects.
pub fn ask(scene: &Scene, kind: Kind, rng: &mut SplitMix64) -> Option<Question> {
    match kind {
        Kind::Existence => existence(scene, rng),
        Kind::Color => color(scene, rng),
        Kind::Shape => shape(scene, rng),
        Kind::Compare => compare(scene, rng),
        Kind::Count => Some(count(scene, rng)),
        Kind::Read => read(scene, rng),
        Kind::Region => region(scene, rng),
        Kind::Locate => locate(scene, rng),
        Kind::Relation => relation(scene, rng),
    }
}

fn question(kind: Kind, text: String, answer: impl Into<String>, objects: &[usize]) -> Question {
    Question { kind, text, answer: answer.into(), objects: objects.to_vec() }
}

fn yes_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// Indices of the objects that meet a condition.
fn those(scene: &Scene, accepts: impl Fn(&Object) -> bool) -> Vec<usize> {
    (0..scene.objects.len()).filter(|&index| accepts(&scene.objects[index])).collect()
}

/// The index of the only object that meets a condition; `None` if there are none or several.
fn only(scene: &Scene, accepts: impl Fn(&Object) -> bool) -> Option<usize> {
    match those(scene, accepts)[..] {
        [index] => Some(index),
        _ => None,
    }
}

fn existence(scene: &Scene, rng: &mut SplitMix64) -> Option<Question> {
    let yes = rng.chance(0.5);
    // Only scenes that allow either answer are used, so that the question alone reveals nothing.
    let (color, shape) = (0..TRIES).find_map(|_| {
        let color = rng.pick(&scene.objects)?.color;
        let shape = rng.pick(&scene.objects)?.shape;
        let there = scene.objects.iter().any(|o| (o.color, o.shape) == (color, shape));
        // The plates behind characters look like white or dark discs but are not objects.
        let plate = shape == Shape::Circle && matches!(color, Color::White | Color::Black);
        (!there && !plate).then_some((color, shape))
    })?;
    let (color, shape, objects) = if yes {
        let index = rng.below(scene.objects.len());
        let object = scene.objects.get(index)?;
        (object.color, object.shape, vec![index])
    } else {
        (color, shape, those(scene, |o| o.color == color || o.shape == shape))
    };
    let article = if color == Color::Orange { "an" } else { "a" };
    let thing = format!("{article} {} {}", color.word(), shape.word());
    let text = match rng.below(3) {
        0 => format!("Does the picture show {thing}?"),
        1 => format!("Can you see {thing}?"),
        _ => format!("Is there {thing}?"),
    };
    Some(question(Kind::Existence, text, yes_no(yes), &objects))
}

fn color(scene: &Scene, rng: &mut SplitMix64) -> Option<Question> {
    let shape = rng.pick(&scene.objects)?.shape;
    let index = only(scene, |o| o.shape == shape)?;
    let text = if rng.chance(0.7) {
        format!("What colour is the {}?", shape.word())
    } else {
        format!("Which colour has the {}?", shape.word())
    };
    Some(question(Kind::Color, text, scene.objects[index].color.word(), &[index]))
}

fn shape(scene: &Scene, rng: &mut SplitMix64) -> Option<Question> {
    let color = rng.pick(&scene.objects)?.color;
    let index = only(scene, |o| o.color == color)?;
    let text = if rng.chance(0.7) {
        format!("What shape is the {} object?", color.word())
    } else {
        format!("Which shape has the {} object?", color.word())
    };
    Some(question(Kind::Shape, text, scene.objects[index].shape.word(), &[index]))
}

/// Indices of two different random objects; `None` if the same one was drawn twice.
fn pair(scene: &Scene, rng: &mut SplitMix64) -> Option<(usize, usize)> {
    let first = rng.below(scene.objects.len());
    let second = rng.below(scene.objects.len());
    (first != second).then_some((first, second))
}

fn compare(scene: &Scene, rng: &mut SplitMix64) -> Option<Question> {
    let yes = rng.chance(0.5);
    let sizes = rng.chance(0.5);
    // Mostly `larger`: if both words were equally frequent, neither word nor size alone would be
    // informative, and learning could not start.
    let larger = rng.chance(0.8);
    let mut find = |yes: bool| {
        (0..TRIES).find_map(|_| {
            let (first, second) = pair(scene, rng)?;
            let (a, b) = (&scene.objects[first], &scene.objects[second]);
            let text = if sizes {
                compare_sizes(a, b, larger, yes)
            } else {
                compare_colors(scene, a, b, yes)
            };
            Some(question(Kind::Compare, text?, yes_no(yes), &[first, second]))
        })
    };
    // Only scenes that allow either answer are used, so that the question alone reveals nothing.
    let (asked, other) = (find(yes)?, find(!yes));
    other.map(|_| asked)
}

fn compare_sizes(a: &Object, b: &Object, larger: bool, yes: bool) -> Option<String> {
    let word = if larger { "larger" } else { "smaller" };
    let holds = a.large != b.large && (a.large == larger) == yes;
    holds.then(|| format!("Is the {} {word} than the {}?", a.name(), b.name()))
}

fn compare_colors(scene: &Scene, a: &Object, b: &Object, yes: bool) -> Option<String> {
    let unique = |shape: Shape| only(scene, |o| o.shape == shape).is_some();
    let text = format!("Is the {} the same colour as the {}?", a.shape.word(), b.shape.word());
    (unique(a.shape) && unique(b.shape) && yes == (a.color == b.color)).then_some(text)
}

fn count(scene: &Scene, rng: &mut SplitMix64) -> Question {
    let (what, objects) = match rng.below(3) {
        0 => ("objects".to_owned(), those(scene, |_| true)),
        1 => {
            let there = rng.chance(0.5).then(|| rng.pick(&scene.objects)).flatten();
            let any = Shape::ALL[rng.below(Shape::ALL.len())];
            let shape = there.map_or(any, |object| object.shape);
            (shape.plural().to_owned(), those(scene, |o| o.shape == shape))
        }
        _ => {
            let there = rng.chance(0.5).then(|| rng.pick(&scene.objects)).flatten();
            let any = Color::ALL[rng.below(Color::ALL.len())];
            let color = there.map_or(any, |object| object.color);
            (format!("{} objects", color.word()), those(scene, |o| o.color == color))
        }
    };
    let text = if rng.chance(0.7) {
        format!("How many {what} are there?")
    } else {
        format!("How many {what} can you see?")
    };
    question(Kind::Count, text, objects.len().to_string(), &objects)
}

fn read(scene: &Scene, rng: &mut SplitMix64) -> Option<Question> {
    let labeled = those(scene, |o| o.character.is_some());
    let index = *rng.pick(&labeled)?;
    let object = &scene.objects[index];
    let character = object.character?;
    let plain = rng.chance(0.7) || !character.is_alphabetic();
    let word = if plain { "character" } else { "letter" };
    let text = format!("What {word} is on the {}?", object.name());
    Some(question(Kind::Read, text, character.to_string(), &[index]))
}

fn region(scene: &Scene, rng: &mut SplitMix64) -> Option<Question> {
    let index = rng.below(scene.objects.len());
    let object = scene.objects.get(index)?;
    let sure = |at: f32| [AXIS, 2.0 * AXIS].iter().all(|border| (at - border).abs() >= UNSURE);
    if !(sure(object.x) && sure(object.y)) {
        return None;
    }
    let row = ["top", "middle", "bottom"][(object.y / AXIS) as usize];
    let column = ["left", "centre", "right"][(object.x / AXIS) as usize];
    let text = if rng.chance(0.7) {
        format!("Where is the {}?", object.name())
    } else {
        format!("Where in the picture is the {}?", object.name())
    };
    Some(question(Kind::Region, text, format!("{row} {column}"), &[index]))
}

fn locate(scene: &Scene, rng: &mut SplitMix64) -> Option<Question> {
    let index = rng.below(scene.objects.len());
    let object = scene.objects.get(index)?;
    let cell = |at: f32| 1 + (at * GRID as f32 / SIDE as f32) as usize;
    let text = format!("In which cell is the {}?", object.name());
    let answer = format!("{} {}", cell(object.x), cell(object.y));
    Some(question(Kind::Locate, text, answer, &[index]))
}

fn relation(scene: &Scene, rng: &mut SplitMix64) -> Option<Question> {
    let yes = rng.chance(0.5);
    let (first, second) = pair(scene, rng)?;
    let (a, b) = (&scene.objects[first], &scene.objects[second]);
    let (distance, words) = if rng.chance(0.5) {
        (b.x - a.x, ["left of", "right of"])
    } else {
        (b.y - a.y, ["above", "below"])
    };
    if distance.abs() < APART {
        return None;
    }
    let word = words[usize::from((distance > 0.0) != yes)];
    let text = format!("Is the {} {word} the {}?", a.name(), b.name());
    Some(question(Kind::Relation, text, yes_no(yes), &[first, second]))
}

#[cfg(test)]
mod tests;
