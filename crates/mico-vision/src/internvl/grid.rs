//! The choice of the tile grid an image is cut into (dynamic resolution).

use crate::param::ParamError;
use crate::pixels::Size;
use crate::preprocessor_config::TileCount;

/// The largest number of tiles accepted as a limit.
pub const MAX_TILES: u32 = 128;

/// The range of the number of tiles of an image, thumbnail not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileLimits {
    /// The smallest number of tiles, at least 1.
    pub min: u32,
    /// The largest number of tiles.
    pub max: u32,
}

impl TileLimits {
    /// The processor's defaults when no file states limits.
    pub const PROCESSOR: Self = Self { min: 1, max: 12 };
    /// The limits used in the paper's evaluation.
    pub const PAPER: Self = Self { min: 1, max: 6 };

    /// The limits a file states, with these in place of those it does not state.
    pub fn unless_stated(self, stated: TileCount) -> Self {
        Self { min: stated.min.unwrap_or(self.min), max: stated.max.unwrap_or(self.max) }
    }

    /// Refuses limits that no image can meet, or that exceed [`MAX_TILES`].
    pub(super) fn check(self) -> Result<(), ParamError> {
        if !(1..=MAX_TILES).contains(&self.max) {
            return Err(ParamError::new("max_patches", self.max, format!("1 to {MAX_TILES}")));
        }
        if !(1..=self.max).contains(&self.min) {
            let accepted = format!("1 to max_patches = {}", self.max);
            return Err(ParamError::new("min_patches", self.min, accepted));
        }
        Ok(())
    }

    /// Every grid with an allowed number of tiles, ordered by that number, then by columns.
    fn grids(self) -> impl Iterator<Item = TileGrid> {
        (self.min..=self.max).flat_map(|tiles| {
            let divides = move |columns: &u32| tiles.is_multiple_of(*columns);
            let grid = move |columns| TileGrid { columns, rows: tiles / columns };
            (1..=tiles).filter(divides).map(grid)
        })
    }

    /// The grid whose aspect is nearest to the image's. Between grids equally near, a later one
    /// (with more tiles) is taken only if the image has more than half of its pixels.
    ///
    /// Aspects are compared in f64, as the reference does: whether two are equally near hangs on
    /// its rounding.
    pub(super) fn best(self, image: Size, side: u32) -> TileGrid {
        let aspect = f64::from(image.width) / f64::from(image.height);
        let tile = Size::square(side).area();
        let mut best = (TileGrid { columns: 1, rows: 1 }, f64::INFINITY);
        for grid in self.grids() {
            let distance = (aspect - f64::from(grid.columns) / f64::from(grid.rows)).abs();
            let filled = u128::from(image.area()) * 2 > u128::from(tile) * u128::from(grid.tiles());
            if distance < best.1 || (distance == best.1 && filled) {
                best = (grid, distance);
            }
        }
        best.0
    }
}

/// A grid of tiles, in columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TileGrid {
    pub(super) columns: u32,
    pub(super) rows: u32,
}

impl TileGrid {
    pub(super) fn tiles(self) -> u32 {
        self.columns * self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_come_by_tiles_then_columns() {
        let grids: Vec<(u32, u32)> =
            TileLimits { min: 1, max: 4 }.grids().map(|grid| (grid.columns, grid.rows)).collect();
        assert_eq!(grids, [(1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (1, 4), (2, 2), (4, 1)]);
        let alone: Vec<u32> = TileLimits { min: 7, max: 7 }.grids().map(|grid| grid.rows).collect();
        assert_eq!(alone, [7, 1]);
    }

    #[test]
    fn published_grids_and_ties() {
        let best = |width, height, max| {
            let grid = TileLimits { min: 1, max }.best(Size::new(width, height), 448);
            (grid.columns, grid.rows)
        };
        assert_eq!(best(640, 480, 12), (4, 3));
        assert_eq!(best(640, 480, 6), (3, 2));
        // A square fits 1x1, 2x2 and 3x3 alike: the area decides, and half of it is not enough.
        assert_eq!(best(633, 633, 12), (1, 1));
        assert_eq!(best(634, 634, 12), (2, 2));
        assert_eq!(best(951, 951, 12), (3, 3));
        assert_eq!((best(448, 448, 12), best(448, 448, 1)), ((1, 1), (1, 1)));
        assert_eq!(
            (best(1, 1, 12), best(1, 9000, 12), best(9000, 1, 6)),
            ((1, 1), (1, 12), (6, 1))
        );
    }
}
