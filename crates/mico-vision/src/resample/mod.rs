//! Antialiased bicubic resampling (a = -0.5) of 8-bit RGB images, bit-exact to a named reference.
//!
//! Two separable passes, horizontal first, each rounding to 8 bits, with integer weights: the image
//! is the sum of `weight * pixel`, half a unit added, shifted down and clamped. An axis whose size
//! does not change has the single weight 1 and passes its pixels through unaltered.
//!
//! The image may lie on a larger one-coloured [`Canvas`], which is never built: pixels outside the
//! image contribute their colour times the sum of their weights, and in integers that is exact. In
//! the same way only the asked-for window of the result is computed, so the centre of a 1 x 4000
//! image blown up to 336 x 1,344,000 costs no more than the 336 x 336 pixels that are wanted.

mod weights;

use std::ops::Range;

use rayon::prelude::*;

use crate::pixels::{CHANNELS, RgbImage, Size};
use weights::{Axis, AxisPlan};

/// Which library's resampling to reproduce bit by bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResizeBackend {
    /// Pillow up to version 11: weights with 22 fractional bits.
    #[default]
    Pillow,
    /// torch's antialiased bicubic on 8-bit tensors, which the torchvision-based processors of
    /// Hugging Face call: the same passes with 16-bit weights, as many fractional bits as the axis
    /// allows.
    Torch,
}

/// A single-coloured background with the image on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Canvas {
    /// Size of the whole background, in pixels.
    pub size: Size,
    /// Column of the image's left border on the background.
    pub left: u32,
    /// Row of the image's top border on the background.
    pub top: u32,
    /// Colour of the background, in RGB.
    pub fill: [u8; 3],
}

impl Canvas {
    /// The image without margins: a background of its own size.
    pub const fn bare(size: Size) -> Self {
        Self { size, left: 0, top: 0, fill: [0; 3] }
    }

    /// The smallest square that holds the image, centred (the odd pixel goes to the right or
    /// bottom).
    pub const fn square(size: Size, fill: [u8; 3]) -> Self {
        let side = if size.width > size.height { size.width } else { size.height };
        let (left, top) = ((side - size.width) / 2, (side - size.height) / 2);
        Self { size: Size::square(side), left, top, fill }
    }
}

/// The part of a resized canvas that is computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Columns of the resized canvas, end exclusive.
    pub columns: Range<u32>,
    /// Rows of the resized canvas, end exclusive.
    pub rows: Range<u32>,
}

impl Window {
    /// The whole of a resized canvas of this size.
    pub const fn all(size: Size) -> Self {
        Self { columns: 0..size.width, rows: 0..size.height }
    }
}

/// Resizes a whole image; a target side of 0 is taken as 1.
///
/// ```
/// use mico_vision::{RgbImage, Size, resample::{ResizeBackend, resize}};
///
/// let image = RgbImage::filled(Size::new(5, 7), [1, 2, 3]);
/// let large = resize(&image, Size::new(50, 3), ResizeBackend::Pillow);
/// assert_eq!(large, RgbImage::filled(Size::new(50, 3), [1, 2, 3]));
/// ```
pub fn resize(image: &RgbImage, target: Size, backend: ResizeBackend) -> RgbImage {
    let target = target.non_empty();
    if target == image.size() {
        return image.clone();
    }
    resize_window(image, &Canvas::bare(image.size()), target, &Window::all(target), backend)
}

/// The `window` of the `canvas` with `image` on it, resized to `target`. A window that leaves the
/// target, or is empty, is clipped to at least one pixel inside it.
pub fn resize_window(
    image: &RgbImage,
    canvas: &Canvas,
    target: Size,
    window: &Window,
    backend: ResizeBackend,
) -> RgbImage {
    let columns = inside(&window.columns, target.width);
    let rows = inside(&window.rows, target.height);
    let out = Size::new(columns.end - columns.start, rows.end - rows.start);
    let Size { width, height } = image.size();
    let across = AxisPlan {
        length: canvas.size.width,
        margin: canvas.left,
        image: width,
        target: target.width,
        window: columns,
    };
    let down = AxisPlan {
        length: canvas.size.height,
        margin: canvas.top,
        image: height,
        target: target.height,
        window: rows,
    };
    let (across, down) = (Axis::new(&across, backend), Axis::new(&down, backend));

    let needed = down.reach();
    let middle = horizontal(image, &across, canvas.fill, needed.clone());
    let margin = margin_row(&across, canvas.fill);
    let data = vertical(&middle, &down, &margin, needed.start);
    RgbImage::new(out, data).unwrap_or_else(|_| RgbImage::filled(out, canvas.fill))
}

fn inside(window: &Range<u32>, target: u32) -> Range<u32> {
    let start = window.start.min(target.max(1) - 1);
    start..window.end.clamp(start + 1, target.max(start + 1))
}

/// The horizontal pass over the image rows in `needed`.
fn horizontal(image: &RgbImage, axis: &Axis, fill: [u8; 3], needed: Range<usize>) -> Vec<u8> {
    let mut out = vec![0; needed.len() * axis.len() * CHANNELS];
    let rounding = axis.rounding();
    out.par_chunks_exact_mut(axis.len() * CHANNELS).enumerate().for_each(|(y, target)| {
        let row = image.row(needed.start + y);
        for (pixel, taps) in target.chunks_exact_mut(CHANNELS).zip(axis.taps()) {
            let mut sums = fill.map(|color| rounding + taps.outside * i32::from(color));
            let source = row[taps.start * CHANNELS..].chunks_exact(CHANNELS);
            for (from, &weight) in source.zip(taps.weights) {
                sums[0] += weight * i32::from(from[0]);
                sums[1] += weight * i32::from(from[1]);
                sums[2] += weight * i32::from(from[2]);
            }
            pixel.copy_from_slice(&sums.map(|sum| axis.to_u8(sum)));
        }
    });
    out
}

/// The horizontal pass over a row that holds only background.
fn margin_row(axis: &Axis, fill: [u8; 3]) -> Vec<u8> {
    let total = |taps: weights::Taps<'_>| taps.outside + taps.weights.iter().sum::<i32>();
    axis.taps()
        .flat_map(|taps| {
            let weight = total(taps);
            fill.map(|color| axis.to_u8(axis.rounding() + weight * i32::from(color)))
        })
        .collect()
}

/// The vertical pass; `rows` holds the intermediate rows from image row `first` on.
fn vertical(rows: &[u8], axis: &Axis, margin: &[u8], first: usize) -> Vec<u8> {
    let stride = margin.len();
    let mut out = vec![0; axis.len() * stride];
    out.par_chunks_exact_mut(stride).enumerate().for_each(|(y, target)| {
        let taps = axis.tap(y);
        let mut sums: Vec<i32> =
            margin.iter().map(|&color| axis.rounding() + taps.outside * i32::from(color)).collect();
        for (row, &weight) in taps.weights.iter().enumerate() {
            let at = (taps.start + row - first) * stride;
            for (sum, &from) in sums.iter_mut().zip(&rows[at..at + stride]) {
                *sum += weight * i32::from(from);
            }
        }
        for (to, sum) in target.iter_mut().zip(sums) {
            *to = axis.to_u8(sum);
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(size: Size) -> RgbImage {
        let mut state = 12_345_u32;
        let data = (0..size.area() * 3)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state.to_be_bytes()[0]
            })
            .collect();
        RgbImage::new(size, data).unwrap()
    }

    #[test]
    fn a_canvas_equals_the_padded_image() {
        for (size, target) in [((31, 12), (20, 20)), ((5, 40), (64, 9)), ((7, 7), (7, 7))] {
            let image = noise(Size::new(size.0, size.1));
            let target = Size::new(target.0, target.1);
            let canvas = Canvas::square(image.size(), [122, 116, 104]);
            let mut padded = RgbImage::filled(canvas.size, canvas.fill);
            padded.paste(&image, canvas.left as usize, canvas.top as usize);
            for backend in [ResizeBackend::Pillow, ResizeBackend::Torch] {
                let direct = resize_window(&image, &canvas, target, &Window::all(target), backend);
                assert!(direct == resize(&padded, target, backend), "{size:?} {backend:?}");
            }
        }
    }

    #[test]
    fn a_window_equals_the_cut_result() {
        let image = noise(Size::new(23, 17));
        let target = Size::new(60, 11);
        for backend in [ResizeBackend::Pillow, ResizeBackend::Torch] {
            let whole = resize(&image, target, backend);
            let window = Window { columns: 13..41, rows: 4..9 };
            let part = resize_window(&image, &Canvas::bare(image.size()), target, &window, backend);
            for y in 0..part.height() {
                assert_eq!(part.row(y), &whole.row(y + 4)[13 * 3..41 * 3]);
            }
        }
    }
}
