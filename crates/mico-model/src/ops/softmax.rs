//! Softmax over a prefix of each row, in place.

use candle_core::{CpuStorage, DType, Layout, Result, Tensor};
use rayon::prelude::*;

use super::f32_slice_mut;
use super::vector::{exp, max, sum};

/// Softmax of `scale * x` over the first `visible[r % visible.len()]` entries of row `r`; the
/// other entries become 0. With growing `visible` this is causal attention.
pub(crate) struct RowSoftmax {
    pub(crate) scale: f32,
    pub(crate) visible: Vec<usize>,
}

impl candle_core::InplaceOp1 for RowSoftmax {
    fn name(&self) -> &'static str {
        "row-softmax"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let width = layout.dims().last().copied().unwrap_or(1).max(1);
        let data = f32_slice_mut(storage, layout, "row-softmax")?;
        data.par_chunks_mut(width).enumerate().for_each(|(row, values)| {
            let visible = self.visible[row % self.visible.len()].min(width);
            let (seen, hidden) = values.split_at_mut(visible);
            softmax_row(seen, self.scale);
            hidden.fill(0.0);
        });
        Ok(())
    }
}

/// Softmax of `scale * x` over a whole slice, in place.
pub(crate) fn softmax_row(values: &mut [f32], scale: f32) {
    let top = max(values) * scale;
    for value in values.iter_mut() {
        *value = exp(value.mul_add(scale, -top));
    }
    let norm = 1.0 / sum(values);
    for value in values.iter_mut() {
        *value *= norm;
    }
}

/// Applies the softmax to scores `[heads, rows, keys]`; the result is in the scores' own format.
pub(crate) fn softmax_in_place(scores: Tensor, softmax: &RowSoftmax) -> Result<Tensor> {
    if scores.device().is_cpu() && scores.dtype() == DType::F32 {
        scores.inplace_op1(softmax)?;
        return Ok(scores);
    }
    let dtype = scores.dtype();
    let (_, rows, keys) = scores.dims3()?;
    let period = softmax.visible.len();
    let mask: Vec<f32> = (0..rows)
        .flat_map(|row| {
            let visible = softmax.visible[row % period];
            (0..keys).map(move |key| if key < visible { 0.0 } else { f32::NEG_INFINITY })
        })
        .collect();
    let mask = Tensor::from_vec(mask, (1, rows, keys), scores.device())?;
    let scores = (scores.to_dtype(DType::F32)? * f64::from(softmax.scale))?.broadcast_add(&mask)?;
    candle_nn::ops::softmax_last_dim(&scores)?.to_dtype(dtype)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn rows_see_their_prefix_only() {
        let scores = Tensor::new(&[[[1.0_f32, 2.0, 9.0], [0.5, 0.5, 0.5]]], &Device::Cpu).unwrap();
        let softmax = RowSoftmax { scale: 2.0, visible: vec![2, 3] };
        let found = softmax_in_place(scores, &softmax).unwrap().to_vec3::<f32>().unwrap();
        let high = 1.0 / (1.0 + (-2.0_f32).exp());
        for (x, y) in found[0][0].iter().zip([1.0 - high, high, 0.0]) {
            assert!((x - y).abs() < 1e-6);
        }
        for x in &found[0][1] {
            assert!((x - 1.0 / 3.0).abs() < 1e-6);
        }
    }
}
