//! The rotation and mirroring of a track for display.

use mico_vision::{RgbImage, Size};

use super::boxes::Fields;
use crate::error::Problem;

/// One of the eight orientations, derived from the signs in the track's display matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Orientation {
    /// Whether rows and columns are exchanged (rotation by 90 or 270 degrees).
    swapped: bool,
    /// Whether the picture's x axis is reversed on display.
    flip_x: bool,
    /// Whether the picture's y axis is reversed on display.
    flip_y: bool,
}

impl Orientation {
    pub(super) const UPRIGHT: Self = Self { swapped: false, flip_x: false, flip_y: false };

    /// Reads the nine numbers of the display matrix (a b u, c d v, x y w), which shows the point
    /// (x, y) of the picture at (a x + c y, b x + d y).
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, Problem> {
        let [a, b, _, c, d, _, _, _, _] = {
            let mut matrix = [0; 9];
            for number in &mut matrix {
                *number = fields.i32()?;
            }
            matrix
        };
        match (a, b, c, d) {
            (0, 0, 0, 0) => Ok(Self::UPRIGHT),
            (a, 0, 0, d) if a != 0 && d != 0 => {
                Ok(Self { swapped: false, flip_x: a < 0, flip_y: d < 0 })
            }
            (0, b, c, 0) if b != 0 && c != 0 => {
                Ok(Self { swapped: true, flip_x: b < 0, flip_y: c < 0 })
            }
            _ => Err(Problem::Unsupported {
                what: "a track turned by an odd angle is".into(),
                accepted: "quarter turns and mirroring are",
            }),
        }
    }

    /// The picture rotated and mirrored for display.
    pub(super) fn apply(self, image: RgbImage) -> RgbImage {
        if self == Self::UPRIGHT {
            return image;
        }
        let Size { width, height } = image.size();
        let size = if self.swapped { Size::new(height, width) } else { Size::new(width, height) };
        let (last_x, last_y) = (width as usize - 1, height as usize - 1);
        let mut shown = RgbImage::filled(size, [0; 3]);
        let row_bytes = shown.width() * 3;
        for (y, row) in shown.data_mut().chunks_exact_mut(row_bytes).enumerate() {
            for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
                let (from_x, from_y) = if self.swapped { (y, x) } else { (x, y) };
                let from_x = if self.flip_x { last_x - from_x } else { from_x };
                let from_y = if self.flip_y { last_y - from_y } else { from_y };
                pixel.copy_from_slice(&image.row(from_y)[from_x * 3..][..3]);
            }
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first channel of a 3 x 2 picture with values 0 to 5, turned.
    fn turned(matrix: [i32; 4]) -> Vec<Vec<u8>> {
        let [a, b, c, d] = matrix.map(|number| number << 16);
        let bytes: Vec<u8> =
            [a, b, 0, c, d, 0, 0, 0, 1 << 30].iter().flat_map(|n| n.to_be_bytes()).collect();
        let orientation = Orientation::read(&mut Fields::new(*b"tkhd", &bytes)).unwrap();
        let data = (0..6).flat_map(|value| [value; 3]).collect();
        let shown = orientation.apply(RgbImage::new(Size::new(3, 2), data).unwrap());
        (0..shown.height()).map(|y| shown.row(y).iter().copied().step_by(3).collect()).collect()
    }

    #[test]
    fn quarter_turns_and_mirrors() {
        assert_eq!(turned([1, 0, 0, 1]), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(turned([0, 1, -1, 0]), [[3, 0], [4, 1], [5, 2]]);
        assert_eq!(turned([-1, 0, 0, -1]), [[5, 4, 3], [2, 1, 0]]);
        assert_eq!(turned([0, -1, 1, 0]), [[2, 5], [1, 4], [0, 3]]);
        assert_eq!(turned([-1, 0, 0, 1]), [[2, 1, 0], [5, 4, 3]]);
        assert_eq!(turned([1, 0, 0, -1]), [[3, 4, 5], [0, 1, 2]]);
        assert_eq!(turned([0, 1, 1, 0]), [[0, 3], [1, 4], [2, 5]]);
    }

    #[test]
    fn an_odd_angle_is_refused() {
        let bytes = [1u8; 36];
        let error = Orientation::read(&mut Fields::new(*b"tkhd", &bytes)).unwrap_err();
        assert!(error.to_string().contains("odd angle"), "{error}");
    }
}
