//! Products of f32 rows with a row-major matrix in f32 or half precision, one inner product for each
//! number of the result: no row depends on the others, and every weight is read once for all rows.

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use rayon::prelude::*;

use super::f32_slice;

/// Output columns per rayon task.
const COLUMNS: usize = 64;

struct RowProduct;

impl CustomOp2 for RowProduct {
    fn name(&self) -> &'static str {
        "row-product"
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
        let x = f32_slice(x, x_layout, "row-product")?;
        let Some((start, end)) = weight_layout.contiguous_offsets() else {
            return Err(candle_core::Error::RequiresContiguous { op: "row-product" }.bt());
        };
        let shape = (rows, input, output);
        let out = match weight {
            CpuStorage::F32(w) => product(x, &w[start..end], shape),
            CpuStorage::BF16(w) => product(x, &w[start..end], shape),
            CpuStorage::F16(w) => product(x, &w[start..end], shape),
            other => {
                let dtype = other.dtype();
                return Err(candle_core::Error::UnsupportedDTypeForOp(dtype, "row-product").bt());
            }
        };
        Ok((CpuStorage::F32(out), Shape::from((rows, output))))
    }
}

/// A number format of a matrix that is multiplied in f32.
trait Stored: Copy + Sync {
    /// The numbers in f32: as they are, or widened into a buffer of the same length.
    fn wide<'a>(narrow: &'a [Self], buffer: &'a mut [f32]) -> &'a [f32];
}

impl Stored for f32 {
    fn wide<'a>(numbers: &'a [Self], _: &'a mut [f32]) -> &'a [f32] {
        numbers
    }
}

impl Stored for f16 {
    fn wide<'a>(narrow: &'a [Self], buffer: &'a mut [f32]) -> &'a [f32] {
        narrow.convert_to_f32_slice(buffer);
        buffer
    }
}

impl Stored for bf16 {
    fn wide<'a>(narrow: &'a [Self], buffer: &'a mut [f32]) -> &'a [f32] {
        narrow.convert_to_f32_slice(buffer);
        buffer
    }
}

/// Computes the transposed result (`[output, rows]`), so that each thread owns whole columns.
fn product<T: Stored>(
    x: &[f32],
    weight: &[T],
    (rows, input, output): (usize, usize, usize),
) -> Vec<f32> {
    let mut columns = vec![0.0_f32; rows * output];
    columns.par_chunks_mut((rows * COLUMNS).max(1)).enumerate().for_each_init(
        || vec![0.0_f32; input],
        |buffer, (chunk, columns)| {
            for (offset, column) in columns.chunks_exact_mut(rows).enumerate() {
                let at = (chunk * COLUMNS + offset) * input;
                let wide = T::wide(&weight[at..at + input], buffer);
                for (value, row) in column.iter_mut().zip(x.chunks_exact(input)) {
                    *value = super::dot(row, wide);
                }
            }
        },
    );
    if rows == 1 {
        return columns;
    }
    let mut out = vec![0.0_f32; rows * output];
    for (column, values) in columns.chunks_exact(rows.max(1)).enumerate() {
        for (row, value) in values.iter().enumerate() {
            out[row * output + column] = *value;
        }
    }
    out
}

/// `x W^T` for `x` `[rows, input]` in f32 and `W` `[output, input]` in f32 or half precision, on the CPU.
pub(crate) fn row_product(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op2_no_bwd(weight, &RowProduct)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noise;
    use candle_core::DType;

    #[test]
    fn agrees_with_a_widened_product() {
        for dtype in [DType::BF16, DType::F16, DType::F32] {
            let weight = noise(1, 2.0, (70, 40));
            let weight = weight.to_dtype(dtype).unwrap();
            let x = noise(2, 2.0, (3, 40));
            let found = row_product(&x, &weight).unwrap();
            let wide = weight.to_dtype(DType::F32).unwrap();
            let expected = x.matmul(&wide.t().unwrap()).unwrap();
            let difference = (found - expected).unwrap().abs().unwrap().max_all().unwrap();
            assert!(difference.to_scalar::<f32>().unwrap() < 1e-4);
        }
    }
    #[test]
    fn a_row_does_not_depend_on_the_others() {
        for dtype in [DType::BF16, DType::F16, DType::F32] {
            let weight = noise(1, 2.0, (70, 40)).to_dtype(dtype).unwrap();
            let x = noise(2, 2.0, (17, 40));
            let all = row_product(&x, &weight).unwrap().to_vec2::<f32>().unwrap();
            for count in 1..=17 {
                let some = row_product(&x.narrow(0, 17 - count, count).unwrap(), &weight).unwrap();
                assert_eq!(some.to_vec2::<f32>().unwrap(), all[17 - count..]);
            }
        }
    }
}
