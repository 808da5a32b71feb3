//! Products of a few f32 rows with a half-precision matrix, widened on the fly.

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor};
use half::{bf16, f16};
use rayon::prelude::*;

use super::f32_slice;

/// Output columns per rayon task.
const COLUMNS: usize = 64;

struct HalfMatVec;

impl CustomOp2 for HalfMatVec {
    fn name(&self) -> &'static str {
        "half-matvec"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (rows, input) = x_layout.shape().dims2()?;
        let (output, _) = weight_layout.shape().dims2()?;
        let x = f32_slice(x, x_layout, "half-matvec")?;
        let Some((start, end)) = weight_layout.contiguous_offsets() else {
            return Err(candle_core::Error::RequiresContiguous { op: "half-matvec" }.bt());
        };
        let shape = (rows, input, output);
        let out = match weight {
            CpuStorage::BF16(w) => product(x, &w[start..end], shape, bf16::to_f32),
            CpuStorage::F16(w) => product(x, &w[start..end], shape, f16::to_f32),
            other => {
                let dtype = other.dtype();
                return Err(candle_core::Error::UnsupportedDTypeForOp(dtype, "half-matvec").bt());
            }
        };
        Ok((CpuStorage::F32(out), Shape::from((rows, output))))
    }
}

/// Computes the transposed result (`[output, rows]`), so that each thread owns whole columns.
fn product<T: Copy + Sync>(
    x: &[f32],
    weight: &[T],
    (rows, input, output): (usize, usize, usize),
    widen: impl Fn(T) -> f32 + Sync,
) -> Vec<f32> {
    let mut columns = vec![0.0_f32; rows * output];
    columns.par_chunks_mut(rows * COLUMNS).enumerate().for_each(|(chunk, columns)| {
        let mut wide = vec![0.0_f32; input];
        for (offset, column) in columns.chunks_exact_mut(rows).enumerate() {
            let at = (chunk * COLUMNS + offset) * input;
            for (wide, narrow) in wide.iter_mut().zip(&weight[at..at + input]) {
                *wide = widen(*narrow);
            }
            for (value, row) in column.iter_mut().zip(x.chunks_exact(input)) {
                *value = super::dot(row, &wide);
            }
        }
    });
    if rows == 1 {
        return columns;
    }
    let mut out = vec![0.0_f32; rows * output];
    for (column, values) in columns.chunks_exact(rows).enumerate() {
        for (row, value) in values.iter().enumerate() {
            out[row * output + column] = *value;
        }
    }
    out
}

/// `x W^T` for `x` `[rows, input]` in f32 and `W` `[output, input]` in half precision, on the CPU.
pub(crate) fn half_matvec(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op2_no_bwd(weight, &HalfMatVec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noise;
    use candle_core::DType;

    #[test]
    fn agrees_with_a_widened_product() {
        for dtype in [DType::BF16, DType::F16] {
            let weight = noise(1, 2.0, (70, 40));
            let weight = weight.to_dtype(dtype).unwrap();
            let x = noise(2, 2.0, (3, 40));
            let found = half_matvec(&x, &weight).unwrap();
            let wide = weight.to_dtype(DType::F32).unwrap();
            let expected = x.matmul(&wide.t().unwrap()).unwrap();
            let difference = (found - expected).unwrap().abs().unwrap().max_all().unwrap();
            assert!(difference.to_scalar::<f32>().unwrap() < 1e-4);
        }
    }
}
