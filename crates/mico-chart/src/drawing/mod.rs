//! Pictures as lists of shapes, rendered as SVG or as pixels.
//!
//! A chart is drawn once, onto a [`Drawing`]; both writers show the same picture. Text is measured with
//! the embedded font. A browser may show an SVG in another font of its font list; none of them is much
//! wider.
//!
//! Pixels come from `tiny-skia` with the glyph outlines of `ttf-parser`, and SVG from the writer here:
//! four kinds of shapes need no document model.

mod raster;
mod svg;

use mico_vision::{EncodeError, RgbImage, encode_png};

use crate::color::Paint;
use crate::text;

pub(crate) use raster::pixels;

/// Pixels per unit in PNG files, so that charts look sharp on high-density screens.
const PNG_SCALE: f64 = 2.0;

/// A position in units from the upper left corner, y downwards.
pub(crate) type Place = (f64, f64);

/// Why a picture could not be rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The picture has more pixels than can be allocated.
    #[error("a picture of {width} x {height} pixels cannot be drawn")]
    Size {
        /// The width in pixels.
        width: u32,
        /// The height in pixels.
        height: u32,
    },
    /// The PNG could not be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// The dash pattern of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dash {
    None,
    Dashes,
    Dots,
    /// Alternating dashes and dots.
    Mixed,
}

impl Dash {
    /// Alternating lengths of dashes and gaps, in units; empty for a solid line.
    fn lengths(self) -> &'static [f32] {
        match self {
            Self::None => &[],
            Self::Dashes => &[6.0, 4.0],
            Self::Dots => &[2.0, 3.0],
            Self::Mixed => &[8.0, 3.0, 2.0, 3.0],
        }
    }
}

/// The color, width, dashes and opacity of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) paint: Paint,
    pub(crate) width: f64,
    pub(crate) dash: Dash,
    /// Opacity from 0 (invisible) to 1 (opaque).
    pub(crate) opacity: f64,
}

impl Stroke {
    pub(crate) fn solid(paint: Paint, width: f64) -> Self {
        Self { paint, width, dash: Dash::None, opacity: 1.0 }
    }

    pub(crate) fn dashed(paint: Paint, width: f64) -> Self {
        Self { dash: Dash::Dashes, ..Self::solid(paint, width) }
    }
}

/// The color and opacity of a filled area.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fill {
    pub(crate) paint: Paint,
    /// Opacity from 0 (invisible) to 1 (opaque).
    pub(crate) opacity: f64,
}

impl From<Paint> for Fill {
    fn from(paint: Paint) -> Self {
        Self { paint, opacity: 1.0 }
    }
}

/// Which end of a text is at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The size, color and alignment of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TextStyle {
    pub(crate) size: f64,
    pub(crate) paint: Paint,
    /// Which end of the text is at its position, which is on the baseline.
    pub(crate) anchor: Anchor,
}

impl TextStyle {
    pub(crate) fn new(size: f64, paint: Paint) -> Self {
        Self { size, paint, anchor: Anchor::Start }
    }

    pub(crate) fn anchored(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Line { points: Vec<Place>, stroke: Stroke },
    Area { points: Vec<Place>, fill: Fill },
    Disc { center: Place, radius: f64, fill: Fill },
    Text { at: Place, text: String, style: TextStyle },
}

impl Shape {
    fn shift(&mut self, (x, y): Place) {
        let shift = |place: &mut Place| *place = (place.0 + x, place.1 + y);
        match self {
            Self::Line { points, .. } | Self::Area { points, .. } => {
                points.iter_mut().for_each(shift);
            }
            Self::Disc { center: at, .. } | Self::Text { at, .. } => shift(at),
        }
    }
}

/// A finished picture that can be written as SVG or PNG; later shapes cover earlier ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    width: u32,
    height: u32,
    ground: Paint,
    shapes: Vec<Shape>,
}

impl Drawing {
    pub(crate) fn new(width: u32, height: u32) -> Self {
        Self::on(Paint::Paper, width, height)
    }

    pub(crate) fn on(ground: Paint, width: u32, height: u32) -> Self {
        Self { width, height, ground, shapes: Vec::new() }
    }

    /// Width and height in units; a PNG has twice as many pixels along each side.
    pub fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// Adds a line through all points.
    pub(crate) fn line(&mut self, points: impl Into<Vec<Place>>, stroke: Stroke) {
        self.shapes.push(Shape::Line { points: points.into(), stroke });
    }

    /// Adds a filled polygon.
    pub(crate) fn area(&mut self, points: impl Into<Vec<Place>>, fill: impl Into<Fill>) {
        self.shapes.push(Shape::Area { points: points.into(), fill: fill.into() });
    }

    pub(crate) fn disc(&mut self, center: Place, radius: f64, fill: impl Into<Fill>) {
        self.shapes.push(Shape::Disc { center, radius, fill: fill.into() });
    }

    /// Adds a line of text; control and invisible characters are removed.
    pub(crate) fn text(&mut self, at: Place, text: &str, style: TextStyle) {
        let text = text::clean(text);
        if !text.trim().is_empty() {
            self.shapes.push(Shape::Text { at, text, style });
        }
    }

    /// Adds another picture with its upper left corner at `at`.
    pub(crate) fn append(&mut self, other: Self, at: Place) {
        self.shapes.extend(other.shapes.into_iter().map(|mut shape| {
            shape.shift(at);
            shape
        }));
    }

    /// Renders the picture as pixels, two per unit.
    pub fn image(&self) -> Result<RgbImage, RenderError> {
        pixels(self, PNG_SCALE)
    }

    /// Renders the picture as a PNG file, two pixels per unit.
    pub fn png(&self) -> Result<Vec<u8>, RenderError> {
        Ok(encode_png(&self.image()?)?)
    }
}
