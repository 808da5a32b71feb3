//! `RoPE` tables (cosines and sines) for explicit position ids.

use candle_core::{Device, Tensor};

use crate::config::RopeConfig;
use crate::error::{Error, Result};

/// A token's position id on three axes. Text tokens have the same number on all three; so has every
/// token of a model with one-dimensional positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Position {
    /// Temporal position, and the only one that counts for models with one axis.
    pub time: u32,
    /// Vertical position, in visual tokens.
    pub row: u32,
    /// Horizontal position, in visual tokens.
    pub column: u32,
}

impl Position {
    /// A position id with the same number on all axes, as text tokens have it.
    pub const fn text(at: u32) -> Self {
        Self { time: at, row: at, column: at }
    }

    /// The position id shifted by `by` on all axes.
    pub const fn moved(self, by: u32) -> Self {
        Self { time: self.time + by, row: self.row + by, column: self.column + by }
    }

    /// The axes in the order time, row, column.
    pub const fn axes(self) -> [u32; 3] {
        [self.time, self.row, self.column]
    }
}

/// The position ids of a run of tokens, with their `RoPE` tables.
///
/// Surviving tokens may keep the position ids of the unpruned prompt, so ids are neither consecutive
/// nor derived from a cache length: the caller of the decoder states them.
#[derive(Debug, Clone)]
pub struct Positions {
    ids: Vec<Position>,
    cos: Tensor,
    sin: Tensor,
}

impl Positions {
    /// Tables for the first `dim` values of a head.
    pub(crate) fn new(
        rope: RopeConfig,
        dim: usize,
        ids: Vec<Position>,
        device: &Device,
    ) -> Result<Self> {
        if ids.is_empty() {
            return Err(Error::input("positions", "0 tokens, at least 1 is needed"));
        }
        let half = dim / 2;
        let frequencies: Vec<(usize, f32)> = (0..half)
            .map(|i| {
                let frequency = 1.0 / (rope.theta as f32).powf(2.0 * i as f32 / dim as f32);
                (rope.axes.axis(i), frequency / rope.factor as f32)
            })
            .collect();
        let angles = ids.iter().flat_map(|id| {
            let axes = id.axes();
            frequencies.iter().map(move |&(axis, frequency)| axes[axis] as f32 * frequency)
        });
        let (sin, cos): (Vec<f32>, Vec<f32>) = angles.map(f32::sin_cos).unzip();
        let table = |values| Tensor::from_vec(values, (ids.len(), half), device);
        let (cos, sin) = (table(cos)?, table(sin)?);
        Ok(Self { ids, cos, sin })
    }

    /// The position id of each token.
    pub fn ids(&self) -> &[Position] {
        &self.ids
    }

    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is no token; never true, as construction refuses it.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Cosines of the rotation angles, `[n, dim / 2]`.
    pub(crate) fn cos(&self) -> &Tensor {
        &self.cos
    }

    /// Sines of the rotation angles, `[n, dim / 2]`.
    pub(crate) fn sin(&self) -> &Tensor {
        &self.sin
    }

    /// The position ids of the tokens at `rows`, in that order: those left after pruning.
    pub fn select(&self, rows: &[u32]) -> Result<Self> {
        if rows.is_empty() {
            return Err(Error::input("positions", "0 rows selected, at least 1 is needed"));
        }
        let ids = rows
            .iter()
            .map(|&row| {
                self.ids.get(row as usize).copied().ok_or_else(|| {
                    Error::input("positions", format!("row {row} of {} tokens", self.ids.len()))
                })
            })
            .collect::<Result<Vec<Position>>>()?;
        let index = Tensor::new(rows, self.cos.device())?;
        Ok(Self {
            ids,
            cos: self.cos.index_select(&index, 0)?,
            sin: self.sin.index_select(&index, 0)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RopeAxes;

    fn positions(ids: &[u32]) -> Positions {
        let rope = RopeConfig { theta: 100.0, ..RopeConfig::default() };
        let ids = ids.iter().map(|&id| Position::text(id)).collect();
        Positions::new(rope, 8, ids, &Device::Cpu).unwrap()
    }

    #[test]
    fn gathering_equals_building_for_the_survivors() {
        let all = positions(&(0..20).collect::<Vec<_>>());
        let kept = all.select(&[0, 3, 17]).unwrap();
        let built = positions(&[0, 3, 17]);
        assert_eq!(kept.ids(), built.ids());
        for (a, b) in [(kept.cos(), built.cos()), (kept.sin(), built.sin())] {
            assert_eq!(a.to_vec2::<f32>().unwrap(), b.to_vec2::<f32>().unwrap());
        }
        assert!(all.select(&[20]).is_err());
        assert!(all.select(&[]).is_err());
    }

    #[test]
    fn angles_are_position_times_frequency() {
        let table = positions(&[7]).cos().to_vec2::<f32>().unwrap();
        for (i, value) in table[0].iter().enumerate() {
            let angle = 7.0 * 100.0_f64.powf(-(i as f64) / 4.0);
            assert!((f64::from(*value) - angle.cos()).abs() < 1e-6);
        }
    }

    #[test]
    fn every_frequency_turns_with_its_axis() {
        let place = Position { time: 3, row: 50, column: 700 };
        for (axes, order) in [
            (RopeAxes::One, [0, 0, 0, 0]),
            (RopeAxes::Chunked([1, 2, 1]), [0, 1, 1, 2]),
            (RopeAxes::Interleaved([2, 1, 1]), [0, 1, 2, 0]),
        ] {
            let rope = RopeConfig { theta: 10.0, axes, ..RopeConfig::default() };
            let found = Positions::new(rope, 8, vec![place], &Device::Cpu).unwrap();
            let found = found.sin().to_vec2::<f32>().unwrap();
            for (i, axis) in order.into_iter().enumerate() {
                let angle = place.axes()[axis] as f32 * 10.0_f32.powf(-(i as f32) / 4.0);
                assert!((found[0][i] - angle.sin()).abs() < 1e-4, "{axes:?} {i}");
            }
        }
    }
}
