//! Element-wise and row-wise kernels: fused and in place on the CPU, composed of candle's own
//! operations elsewhere.

mod activation;
mod delta;
mod layer_norm;
mod panel;
mod rope;
mod row_product;
mod softmax;
mod vector;

pub(crate) use activation::{bias_activation, bias_apply, gate, sigmoid_gate};
pub(crate) use delta::{DeltaRule, DeltaShape, GatedNorm, Projected, StepState};
pub(crate) use layer_norm::layer_norm;
pub(crate) use panel::{PANEL, Rows, Shape as PanelShape, product};
pub(crate) use rope::{rotate_heads, rotate_rows, split_heads};
pub(crate) use row_product::row_product;
pub(crate) use softmax::{RowSoftmax, softmax_in_place, softmax_row};
pub(crate) use vector::dot;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, DType, Device, Layout, Result, Storage, Tensor};

/// Elements per rayon task of element-wise kernels.
const CHUNK: usize = 1 << 14;

/// Calls `run` with the values of some tensors as f32 slices. Contiguous f32 tensors on the CPU are
/// borrowed, others are copied and converted.
pub(crate) fn with_slices<const N: usize, T>(
    tensors: [&Tensor; N],
    run: impl FnOnce([&[f32]; N]) -> T,
) -> Result<T> {
    let mut near = Vec::with_capacity(N);
    for tensor in tensors {
        near.push(tensor.to_device(&Device::Cpu)?.to_dtype(DType::F32)?.contiguous()?);
    }
    let stored: Vec<_> = near.iter().map(Tensor::storage_and_layout).collect();
    let mut slices = [&[][..]; N];
    for (slice, (storage, layout)) in slices.iter_mut().zip(&stored) {
        let Storage::Cpu(storage) = &**storage else {
            return Err(candle_core::Error::Msg("a tensor brought to the CPU is not there".into()));
        };
        *slice = f32_slice(storage, layout, "slices")?;
    }
    Ok(run(slices))
}

/// The contiguous f32 values of a tensor; an error if it is not contiguous or not f32.
fn f32_slice<'a>(storage: &'a CpuStorage, layout: &Layout, op: &'static str) -> Result<&'a [f32]> {
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&storage.as_slice::<f32>()?[start..end]),
        None => Err(candle_core::Error::RequiresContiguous { op }.bt()),
    }
}

/// The contiguous f32 values of a tensor for writing, as [`f32_slice`] reads them.
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
