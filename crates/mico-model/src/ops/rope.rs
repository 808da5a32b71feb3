//! Splitting a projection into attention heads, with or without rotary position embedding (`RoPE`).

use candle_core::{CpuStorage, CustomOp1, CustomOp3, DType, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::f32_slice;

struct RotateHeads {
    heads: usize,
    /// Whether the result has the heads outermost (`[heads, n, d]`), as attention over a run of tokens reads
    /// them, or the tokens.
    heads_first: bool,
}

impl CustomOp3 for RotateHeads {
    fn name(&self) -> &'static str {
        "rotate-heads"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        cos: &CpuStorage,
        cos_layout: &Layout,
        sin: &CpuStorage,
        sin_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (tokens, width) = x_layout.shape().dims2()?;
        let x = f32_slice(x, x_layout, "rotate-heads")?;
        let cos = f32_slice(cos, cos_layout, "rotate-heads")?;
        let sin = f32_slice(sin, sin_layout, "rotate-heads")?;
        let dim = width / self.heads;
        let half = cos_layout.shape().dims2()?.1;
        let turn = |token: usize, head: usize, out: &mut [f32]| {
            let x = &x[token * width + head * dim..][..dim];
            turn(x, &cos[token * half..][..half], &sin[token * half..][..half], out);
        };
        let mut out = vec![0.0_f32; x.len()];
        if self.heads_first {
            out.par_chunks_mut((dim * tokens).max(1)).enumerate().for_each(|(head, out)| {
                let rows = out.chunks_exact_mut(dim).enumerate();
                rows.for_each(|(token, out)| turn(token, head, out));
            });
            return Ok((CpuStorage::F32(out), Shape::from((self.heads, tokens, dim))));
        }
        out.par_chunks_mut(width.max(1)).enumerate().for_each(|(token, out)| {
            let heads = out.chunks_exact_mut(dim).enumerate();
            heads.for_each(|(head, out)| turn(token, head, out));
        });
        Ok((CpuStorage::F32(out), Shape::from((tokens, self.heads, dim))))
    }
}

/// Rotates one head of one token: the first values, two for each angle, in pairs of halves.
fn turn(x: &[f32], cos: &[f32], sin: &[f32], out: &mut [f32]) {
    let half = cos.len();
    let ((turned, rest), (out, out_rest)) = (x.split_at(2 * half), out.split_at_mut(2 * half));
    out_rest.copy_from_slice(rest);
    let (low, high) = turned.split_at(half);
    let (out_low, out_high) = out.split_at_mut(half);
    for i in 0..half {
        out_low[i] = low[i] * cos[i] - high[i] * sin[i];
        out_high[i] = high[i] * cos[i] + low[i] * sin[i];
    }
}

struct SplitHeads {
    heads: usize,
}

impl CustomOp1 for SplitHeads {
    fn name(&self) -> &'static str {
        "split-heads"
    }

    fn cpu_fwd(&self, x: &CpuStorage, x_layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (tokens, width) = x_layout.shape().dims2()?;
        let x = f32_slice(x, x_layout, "split-heads")?;
        let dim = width / self.heads;
        let mut out = vec![0.0_f32; x.len()];
        out.par_chunks_mut((dim * tokens).max(1)).enumerate().for_each(|(head, out)| {
            for (out, x) in out.chunks_exact_mut(dim).zip(x.chunks_exact(width)) {
                out.copy_from_slice(&x[head * dim..][..dim]);
            }
        });
        Ok((CpuStorage::F32(out), Shape::from((self.heads, tokens, dim))))
    }
}

/// Splits a projection `[n, heads * d]` into heads `[heads, n, d]`.
pub(crate) fn split_heads(x: &Tensor, heads: usize) -> Result<Tensor> {
    let (tokens, width) = x.dims2()?;
    if x.device().is_cpu() && x.dtype() == DType::F32 && width % heads == 0 {
        return x.contiguous()?.apply_op1_no_bwd(&SplitHeads { heads });
    }
    x.reshape((tokens, heads, width / heads))?.transpose(0, 1)?.contiguous()
}

/// [`split_heads`] with `RoPE`: each head is rotated by its token's angles (`cos`, `sin`: `[n, r/2]`). Of
/// its first `r` values the first half is paired with the second; the others are not rotated.
pub(crate) fn rotate_heads(x: &Tensor, heads: usize, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    if x.device().is_cpu() && x.dtype() == DType::F32 {
        let rotate = RotateHeads { heads, heads_first: true };
        return x.contiguous()?.apply_op3_no_bwd(cos, sin, &rotate);
    }
    composed(x, heads, cos, sin)
}

/// [`rotate_heads`] with the tokens outermost, `[n, heads, d]`: rows of different sequences.
pub(crate) fn rotate_rows(x: &Tensor, heads: usize, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    if x.device().is_cpu() && x.dtype() == DType::F32 {
        let rotate = RotateHeads { heads, heads_first: false };
        return x.contiguous()?.apply_op3_no_bwd(cos, sin, &rotate);
    }
    composed(x, heads, cos, sin)?.transpose(0, 1)?.contiguous()
}

/// [`rotate_heads`] by candle's own operations, for other devices and formats.
fn composed(x: &Tensor, heads: usize, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    let split = split_heads(x, heads)?;
    let (dim, turned) = (split.dim(2)?, 2 * cos.dim(1)?);
    let first = split.narrow(2, 0, turned)?.contiguous()?.unsqueeze(0)?;
    let (cos, sin) = (cos.to_dtype(x.dtype())?, sin.to_dtype(x.dtype())?);
    let first = candle_nn::rotary_emb::rope(&first, &cos, &sin)?.squeeze(0)?;
    if turned == dim {
        return Ok(first);
    }
    Tensor::cat(&[&first, &split.narrow(2, turned, dim - turned)?], 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noise;

    #[test]
    fn heads_are_split_as_by_candle() {
        let x = noise(1, 2.0, (5, 24));
        let expected = x.reshape((5, 3, 8)).unwrap().transpose(0, 1).unwrap();
        let numbers = |t: &Tensor| t.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        assert_eq!(numbers(&split_heads(&x, 3).unwrap()), numbers(&expected));
    }

    #[test]
    fn rotation_agrees_with_candle() {
        let x = noise(1, 2.0, (5, 24));
        for half in [4, 3, 1] {
            let angles = noise(2, 4.0, (5, half));
            let (cos, sin) = (angles.cos().unwrap(), angles.sin().unwrap());
            let found = rotate_heads(&x, 3, &cos, &sin).unwrap();
            let expected = composed(&x, 3, &cos, &sin).unwrap();
            let difference = (&found - expected).unwrap().abs().unwrap().max_all().unwrap();
            assert!(difference.to_scalar::<f32>().unwrap() < 1e-6);
            let rows = rotate_rows(&x, 3, &cos, &sin).unwrap().transpose(0, 1).unwrap();
            let numbers = |t: &Tensor| t.contiguous().unwrap().to_vec3::<f32>().unwrap();
            assert_eq!(numbers(&rows), numbers(&found));
            let rest = |t: &Tensor| {
                let rest = t.narrow(2, 2 * half, 8 - 2 * half).unwrap();
                rest.flatten_all().unwrap().to_vec1::<f32>().unwrap()
            };
            assert_eq!(rest(&found), rest(&split_heads(&x, 3).unwrap()));
        }
    }
}
