//! Two-dimensional positions: `RoPE` by row and column, and an interpolated table of learned embeddings.

use candle_core::{Device, Tensor};

use super::Grid;
use crate::error::Result;

/// The row and column of a patch in its grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    row: usize,
    column: usize,
}

/// The patches of a grid in the order of their visual tokens: tokens row by row, and the
/// `merge x merge` patches of a token row by row.
pub(super) fn places(grid: Grid, merge: usize) -> impl Iterator<Item = Place> {
    (0..grid.tokens() * merge * merge).map(move |patch| {
        let (token, inner) = (patch / (merge * merge), patch % (merge * merge));
        Place {
            row: token / grid.columns * merge + inner / merge,
            column: token % grid.columns * merge + inner % merge,
        }
    })
}

/// Cosines and sines `[n, head width / 2]`: the first half of the frequencies is rotated by the row,
/// the second by the column; `theta` is the base of their geometric series.
pub(super) fn rotary_tables(
    places: &[Place],
    head_width: usize,
    theta: f64,
    device: &Device,
) -> Result<(Tensor, Tensor)> {
    let quarter = head_width / 4;
    let frequencies: Vec<f32> =
        (0..quarter).map(|i| 1.0 / (theta as f32).powf(i as f32 / quarter as f32)).collect();
    let angles = places.iter().flat_map(|place| {
        let along = |at: usize| frequencies.iter().map(move |frequency| at as f32 * frequency);
        along(place.row).chain(along(place.column))
    });
    let (sin, cos): (Vec<f32>, Vec<f32>) = angles.map(f32::sin_cos).unzip();
    let table = |values| Tensor::from_vec(values, (places.len(), 2 * quarter), device);
    Ok((table(cos)?, table(sin)?))
}

/// One coordinate of an interpolated sample: its two neighbours and the weight of the second.
#[derive(Clone, Copy)]
struct Between {
    low: usize,
    high: usize,
    share: f32,
}

/// `count` samples spread evenly over a table of `side` entries, both ends included.
fn spread(count: usize, side: usize) -> Vec<Between> {
    let step = if count > 1 { (side - 1) as f64 / (count - 1) as f64 } else { 0.0 };
    (0..count)
        .map(|at| {
            let place = at as f64 * step;
            let low = (place.floor() as usize).min(side - 1);
            Between { low, high: (low + 1).min(side - 1), share: (place - low as f64) as f32 }
        })
        .collect()
}

/// The `side x side` position table interpolated bilinearly at the patches of every grid, `[n, d]` in
/// the order of their visual tokens.
pub(super) fn table_at(
    table: &Tensor,
    side: usize,
    grids: &[Grid],
    merge: usize,
) -> Result<Tensor> {
    let mut corners: [(Vec<u32>, Vec<f32>); 4] = Default::default();
    for grid in grids {
        let rows = spread(grid.rows * merge, side);
        let columns = spread(grid.columns * merge, side);
        for place in places(*grid, merge) {
            let (row, column) = (rows[place.row], columns[place.column]);
            let ends = |at: Between| [(at.low, 1.0 - at.share), (at.high, at.share)];
            let pairs = ends(row).into_iter().flat_map(|r| ends(column).map(|c| (r, c)));
            for ((points, weights), (r, c)) in corners.iter_mut().zip(pairs) {
                points.push((r.0 * side + c.0) as u32);
                weights.push(r.1 * c.1);
            }
        }
    }
    let mut sum: Option<Tensor> = None;
    for (points, weights) in corners {
        let count = weights.len();
        let weights =
            Tensor::from_vec(weights, (count, 1), table.device())?.to_dtype(table.dtype())?;
        let part = table
            .index_select(&Tensor::new(points, table.device())?, 0)?
            .broadcast_mul(&weights)?;
        sum = Some(match sum {
            Some(sum) => (sum + part)?,
            None => part,
        });
    }
    sum.ok_or_else(|| crate::error::Error::input("position table", "no grid given"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_follow_their_tokens() {
        let found: Vec<(usize, usize)> =
            places(Grid { rows: 1, columns: 2 }, 2).map(|p| (p.row, p.column)).collect();
        let expected = [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)];
        assert_eq!(found, expected);
    }

    #[test]
    fn samples_reach_both_ends() {
        let found = spread(3, 4);
        let places: Vec<f32> = found.iter().map(|at| at.low as f32 + at.share).collect();
        assert_eq!(places, [0.0, 1.5, 3.0]);
        assert_eq!((spread(1, 4)[0].low, spread(1, 4)[0].share), (0, 0.0));
    }

    #[test]
    fn a_table_of_its_own_size_is_taken_as_it_is() {
        let table = Tensor::arange(0.0_f32, 16.0, &Device::Cpu).unwrap().reshape((16, 1)).unwrap();
        let grid = Grid { rows: 2, columns: 2 };
        let found = table_at(&table, 4, &[grid], 2).unwrap();
        let found: Vec<f32> = found.flatten_all().unwrap().to_vec1().unwrap();
        assert_eq!(found[..5], [0.0, 1.0, 4.0, 5.0, 2.0]);
    }
}
