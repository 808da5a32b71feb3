//! Where pictures with annotations come from.

use mico_util::SplitMix64;
use mico_vision::{RgbImage, Size};
use serde::Serialize;

/// Sets the choice of pictures apart from other random numbers.
const CHOICE: u64 = 0x6368_6f69;

/// One of the paper's three checks of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// The feature norm against the entropy of dense labels.
    Information,
    /// Attention of the class token against decoding of masked objects.
    Reliability,
    /// Attention of the text against the box asked about.
    Relevance,
}

impl Check {
    /// All checks, in the order in which they run.
    pub const ALL: [Self; 3] = [Self::Information, Self::Reliability, Self::Relevance];

    /// The name that the command line and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Information => "information",
            Self::Reliability => "reliability",
            Self::Relevance => "relevance",
        }
    }
}

impl std::fmt::Display for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A label for every pixel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelMap {
    size: Size,
    values: Vec<u16>,
    void: Option<u16>,
}

impl LabelMap {
    /// Rows from the top. `void` is the label of pixels that have none; every other must be below
    /// `classes`.
    pub fn new(
        size: Size,
        values: Vec<u16>,
        void: Option<u16>,
        classes: usize,
    ) -> Result<Self, String> {
        if values.len() as u64 != size.area() {
            return Err(format!("{} labels do not fill {size} pixels", values.len()));
        }
        let stray = |value: &&u16| Some(**value) != void && usize::from(**value) >= classes;
        if let Some(value) = values.iter().find(stray) {
            let void = void.map_or(String::new(), |void| format!(", or {void} for void"));
            return Err(format!("label {value}, accepted: 0 to {}{void}", classes.max(1) - 1));
        }
        Ok(Self { size, values, void })
    }

    /// Width and height of the label map in pixels.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The label of a pixel; `None` if it is void or outside.
    pub fn at(&self, x: usize, y: usize) -> Option<u16> {
        let (width, height) = (self.size.width as usize, self.size.height as usize);
        let inside = x < width && y < height;
        let value = inside.then(|| self.values[y * width + x])?;
        (Some(value) != self.void).then_some(value)
    }
}

/// A box in pixels; its right and bottom borders are exclusive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PixelBox {
    /// The left edge in pixels.
    pub x0: f64,
    /// The top edge in pixels.
    pub y0: f64,
    /// The right edge in pixels.
    pub x1: f64,
    /// The bottom edge in pixels.
    pub y1: f64,
}

impl PixelBox {
    /// From left, top, width and height; `None` unless all are finite and both sides positive.
    pub fn new([x, y, width, height]: [f64; 4]) -> Option<Self> {
        let finite = [x, y, x + width, y + height].iter().all(|value| value.is_finite());
        let found = Self { x0: x, y0: y, x1: x + width, y1: y + height };
        (finite && width > 0.0 && height > 0.0).then_some(found)
    }

    /// The part of it inside a picture; `None` if that has no area.
    pub fn clipped(self, size: Size) -> Option<Self> {
        let (width, height) = (f64::from(size.width), f64::from(size.height));
        let (x0, y0) = (self.x0.clamp(0.0, width), self.y0.clamp(0.0, height));
        let (x1, y1) = (self.x1.clamp(0.0, width), self.y1.clamp(0.0, height));
        (x0 < x1 && y0 < y1).then_some(Self { x0, y0, x1, y1 })
    }
}

impl std::fmt::Display for PixelBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { x0, y0, x1, y1 } = *self;
        write!(f, "box [{x0}, {y0}, {}, {}]", x1 - x0, y1 - y0)
    }
}

/// An object and what it is.
#[derive(Debug, Clone, PartialEq)]
pub struct LabeledObject {
    /// The object's bounding box.
    pub place: PixelBox,
    /// The name of the object's class, which probes learn to tell.
    pub category: String,
}

/// A question about something in a box.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Where the answer lies.
    pub place: PixelBox,
    /// What is asked, as the model is to read it.
    pub text: String,
}

/// Pictures by number, with what is known about them. What is wrong with a picture is told as a
/// sentence: the check goes on without it.
pub trait Source: Sync {
    /// What it is, in words.
    fn name(&self) -> String;

    /// Number of classes of its label maps.
    fn classes(&self) -> usize;

    /// The pictures a check can use.
    fn pictures(&self, check: Check) -> Vec<usize>;

    /// The picture's name in messages: a file name, or a scene's number.
    fn title(&self, picture: usize) -> String;

    /// The pixels of a picture.
    fn image(&self, picture: usize) -> Result<RgbImage, String>;

    /// The semantic labels of a picture's pixels.
    fn labels(&self, picture: usize) -> Result<LabelMap, String>;

    /// The annotated objects of a picture.
    fn objects(&self, picture: usize) -> Vec<LabeledObject>;

    /// The questions about it.
    fn queries(&self, picture: usize) -> Vec<Query>;
}

/// Something a check had to leave out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DamagedImage {
    /// The picture's title as its source gives it.
    pub picture: String,
    /// What is wrong with it.
    pub reason: String,
}

/// At most `limit` pictures of a check in an order drawn by `seed`.
pub(super) fn drawn(source: &dyn Source, check: Check, seed: u64, limit: usize) -> Vec<usize> {
    let mut pictures = source.pictures(check);
    let mut rng = SplitMix64::keyed(&[CHOICE, check as u64, seed]);
    for last in (1..pictures.len()).rev() {
        pictures.swap(last, rng.below(last + 1));
    }
    pictures.truncate(limit);
    pictures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_must_be_classes_or_void() {
        let size = Size::new(2, 1);
        let map = LabelMap::new(size, vec![1, 255], Some(255), 2).unwrap();
        assert_eq!((map.at(0, 0), map.at(1, 0), map.at(2, 0)), (Some(1), None, None));
        let stray = LabelMap::new(size, vec![0, 2], Some(255), 2).unwrap_err();
        assert_eq!(stray, "label 2, accepted: 0 to 1, or 255 for void");
        assert!(LabelMap::new(size, vec![0, 255], None, 2).is_err());
        assert!(LabelMap::new(size, vec![0], None, 2).is_err());
    }

    #[test]
    fn boxes_are_cut_at_the_border() {
        let size = Size::new(10, 8);
        let place = PixelBox::new([-2.0, 4.0, 5.0, 9.0]).unwrap();
        assert_eq!(place.clipped(size), Some(PixelBox { x0: 0.0, y0: 4.0, x1: 3.0, y1: 8.0 }));
        assert_eq!(PixelBox::new([10.0, 0.0, 5.0, 5.0]).unwrap().clipped(size), None);
        assert_eq!(PixelBox::new([0.0, 0.0, 0.0, 5.0]), None);
        assert_eq!(PixelBox::new([0.0, 0.0, f64::INFINITY, 5.0]), None);
        assert_eq!(PixelBox::new([f64::MAX, 0.0, f64::MAX, 5.0]), None);
    }
}
