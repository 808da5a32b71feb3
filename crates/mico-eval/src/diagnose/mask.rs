//! Covering part of a picture: cells of a box, or as many cells of its surroundings.

use mico_util::SplitMix64;
use mico_vision::{RgbImage, Size};

use super::source::PixelBox;

/// Cells along a side of a box, if it has as many pixels.
const CELLS: i64 = 8;

/// A rectangle of whole pixels; right and bottom are exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    x0: usize,
    y0: usize,
    x1: usize,
    y1: usize,
}

/// The cells that can be covered for one object.
#[derive(Debug, Clone)]
pub(super) struct Cells {
    /// Those of its box.
    pub(super) target: Vec<Cell>,
    /// Those around it, of the same size: the same raster carried on over the picture, as far as
    /// whole cells fit.
    pub(super) context: Vec<Cell>,
}

impl Cells {
    /// Cuts a box that lies in the picture, and the picture around it.
    pub(super) fn new(place: &PixelBox, size: Size) -> Self {
        let x = Raster::new(place.x0, place.x1, size.width);
        let y = Raster::new(place.y0, place.y1, size.height);
        let (mut target, mut context) = (Vec::new(), Vec::new());
        for (own_y, y0, y1) in y.spans() {
            for (own_x, x0, x1) in x.spans() {
                let cell = Cell { x0, y0, x1, y1 };
                if own_x && own_y { &mut target } else { &mut context }.push(cell);
            }
        }
        Self { target, context }
    }

    /// How many cells a strength (in percent) covers.
    pub(super) fn count(&self, percent: usize) -> usize {
        (self.target.len() * percent).div_ceil(100)
    }
}

/// One axis of a raster: `cells` cells from `from` to `to`, carried on both ways.
struct Raster {
    from: i64,
    to: i64,
    cells: i64,
    length: i64,
}

impl Raster {
    fn new(low: f64, high: f64, length: u32) -> Self {
        let length = i64::from(length.max(1));
        let from = (low.floor() as i64).clamp(0, length - 1);
        let to = (high.ceil() as i64).clamp(from + 1, length);
        Self { from, to, cells: CELLS.min(to - from), length }
    }

    /// Whether each span is inside the box, and its ends; only whole spans of the picture.
    fn spans(&self) -> Vec<(bool, usize, usize)> {
        let Self { from: start, to, cells, length } = *self;
        // Borders are where the box's own would be, rounded down, so that spans differ by a pixel.
        let border = |index: i64| start + (index * (to - start)).div_euclid(cells);
        let first = -(start * cells / (to - start)) - 1;
        let last = (length - start) * cells / (to - start) + 1;
        let spans = (first..=last).filter_map(|index| {
            let (from, to) = (border(index), border(index + 1));
            let inside = from >= 0 && to <= length && from < to;
            inside.then_some(((0..cells).contains(&index), from as usize, to as usize))
        });
        spans.collect()
    }
}

/// `count` of the cells, drawn at random; all of them if there are no more.
pub(super) fn draw(cells: &[Cell], count: usize, rng: &mut SplitMix64) -> Vec<Cell> {
    let mut cells = cells.to_vec();
    let count = count.min(cells.len());
    for at in 0..count {
        let other = at + rng.below(cells.len() - at);
        cells.swap(at, other);
    }
    cells.truncate(count);
    cells
}

/// The picture with cells in its mean colour.
pub(super) fn cover(image: &RgbImage, cells: &[Cell]) -> RgbImage {
    let color = mean_color(image);
    let (mut covered, width) = (image.clone(), image.width());
    for cell in cells {
        for y in cell.y0..cell.y1 {
            for x in cell.x0..cell.x1 {
                let at = (y * width + x) * 3;
                covered.data_mut()[at..at + 3].copy_from_slice(&color);
            }
        }
    }
    covered
}

fn mean_color(image: &RgbImage) -> [u8; 3] {
    let mut sums = [0_u64; 3];
    for pixel in image.data().chunks_exact(3) {
        sums.iter_mut().zip(pixel).for_each(|(sum, &value)| *sum += u64::from(value));
    }
    let pixels = (image.data().len() as u64 / 3).max(1);
    sums.map(|sum| ((sum + pixels / 2) / pixels) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(cells: &[Cell]) -> usize {
        cells.iter().map(|cell| (cell.x1 - cell.x0) * (cell.y1 - cell.y0)).sum()
    }

    #[test]
    fn a_box_is_tiled_and_its_surroundings_too() {
        let place = PixelBox::new([30.0, 20.0, 40.0, 16.0]).unwrap();
        let cells = Cells::new(&place, Size::new(100, 100));
        assert_eq!((cells.target.len(), area(&cells.target)), (64, 40 * 16));
        let apart = |cell: &Cell| cell.x1 <= 30 || cell.x0 >= 70 || cell.y1 <= 20 || cell.y0 >= 36;
        assert!(cells.context.iter().all(apart) && cells.context.len() > 64);
        assert_eq!(area(&cells.context), 100 * 100 - 40 * 16);
        assert_eq!((cells.count(25), cells.count(100)), (16, 64));
        let mut rng = SplitMix64::keyed(&[1]);
        let some = draw(&cells.context, 16, &mut rng);
        assert_eq!(area(&some), 16 * 10);
        assert!((0..16).all(|at| !some[..at].contains(&some[at])), "no cell twice");
    }

    #[test]
    fn odd_boxes_are_cut_all_the_same() {
        let size = Size::new(50, 30);
        for numbers in [[0.0, 0.0, 50.0, 30.0], [49.2, 29.7, 0.5, 0.1], [3.3, 0.0, 9.9, 3.2]] {
            let place = PixelBox::new(numbers).unwrap().clipped(size).unwrap();
            let cells = Cells::new(&place, size);
            assert!(!cells.target.is_empty(), "{numbers:?}");
            assert!(area(&cells.target) + area(&cells.context) <= 1500);
            for cell in cells.target.iter().chain(&cells.context) {
                assert!(cell.x1 <= 50 && cell.y1 <= 30 && cell.x0 < cell.x1 && cell.y0 < cell.y1);
            }
        }
        let whole = PixelBox::new([0.0, 0.0, 50.0, 30.0]).unwrap();
        assert!(Cells::new(&whole, size).context.is_empty());
    }

    #[test]
    fn covered_cells_have_the_mean_color() {
        let data = vec![0, 0, 0, 90, 30, 60, 0, 0, 0, 0, 0, 0];
        let image = RgbImage::new(Size::new(2, 2), data).unwrap();
        let covered = cover(&image, &[Cell { x0: 0, y0: 0, x1: 1, y1: 2 }]);
        assert_eq!(covered.data(), [23, 8, 15, 90, 30, 60, 23, 8, 15, 0, 0, 0]);
    }
}
