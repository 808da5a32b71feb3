//! Pictures as lists of shapes, written as SVG or as pixels.
//!
//! A plot is drawn once, onto a [`Drawing`]; the two writers show the same picture. Text is measured as
//! if every character were [`ADVANCE`] of the font size wide, which holds for the pixels and leaves a
//! little room in SVG.

mod raster;
mod svg;

pub use raster::PngError;

/// A place, from the upper left corner.
pub type Place = (f64, f64);

/// Width of a character as a share of the font size.
pub const ADVANCE: f64 = 2.0 / 3.0;
/// Height of a capital letter as a share of the font size.
pub const CAPITAL: f64 = 0.7;

/// Red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

impl Colour {
    /// Paper.
    pub const WHITE: Self = Self(255, 255, 255);
    /// Ink.
    pub const BLACK: Self = Self(30, 30, 30);
    /// What stands back.
    pub const GREY: Self = Self(120, 120, 120);
    /// Lines of a grid.
    pub const FAINT: Self = Self(228, 228, 228);

    /// The same, paler: 0 is white, 1 unchanged.
    #[must_use]
    pub fn paler(self, share: f64) -> Self {
        let part = |value: u8| (255.0 - f64::from(255 - value) * share) as u8;
        Self(part(self.0), part(self.1), part(self.2))
    }

    /// The same, darker: 0 is black, 1 unchanged.
    #[must_use]
    pub fn darker(self, share: f64) -> Self {
        let part = |value: u8| (f64::from(value) * share) as u8;
        Self(part(self.0), part(self.1), part(self.2))
    }
}

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stroke {
    /// Its colour.
    pub colour: Colour,
    /// Its width.
    pub width: f64,
    /// Whether it has gaps.
    pub dashed: bool,
}

impl Stroke {
    /// A line without gaps.
    pub fn solid(colour: Colour, width: f64) -> Self {
        Self { colour, width, dashed: false }
    }

    /// A line with gaps.
    pub fn dashed(colour: Colour, width: f64) -> Self {
        Self { colour, width, dashed: true }
    }
}

/// Which end of a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Anchor {
    /// The left one.
    #[default]
    Start,
    /// Neither: it is centred.
    Middle,
    /// The right one.
    End,
}

/// How a text looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Font {
    /// Its size; pixels have it exactly only in multiples of 6.
    pub size: f64,
    /// Its colour.
    pub colour: Colour,
    /// Which end is at the place; the place is on the base line.
    pub anchor: Anchor,
}

/// Something on a picture.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Line { points: Vec<Place>, stroke: Stroke },
    Area { points: Vec<Place>, fill: Colour, opacity: f64 },
    Disc { centre: Place, radius: f64, fill: Colour },
    Text { at: Place, text: String, font: Font },
}

/// A picture: later shapes lie on earlier ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    width: u32,
    height: u32,
    shapes: Vec<Shape>,
}

impl Drawing {
    /// White paper.
    pub fn new(width: u32, height: u32) -> Self {
        Self { width, height, shapes: Vec::new() }
    }

    /// A line through all places.
    pub fn line(&mut self, points: impl Into<Vec<Place>>, stroke: Stroke) {
        self.shapes.push(Shape::Line { points: points.into(), stroke });
    }

    /// What a closed line surrounds; `opacity` from 0 to 1.
    pub fn area(&mut self, points: impl Into<Vec<Place>>, fill: Colour, opacity: f64) {
        self.shapes.push(Shape::Area { points: points.into(), fill, opacity });
    }

    /// A filled circle.
    pub fn disc(&mut self, centre: Place, radius: f64, fill: Colour) {
        self.shapes.push(Shape::Disc { centre, radius, fill });
    }

    /// A line of text.
    pub fn text(&mut self, at: Place, text: impl Into<String>, font: Font) {
        self.shapes.push(Shape::Text { at, text: text.into(), font });
    }
}

/// How wide a text is.
pub fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * ADVANCE * size
}
