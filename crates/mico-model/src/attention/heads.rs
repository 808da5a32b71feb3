//! Views of cached keys or values for the CPU kernels.

use candle_core::{CpuStorage, Layout, Result};

/// A `[kv_heads, keys, d]` view whose rows are contiguous, whatever the stride between heads.
pub(super) struct Heads<'a> {
    data: &'a [f32],
    stride: usize,
    pub(super) count: usize,
    pub(super) keys: usize,
    pub(super) dim: usize,
}

impl<'a> Heads<'a> {
    pub(super) fn new(storage: &'a CpuStorage, layout: &Layout) -> Result<Self> {
        let (count, keys, dim) = layout.shape().dims3()?;
        let stride = layout.stride();
        // A head with a single row may have any row stride.
        if (keys > 1 && stride[1] != dim) || stride[2] != 1 {
            return Err(candle_core::Error::RequiresContiguous { op: "attention" }.bt());
        }
        let data = &storage.as_slice::<f32>()?[layout.start_offset()..];
        Ok(Self { data, stride: stride[0], count, keys, dim })
    }

    /// The rows of a head, `[keys, d]`.
    pub(super) fn head(&self, head: usize) -> &'a [f32] {
        &self.data[head * self.stride..][..self.keys * self.dim]
    }
}
