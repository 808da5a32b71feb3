//! The contents of a scene, and their random generation.

use serde::Serialize;

use crate::shape::Shape;
use mico_util::SplitMix64;

/// The width and height of a picture in pixels.
pub const SIDE: usize = 336;

/// The characters printed on objects: few, and chosen not to resemble one another.
pub const CHARACTERS: [char; 12] = ['A', 'C', 'E', 'H', 'K', 'P', 'T', 'X', '2', '4', '5', '7'];

/// The most objects in a scene; the least is 2.
const MOST_OBJECTS: usize = 7;
/// The probability that an object has a character.
const LABELED: f32 = 0.75;
/// The number of positions tried for an object before another object is drawn.
const ATTEMPTS: usize = 60;

/// The number of labels in a dense map: the background, and each shape in each colour.
pub const LABELS: usize = 1 + Shape::ALL.len() * Color::ALL.len();
/// The label of background pixels in a dense map.
pub const BACKGROUND: u8 = 0;

/// The purpose of a scene. Splits use different random streams as long as seeds are below 2^32, so
/// no scene of one split occurs in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Scenes for training the embedded model.
    Train,
    /// Scenes for tuning settings without touching the benchmark.
    Calibration,
    /// Scenes for the built-in benchmark, never used for training or tuning.
    Benchmark,
}

/// The colour of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Color {
    Red,
    Green,
    Blue,
    Yellow,
    Purple,
    Orange,
    White,
    Black,
}

impl Color {
    /// Every colour, in the order of declaration.
    pub const ALL: [Self; 8] = [
        Self::Red,
        Self::Green,
        Self::Blue,
        Self::Yellow,
        Self::Purple,
        Self::Orange,
        Self::White,
        Self::Black,
    ];

    /// The colour's name in questions and answers.
    pub fn word(self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Green => "green",
            Self::Blue => "blue",
            Self::Yellow => "yellow",
            Self::Purple => "purple",
            Self::Orange => "orange",
            Self::White => "white",
            Self::Black => "black",
        }
    }

    pub(crate) fn rgb(self) -> [f32; 3] {
        match self {
            Self::Red => [205.0, 30.0, 35.0],
            Self::Green => [35.0, 150.0, 55.0],
            Self::Blue => [40.0, 70.0, 210.0],
            Self::Yellow => [240.0, 220.0, 40.0],
            Self::Purple => [135.0, 50.0, 165.0],
            Self::Orange => [245.0, 135.0, 25.0],
            Self::White => [242.0, 242.0, 242.0],
            Self::Black => [20.0, 20.0, 20.0],
        }
    }
}

/// One object of a scene. No two objects of a scene share both shape and colour.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Object {
    /// The shape of the object's outline.
    pub shape: Shape,
    /// The colour by which questions name the object.
    // The training scripts read this spelling.
    #[serde(rename = "colour")]
    pub color: Color,
    /// Whether the object is large rather than small, for size comparisons.
    pub large: bool,
    /// The character printed on the object; `None` if it has none.
    pub character: Option<char>,
    /// The x coordinate of the centre, in pixels from the left.
    pub x: f32,
    /// The y coordinate of the centre, in pixels from the top.
    pub y: f32,
    /// The scale of the shape in pixels; the outline reaches at most 1.2 times as far.
    pub radius: f32,
    /// The RGB value used for drawing: the colour with a small random deviation.
    #[serde(skip)]
    pub(crate) paint: [f32; 3],
}

/// A set of objects on a textured background.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// The objects, in the order in which they are drawn.
    pub objects: Vec<Object>,
    pub(crate) base: [f32; 3],
    pub(crate) texture: u64,
}

/// Scene number `index` of a split, and the generator with which to ask questions about it.
pub fn scene(split: Split, seed: u64, index: u64) -> (Scene, SplitMix64) {
    let mut rng = SplitMix64::keyed(&[split as u64, seed, index]);
    let scene = Scene::draw(&mut rng);
    (scene, rng)
}

impl Scene {
    fn draw(rng: &mut SplitMix64) -> Self {
        let gray = rng.between(95.0, 165.0);
        let base = [0; 3].map(|_| gray + rng.between(-22.0, 22.0));
        let mut scene = Self { objects: Vec::new(), base, texture: rng.next_u64() };
        let wanted = 2 + rng.below(MOST_OBJECTS - 1);
        let mut rounds = 0;
        while scene.objects.len() < wanted {
            match scene.place(rng) {
                Some(object) => scene.objects.push(object),
                // A crowded beginning may leave no room, so placement starts over instead of using
                // fewer objects.
                None if rounds % 50 == 49 => scene.objects.clear(),
                None => {}
            }
            rounds += 1;
        }
        scene
    }

    /// A random object unlike the others at a free position; `None` if no position was found, and
    /// the caller tries again.
    fn place(&self, rng: &mut SplitMix64) -> Option<Object> {
        let shape = *rng.pick(&Shape::ALL)?;
        let color = *rng.pick(&Color::ALL)?;
        if self.objects.iter().any(|o| (o.shape, o.color) == (shape, color)) {
            return None;
        }
        let large = rng.chance(0.4);
        let radius = if large { rng.between(45.0, 52.0) } else { rng.between(30.0, 36.0) };
        let character = if rng.chance(LABELED) { rng.pick(&CHARACTERS).copied() } else { None };
        let paint = color.rgb().map(|c| (c + rng.between(-13.0, 13.0)).clamp(0.0, 255.0));
        let reach = radius * 1.2;
        (0..ATTEMPTS).find_map(|_| {
            let [x, y] = [0; 2].map(|_| rng.between(reach + 2.0, SIDE as f32 - reach - 2.0));
            let free = self
                .objects
                .iter()
                .all(|o| (o.x - x).hypot(o.y - y) > 1.15 * (o.radius + radius) + 4.0);
            free.then_some(Object { shape, color, large, character, x, y, radius, paint })
        })
    }

    /// The label of every pixel in rows from the top: [`BACKGROUND`], or the [`Object::label`] of
    /// the object that covers its centre. Plates and characters belong to their object.
    pub fn labels(&self) -> Vec<u8> {
        let mut labels = vec![BACKGROUND; SIDE * SIDE];
        for object in &self.objects {
            object.pixels().for_each(|(x, y)| labels[y * SIDE + x] = object.label());
        }
        labels
    }

    /// For each cell of a `grid` x `grid` raster the index of the object that covers at least
    /// `share` of it; `None` if there is none.
    pub fn cover(&self, grid: usize, share: f32) -> Vec<Option<usize>> {
        const SAMPLES: usize = 4;
        let cell = SIDE as f32 / grid as f32;
        let covered = |row: usize, column: usize, object: &Object| {
            let samples = (0..SAMPLES * SAMPLES).filter(|sample| {
                let at = |index: usize, sample: usize| {
                    (index as f32 + (sample as f32 + 0.5) / SAMPLES as f32) * cell
                };
                let (x, y) = (at(column, sample % SAMPLES), at(row, sample / SAMPLES));
                object.covers(x, y)
            });
            samples.count() as f32 / (SAMPLES * SAMPLES) as f32
        };
        let cells = (0..grid * grid).map(|index| {
            let (row, column) = (index / grid, index % grid);
            let shares = self.objects.iter().map(|object| covered(row, column, object));
            let best = shares.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
            best.filter(|&(_, found)| found >= share).map(|(object, _)| object)
        });
        cells.collect()
    }
}

impl Object {
    /// The object's name in questions: colour and shape.
    pub fn name(&self) -> String {
        format!("{} {}", self.color.word(), self.shape.word())
    }

    /// Whether a point, in pixels, lies inside the object's outline.
    pub fn covers(&self, x: f32, y: f32) -> bool {
        let (x, y) = ((x - self.x) / self.radius, (y - self.y) / self.radius);
        x.abs() < 1.3 && y.abs() < 1.3 && self.shape.distance(x, y) < 0.0
    }

    /// The object's label in a dense map: from 1, by shape and colour.
    pub fn label(&self) -> u8 {
        1 + self.shape as u8 * Color::ALL.len() as u8 + self.color as u8
    }

    /// The column and row of every pixel whose centre the object covers.
    fn pixels(&self) -> impl Iterator<Item = (usize, usize)> {
        let [left, top, right, bottom] = self.bounds();
        let span =
            |low: f32, high: f32| low.max(0.0) as usize..(high.max(0.0) as usize + 1).min(SIDE);
        let inside = move |x: usize, y: usize| self.covers(x as f32 + 0.5, y as f32 + 0.5);
        span(top, bottom)
            .flat_map(move |y| span(left, right).map(move |x| (x, y)))
            .filter(move |&(x, y)| inside(x, y))
    }

    /// The smallest box of whole pixels around the object: left, top, width and height.
    pub fn pixel_box(&self) -> [usize; 4] {
        let start = (SIDE, SIDE, 0, 0);
        let widen = |(x0, y0, x1, y1): (usize, usize, usize, usize), (x, y): (usize, usize)| {
            (x0.min(x), y0.min(y), x1.max(x + 1), y1.max(y + 1))
        };
        let (x0, y0, x1, y1) = self.pixels().fold(start, widen);
        [x0, y0, x1.saturating_sub(x0), y1.saturating_sub(y0)]
    }

    /// The left, top, right and bottom of a square that contains the object, in pixels.
    pub fn bounds(&self) -> [f32; 4] {
        let reach = self.radius * 1.2;
        [self.x - reach, self.y - reach, self.x + reach, self.y + reach]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_are_reproducible_and_splits_differ() {
        assert_eq!(scene(Split::Train, 3, 5).0, scene(Split::Train, 3, 5).0);
        assert_ne!(scene(Split::Train, 3, 5).0, scene(Split::Benchmark, 3, 5).0);
        assert_ne!(scene(Split::Train, 3, 5).0, scene(Split::Train, 3, 6).0);
    }

    #[test]
    fn objects_are_distinct_inside_and_apart() {
        let mut counts = [0; MOST_OBJECTS + 1];
        for index in 0..400 {
            let scene = scene(Split::Train, 1, index).0;
            counts[scene.objects.len()] += 1;
            for (at, a) in scene.objects.iter().enumerate() {
                assert!(a.bounds().iter().all(|&b| (0.0..SIDE as f32).contains(&b)), "{a:?}");
                for b in &scene.objects[at + 1..] {
                    assert_ne!(a.name(), b.name());
                    assert!((a.x - b.x).hypot(a.y - b.y) > a.radius + b.radius);
                }
            }
        }
        assert!(counts[2..].iter().all(|&count| count > 30), "{counts:?}");
    }

    #[test]
    fn labels_and_boxes_say_what_is_drawn() {
        for index in 0..20 {
            let scene = scene(Split::Train, 4, index).0;
            let (labels, pixels) = (scene.labels(), scene.render().pixels);
            for object in &scene.objects {
                let [x, y, width, height] = object.pixel_box();
                assert!(x + width <= SIDE && y + height <= SIDE);
                let own = |&at: &usize| labels[at] == object.label();
                let mine: Vec<usize> = (0..labels.len()).filter(own).collect();
                let (columns, rows) =
                    (mine.iter().map(|at| at % SIDE), mine.iter().map(|at| at / SIDE));
                assert_eq!((columns.clone().min(), columns.max()), (Some(x), Some(x + width - 1)));
                assert_eq!((rows.clone().min(), rows.max()), (Some(y), Some(y + height - 1)));
                // Paint lies under all labels but the plate's and at the blended outline.
                let painted = mine.iter().filter(|&&at| {
                    (0..3).all(|i| (f32::from(pixels[at * 3 + i]) - object.paint[i]).abs() < 2.0)
                });
                assert!(painted.count() * 2 > mine.len(), "{object:?}");
                assert!(usize::from(object.label()) < LABELS);
            }
        }
    }

    #[test]
    fn every_object_covers_cells() {
        for index in 0..100 {
            let scene = scene(Split::Train, 2, index).0;
            let cover = scene.cover(24, 0.5);
            for object in 0..scene.objects.len() {
                let cells = cover.iter().filter(|&&cell| cell == Some(object)).count();
                assert!(cells >= 5, "scene {index}, object {object}: {cells} cells");
            }
        }
    }
}
