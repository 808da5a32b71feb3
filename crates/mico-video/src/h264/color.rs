//! Converts YUV 4:2:0 to RGB with libswscale's arithmetic.
//!
//! A colour is a weighted sum of the three components. libswscale (its x86 code, with which the
//! frames of published results were made) rounds every weight to 13 bits and every *product* down,
//! so that colours are about one level darker than with rounding of the sum. It repeats each chroma
//! value over the four pixels that share it. The same is done here, so frames equal FFmpeg's byte
//! for byte.

use mico_vision::{RgbImage, Size, SizeError};

/// The colour encoding of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Color {
    /// Whether components run from 0 to 255 (full range) instead of 16 to 235 (240 for chroma).
    pub(super) full_range: bool,
    /// The H.264 standard's code for the colour matrix (`matrix_coefficients`).
    pub(super) matrix: u32,
}

impl Default for Color {
    fn default() -> Self {
        Self { full_range: false, matrix: Self::UNSPECIFIED }
    }
}

/// The Y, U and V planes of a picture; chroma has half the width and height.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planes<'a> {
    pub(super) y: &'a [u8],
    pub(super) u: &'a [u8],
    pub(super) v: &'a [u8],
    /// The number of bytes from one row of Y to the next.
    pub(super) luma_stride: usize,
    /// The number of bytes from one row of U or V to the next.
    pub(super) chroma_stride: usize,
}

/// The number of pixels cropped on the left and at the top, both even.
pub(super) type Corner = (usize, usize);

impl Planes<'_> {
    /// A row of `width` pixels in each plane, starting at (x, y); `None` if a plane is too short.
    fn row(&self, (x, y): Corner, width: usize) -> Option<[&[u8]; 3]> {
        let half = width.div_ceil(2);
        let chroma = y / 2 * self.chroma_stride + x / 2;
        Some([
            self.y.get(y * self.luma_stride + x..)?.get(..width)?,
            self.u.get(chroma..)?.get(..half)?,
            self.v.get(chroma..)?.get(..half)?,
        ])
    }
}

/// Conversion weights as fixed-point numbers with 13 fractional bits.
#[derive(Debug, PartialEq, Eq)]
struct Weights {
    luma: i32,
    luma_zero: i32,
    red_v: i32,
    green_u: i32,
    green_v: i32,
    blue_u: i32,
}

impl Color {
    /// The standard's code for a matrix that is not specified.
    pub(super) const UNSPECIFIED: u32 = 2;

    /// The weights of red and blue in luma. If the stream does not specify a matrix, BT.601 is used
    /// for any picture size, as in libswscale.
    fn luma_shares(self) -> (f64, f64) {
        match self.matrix {
            1 => (0.2126, 0.0722),
            4 => (0.30, 0.11),
            7 => (0.212, 0.087),
            9 | 10 => (0.2627, 0.0593),
            _ => (0.299, 0.114),
        }
    }

    fn weights(self) -> Weights {
        /// Weights are first computed with 16 fractional bits, for limited range.
        const POINT: f64 = 65536.0;
        let (red, blue) = self.luma_shares();
        let green = 1.0 - red - blue;
        let weight = |number: f64| {
            let fixed = (number * 255.0 / 224.0 * POINT).round() as i32;
            // Full range undoes the stretching, rounding down.
            if self.full_range { fixed * 224 / 255 } else { fixed }
        };
        let shorten = |fixed: i32| (fixed + 4) >> 3;
        let luma = if self.full_range { 65536 } else { 65536 * 255 / 219 };
        Weights {
            luma: shorten(luma),
            luma_zero: if self.full_range { 0 } else { 16 },
            red_v: shorten(weight(2.0 * (1.0 - red))),
            green_u: shorten(-weight(2.0 * (1.0 - blue) * blue / green)),
            green_v: shorten(-weight(2.0 * (1.0 - red) * red / green)),
            blue_u: shorten(weight(2.0 * (1.0 - blue))),
        }
    }
}

/// Converts the picture from `corner` on to RGB; `None` if the planes are too small for `size`.
pub(super) fn to_rgb(
    planes: &Planes<'_>,
    corner: Corner,
    size: Size,
    color: Color,
) -> Option<Result<RgbImage, SizeError>> {
    let weights = color.weights();
    let width = size.width as usize;
    let mut data = Vec::with_capacity(width * size.height as usize * 3);
    for y in 0..size.height as usize {
        let [luma, u, v] = planes.row((corner.0, corner.1 + y), width)?;
        for (two, (&u, &v)) in luma.chunks(2).zip(u.iter().zip(v)) {
            let (u, v) = (i32::from(u) - 128, i32::from(v) - 128);
            let red = (v * weights.red_v) >> 13;
            let green = ((u * weights.green_u) >> 13) + ((v * weights.green_v) >> 13);
            let blue = (u * weights.blue_u) >> 13;
            for &luma in two {
                let gray = ((i32::from(luma) - weights.luma_zero) * weights.luma) >> 13;
                data.extend([red, green, blue].map(|part| (gray + part).clamp(0, 255) as u8));
            }
        }
    }
    Some(RgbImage::new(size, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(yuv: [u8; 3], color: Color) -> [u8; 3] {
        let [y, u, v] = yuv;
        let planes = Planes { y: &[y; 4], u: &[u], v: &[v], luma_stride: 2, chroma_stride: 1 };
        to_rgb(&planes, (0, 0), Size::new(2, 2), color).unwrap().unwrap().pixel(1, 1).unwrap()
    }

    #[test]
    fn black_gray_and_white() {
        let limited = Color::default();
        assert_eq!(one([16, 128, 128], limited), [0; 3]);
        assert_eq!(one([235, 128, 128], limited), [255; 3]);
        assert_eq!(one([0, 128, 128], limited), [0; 3]);
        let full = Color { full_range: true, ..limited };
        for level in [0, 1, 77, 254, 255] {
            assert_eq!(one([level, 128, 128], full), [level; 3]);
        }
    }

    #[test]
    fn weights_are_those_of_the_standards() {
        let sum = |color: Color| {
            let Weights { luma, red_v, green_u, green_v, blue_u, .. } = color.weights();
            [luma, red_v, green_u, green_v, blue_u]
        };
        assert_eq!(sum(Color::default()), [9539, 13075, -3209, -6660, 16525]);
        let hd = Color { matrix: 1, ..Color::default() };
        assert_eq!(sum(hd), [9539, 14686, -1747, -4366, 17305]);
        let full = Color { full_range: true, ..Color::default() };
        assert_eq!(sum(full), [8192, 11485, -2819, -5850, 14516]);
    }

    #[test]
    fn planes_that_are_too_small_are_noticed() {
        let planes = Planes { y: &[0; 4], u: &[0], v: &[], luma_stride: 2, chroma_stride: 1 };
        assert!(to_rgb(&planes, (0, 0), Size::new(2, 2), Color::default()).is_none());
    }
}
