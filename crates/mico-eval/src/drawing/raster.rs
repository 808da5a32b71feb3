//! Shapes as pixels: two to a unit, edges blended by how much of a pixel they cover.

use std::io::Cursor;

use font8x8::UnicodeFonts as _;
use image::{ImageFormat, Rgb, RgbImage};

use super::{Anchor, Colour, Drawing, Font, Place, Shape, Stroke, text_width};

/// Pixels to a unit.
const SCALE: f64 = 2.0;
/// Cells along a side of a character.
const CELLS: usize = 8;
/// The row of cells that ends above the base line.
const BASE: f64 = 7.0;
/// Font sizes that make a cell one pixel smaller or larger.
const CELL_SIZE: f64 = 12.0 / SCALE;
/// Dashes and gaps, in units.
const DASH: f64 = 6.0;
const GAP: f64 = 4.0;
/// What stands for a character the font does not have.
const UNKNOWN: char = '?';

/// Why a picture could not be encoded.
#[derive(Debug, thiserror::Error)]
#[error("the picture cannot be encoded: {0}")]
pub struct PngError(#[from] image::ImageError);

impl Drawing {
    /// The picture as a PNG file.
    pub fn png(&self) -> Result<Vec<u8>, PngError> {
        let mut bytes = Cursor::new(Vec::new());
        self.pixels().write_to(&mut bytes, ImageFormat::Png)?;
        Ok(bytes.into_inner())
    }

    fn pixels(&self) -> RgbImage {
        let side = |units: u32| (f64::from(units) * SCALE) as u32;
        let mut canvas =
            Canvas(RgbImage::from_pixel(side(self.width), side(self.height), Rgb([u8::MAX; 3])));
        for shape in &self.shapes {
            match shape {
                Shape::Line { points, stroke } => canvas.line(points, stroke),
                Shape::Area { points, fill, opacity } => canvas.area(points, *fill, *opacity),
                Shape::Disc { centre, radius, fill } => {
                    canvas.stroke(*centre, *centre, radius * 2.0, *fill);
                }
                Shape::Text { at, text, font } => canvas.text(*at, text, font),
            }
        }
        canvas.0
    }
}

/// Pixels under way. Places and lengths are given in units.
struct Canvas(RgbImage);

impl Canvas {
    /// Lays a colour over a pixel.
    fn blend(&mut self, x: u32, y: u32, colour: Colour, cover: f64) {
        let Some(pixel) = self.0.get_pixel_mut_checked(x, y) else { return };
        let cover = cover.clamp(0.0, 1.0);
        for (old, new) in pixel.0.iter_mut().zip([colour.0, colour.1, colour.2]) {
            let mixed = f64::from(*old) * (1.0 - cover) + f64::from(new) * cover;
            *old = mixed.round() as u8;
        }
    }

    /// Goes over the pixels of a box, in pixels, and lays the colour over each as far as `cover` says.
    fn fill(&mut self, (from, to): (Place, Place), colour: Colour, cover: impl Fn(Place) -> f64) {
        let clip = |value: f64, most: u32| value.clamp(0.0, f64::from(most)) as u32;
        let (width, height) = self.0.dimensions();
        for y in clip(from.1.floor(), height)..clip(to.1.ceil(), height) {
            for x in clip(from.0.floor(), width)..clip(to.0.ceil(), width) {
                let share = cover((f64::from(x) + 0.5, f64::from(y) + 0.5));
                if share > 0.0 {
                    self.blend(x, y, colour, share);
                }
            }
        }
    }

    fn line(&mut self, points: &[Place], stroke: &Stroke) {
        let mut travelled = 0.0;
        for pair in points.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            if !stroke.dashed {
                self.stroke(from, to, stroke.width, stroke.colour);
            } else if length > 0.0 {
                let at = |way: f64| {
                    let share = way / length;
                    (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share)
                };
                // Dashes go on around corners.
                let mut start = -(travelled % (DASH + GAP));
                while start < length {
                    let end = (start + DASH).min(length);
                    if end > 0.0 {
                        self.stroke(at(start.max(0.0)), at(end), stroke.width, stroke.colour);
                    }
                    start += DASH + GAP;
                }
            }
            travelled += length;
        }
    }

    /// A piece of a line with round ends: all that is nearer to it than half its width.
    fn stroke(&mut self, from: Place, to: Place, width: f64, colour: Colour) {
        let pixels = |place: Place| (place.0 * SCALE, place.1 * SCALE);
        let (from, to, half) = (pixels(from), pixels(to), width * SCALE / 2.0);
        let (along, reach) = ((to.0 - from.0, to.1 - from.1), half + 1.0);
        let square = along.0 * along.0 + along.1 * along.1;
        let least = (from.0.min(to.0) - reach, from.1.min(to.1) - reach);
        let most = (from.0.max(to.0) + reach, from.1.max(to.1) + reach);
        self.fill((least, most), colour, |(x, y)| {
            let (dx, dy) = (x - from.0, y - from.1);
            let way = if square > 0.0 { (dx * along.0 + dy * along.1) / square } else { 0.0 };
            let way = way.clamp(0.0, 1.0);
            half + 0.5 - (dx - way * along.0).hypot(dy - way * along.1)
        });
    }

    fn area(&mut self, points: &[Place], fill: Colour, opacity: f64) {
        let corners: Vec<Place> = points.iter().map(|(x, y)| (x * SCALE, y * SCALE)).collect();
        let bound = |of: fn(&Place) -> f64, pick: fn(f64, f64) -> f64, start: f64| {
            corners.iter().map(of).fold(start, pick)
        };
        let least = (bound(|c| c.0, f64::min, f64::MAX), bound(|c| c.1, f64::min, f64::MAX));
        let most = (bound(|c| c.0, f64::max, 0.0), bound(|c| c.1, f64::max, 0.0));
        self.fill((least, most), fill, |(x, y)| {
            // Four places in each pixel.
            let places = [(-0.25, -0.25), (0.25, -0.25), (-0.25, 0.25), (0.25, 0.25)];
            let inside = places.iter().filter(|(dx, dy)| inside(&corners, (x + dx, y + dy)));
            inside.count() as f64 / places.len() as f64 * opacity
        });
    }

    /// Characters of eight by eight square cells.
    fn text(&mut self, at: Place, text: &str, font: &Font) {
        let cell = (font.size / CELL_SIZE).round().max(1.0);
        let shift = match font.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => text_width(text, font.size) / 2.0,
            Anchor::End => text_width(text, font.size),
        };
        let top = (at.1 * SCALE - BASE * cell).round();
        let mut left = ((at.0 - shift) * SCALE).round();
        for character in text.chars() {
            let rows = font8x8::BASIC_FONTS.get(character);
            let rows = rows.or_else(|| font8x8::BASIC_FONTS.get(UNKNOWN)).unwrap_or_default();
            for (row, bits) in rows.iter().enumerate() {
                for column in (0..CELLS).filter(|column| bits >> column & 1 == 1) {
                    let from = (left + column as f64 * cell, top + row as f64 * cell);
                    self.fill((from, (from.0 + cell, from.1 + cell)), font.colour, |_| 1.0);
                }
            }
            left += CELLS as f64 * cell;
        }
    }
}

/// Whether a place is inside a closed line: a ray from it crosses the line an odd number of times.
fn inside(corners: &[Place], (x, y): Place) -> bool {
    let sides = corners.iter().zip(corners.iter().cycle().skip(1));
    let crossed = sides
        .filter(|(a, b)| (a.1 > y) != (b.1 > y) && x < (b.0 - a.0) * (y - a.1) / (b.1 - a.1) + a.0);
    crossed.count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_cover_what_they_should() {
        let mut drawing = Drawing::new(20, 20);
        let square = [(2.0, 2.0), (6.0, 2.0), (6.0, 6.0), (2.0, 6.0)];
        drawing.area(square, Colour(255, 0, 0), 1.0);
        drawing.disc((14.0, 14.0), 3.0, Colour(0, 0, 255));
        drawing.line([(0.0, 10.0), (20.0, 10.0)], Stroke::solid(Colour(0, 255, 0), 1.0));
        let pixels = drawing.pixels();
        assert_eq!(pixels.dimensions(), (40, 40));
        assert_eq!(pixels.get_pixel(8, 8).0, [255, 0, 0]);
        assert_eq!(pixels.get_pixel(1, 1).0, [255; 3]);
        assert_eq!(pixels.get_pixel(28, 28).0, [0, 0, 255]);
        assert_eq!(pixels.get_pixel(5, 20).0, [0, 255, 0]);
        assert_eq!(pixels.get_pixel(5, 25).0, [255; 3]);
    }

    #[test]
    fn text_ends_where_it_is_anchored() {
        let mut drawing = Drawing::new(60, 20);
        let font = Font { size: 12.0, colour: Colour(0, 0, 0), anchor: Anchor::End };
        drawing.text((50.0, 15.0), "HH", font);
        let pixels = drawing.pixels();
        let inked = pixels.enumerate_pixels().filter(|(_, _, p)| p.0 == [0; 3]);
        let columns: Vec<u32> = inked.map(|(x, _, _)| x).collect();
        assert!(!columns.is_empty());
        assert!(columns.iter().all(|x| (68..100).contains(x)), "{columns:?}");
    }
}
