//! Renders a scene to pixels.

use crate::glyph::{self, CELLS};
use crate::scene::{Object, SIDE, Scene};
use mico_util::SplitMix64;

/// The number of cells per side of the coarse noise in the background texture.
const NOISE: usize = 12;
/// The amplitudes of the coarse and the fine noise, in colour levels of 0 to 255.
const COARSE: f32 = 26.0;
const FINE: f32 = 5.0;
/// Pixels per cell of a character, and the radius in pixels of the plate behind it: small print
/// that covers one to four of the 24 x 24 patches.
const CELL: f32 = 1.95;
const PLATE: f32 = 10.25;

/// An RGB picture of [`SIDE`] x [`SIDE`] pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The pixels in rows from the top, three bytes (red, green, blue) each.
    pub pixels: Vec<u8>,
}

impl Picture {
    /// Encodes the picture as a PNG file.
    pub fn to_png(&self) -> Result<Vec<u8>, image::ImageError> {
        use image::ImageEncoder as _;
        let mut file = Vec::new();
        let side = SIDE as u32;
        image::codecs::png::PngEncoder::new(&mut file).write_image(
            &self.pixels,
            side,
            side,
            image::ExtendedColorType::Rgb8,
        )?;
        Ok(file)
    }
}

impl Scene {
    /// Renders the background and then the objects in order.
    pub fn render(&self) -> Picture {
        let mut canvas = background(self.base, self.texture);
        for object in &self.objects {
            paint(&mut canvas, object);
        }
        let pixels = canvas.iter().flatten().map(|c| c.round().clamp(0.0, 255.0) as u8).collect();
        Picture { pixels }
    }
}

/// The background: the base colour with smooth coarse noise and fine grain.
fn background(base: [f32; 3], texture: u64) -> Vec<[f32; 3]> {
    let mut rng = SplitMix64::keyed(&[texture]);
    let knots: Vec<[f32; 3]> = (0..(NOISE + 1) * (NOISE + 1))
        .map(|_| [0; 3].map(|_| rng.between(-COARSE, COARSE)))
        .collect();
    let axis: Vec<(usize, f32)> = (0..SIDE)
        .map(|pixel| {
            let at = pixel as f32 * NOISE as f32 / SIDE as f32;
            let share = at.fract();
            (at as usize, share * share * (3.0 - 2.0 * share))
        })
        .collect();
    let mut canvas = Vec::with_capacity(SIDE * SIDE);
    for &(row, v) in &axis {
        for &(column, u) in &axis {
            let knot = |r: usize, c: usize| knots[(row + r) * (NOISE + 1) + column + c];
            let (a, b, c, d) = (knot(0, 0), knot(0, 1), knot(1, 0), knot(1, 1));
            let grain = rng.between(-FINE, FINE);
            canvas.push([0, 1, 2].map(|i| {
                let (top, bottom) = (a[i] + (b[i] - a[i]) * u, c[i] + (d[i] - c[i]) * u);
                base[i] + top + (bottom - top) * v + grain
            }));
        }
    }
    canvas
}

/// Draws one object and its character with antialiased edges.
fn paint(canvas: &mut [[f32; 3]], object: &Object) {
    let [left, top, right, bottom] = object.bounds();
    let span = |low: f32, high: f32| {
        (low - 2.0).max(0.0) as usize..((high + 3.0).max(0.0) as usize).min(SIDE)
    };
    let dark = object.paint.iter().sum::<f32>() > 3.0 * 190.0;
    let (plate, ink) = if dark { ([45.0; 3], [250.0; 3]) } else { ([250.0; 3], [15.0; 3]) };
    for row in span(top, bottom) {
        for column in span(left, right) {
            let (x, y) = (column as f32 + 0.5 - object.x, row as f32 + 0.5 - object.y);
            let distance = object.shape.distance(x / object.radius, y / object.radius);
            let pixel = &mut canvas[row * SIDE + column];
            mix(pixel, object.paint, 0.5 - distance * object.radius);
            let Some(character) = object.character else { continue };
            mix(pixel, plate, 0.5 + PLATE - x.hypot(y));
            mix(pixel, ink, inked(character, x, y));
        }
    }
}

/// The share of a pixel, at this offset from the character's centre, that is ink; estimated from
/// four samples.
fn inked(character: char, x: f32, y: f32) -> f32 {
    // The bitmaps' last row and column are empty, so half a cell centres them.
    let cell = |at: f32| at / CELL + CELLS as f32 / 2.0 - 0.5;
    let sample = |dx: f32, dy: f32| glyph::ink(character, cell(x + dx), cell(y + dy));
    let offsets = [(-0.25, -0.25), (0.25, -0.25), (-0.25, 0.25), (0.25, 0.25)];
    offsets.iter().filter(|&&(dx, dy)| sample(dx, dy)).count() as f32 / 4.0
}

/// Blends `color` over a pixel with weight `share`, which is clamped to 0..=1.
fn mix(pixel: &mut [f32; 3], color: [f32; 3], share: f32) {
    let share = share.clamp(0.0, 1.0);
    for (old, new) in pixel.iter_mut().zip(color) {
        *old += (new - *old) * share;
    }
}
