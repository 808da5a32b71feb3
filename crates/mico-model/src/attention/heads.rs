//! Views of cached keys or values for the CPU kernels.

use std::ops::Range;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, Error, Layout, Result};
use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

/// Numbers that rows are widened to at a time where they are kept in half precision, 16 KiB: they stay
/// in the first-level cache.
const TILE: usize = 1 << 12;

/// A `[kv_heads, keys, d]` view whose rows are contiguous, whatever the stride between heads.
#[derive(Clone, Copy)]
pub(super) struct Heads<'a, T = f32> {
    data: &'a [T],
    stride: usize,
    pub(super) count: usize,
    pub(super) keys: usize,
    pub(super) dim: usize,
}

impl<'a, T> Heads<'a, T> {
    fn view(data: &'a [T], layout: &Layout) -> Result<Self> {
        let (count, keys, dim) = layout.shape().dims3()?;
        let stride = layout.stride();
        // A head with a single row may have any row stride.
        if (keys > 1 && stride[1] != dim) || stride[2] != 1 {
            return Err(Error::RequiresContiguous { op: "attention" }.bt());
        }
        Ok(Self { data: &data[layout.start_offset()..], stride: stride[0], count, keys, dim })
    }

    /// The rows of a head, `[keys, d]`.
    pub(super) fn head(&self, head: usize) -> &'a [T] {
        &self.data[head * self.stride..][..self.keys * self.dim]
    }
}

impl<'a> Heads<'a> {
    pub(super) fn new(storage: &'a CpuStorage, layout: &Layout) -> Result<Self> {
        Self::view(storage.as_slice::<f32>()?, layout)
    }
}

/// Keys or values as a cache keeps them: in f32, or in half precision.
#[derive(Clone, Copy)]
pub(super) enum CachedHeads<'a> {
    Single(Heads<'a>),
    Half(Heads<'a, f16>),
}

impl<'a> CachedHeads<'a> {
    pub(super) fn new(storage: &'a CpuStorage, layout: &Layout) -> Result<Self> {
        match storage {
            CpuStorage::F32(data) => Heads::view(data, layout).map(Self::Single),
            CpuStorage::F16(data) => Heads::view(data, layout).map(Self::Half),
            other => Err(Error::UnsupportedDTypeForOp(other.dtype(), "attention").bt()),
        }
    }

    /// The numbers of heads, of keys, and of values per key.
    pub(super) fn dims(&self) -> (usize, usize, usize) {
        match self {
            Self::Single(heads) => (heads.count, heads.keys, heads.dim),
            Self::Half(heads) => (heads.count, heads.keys, heads.dim),
        }
    }

    /// Some rows of a head in f32, `[m, d]`: as they are, or widened into `buffer`.
    pub(super) fn rows<'b>(
        &self,
        head: usize,
        rows: Range<usize>,
        buffer: &'b mut Vec<f32>,
    ) -> &'b [f32]
    where
        'a: 'b,
    {
        match self {
            Self::Single(heads) => &heads.head(head)[rows.start * heads.dim..rows.end * heads.dim],
            Self::Half(heads) => {
                let narrow = &heads.head(head)[rows.start * heads.dim..rows.end * heads.dim];
                buffer.resize(narrow.len(), 0.0);
                narrow.convert_to_f32_slice(buffer);
                buffer
            }
        }
    }

    /// How many rows to ask for at a time: all where they are read as they are.
    pub(super) fn tile(&self) -> usize {
        match self {
            Self::Single(heads) => heads.keys.max(1),
            Self::Half(heads) => (TILE / heads.dim.max(1)).max(1),
        }
    }

    /// The whole view in f32, for a kernel that reads it many times: as it is, or widened into `buffer`.
    pub(super) fn widened<'b>(self, buffer: &'b mut Vec<f32>) -> Heads<'b>
    where
        'a: 'b,
    {
        let half = match self {
            Self::Single(heads) => return heads,
            Self::Half(heads) => heads,
        };
        let Heads { count, keys, dim, .. } = half;
        let stride = keys * dim;
        buffer.resize(count * stride, 0.0);
        buffer.par_chunks_mut(stride.max(1)).enumerate().for_each(|(head, wide)| {
            half.head(head).convert_to_f32_slice(wide);
        });
        Heads { data: buffer, stride, count, keys, dim }
    }
}
