//! Element-wise and row-wise kernels: fused and in place on the CPU, composed of candle's own
//! operations elsewhere.

mod activation;
mod half_matmul;
mod layer_norm;
mod panel;
mod rope;
mod softmax;
mod vector;

pub(crate) use activation::{bias_activation, gate};

pub(crate) use half_matmul::half_matvec;
pub(crate) use layer_norm::layer_norm;
pub(crate) use panel::{PANEL, Rows, Shape as PanelShape, product};
pub(crate) use rope::{rotate_heads, split_heads};
pub(crate) use softmax::{RowSoftmax, softmax_in_place, softmax_row};
pub(crate) use vector::dot;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, Layout, Result};

/// Elements handed to one thread at a time by element-wise kernels.
const CHUNK: usize = 1 << 14;

/// The contiguous f32 data behind a tensor.
fn f32_slice<'a>(storage: &'a CpuStorage, layout: &Layout, op: &'static str) -> Result<&'a [f32]> {
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&storage.as_slice::<f32>()?[start..end]),
        None => Err(candle_core::Error::RequiresContiguous { op }.bt()),
    }
}

/// The same, writable.
fn f32_slice_mut<'a>(
    storage: &'a mut CpuStorage,
    layout: &Layout,
    op: &'static str,
) -> Result<&'a mut [f32]> {
    let CpuStorage::F32(data) = storage else {
        return Err(candle_core::Error::UnsupportedDTypeForOp(storage.dtype(), op).bt());
    };
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&mut data[start..end]),
        None => Err(candle_core::Error::RequiresContiguous { op }.bt()),
    }
}
