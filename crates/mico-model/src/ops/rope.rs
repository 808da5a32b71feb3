//! Splitting a projection into heads, with or without the rotary embedding.

use candle_core::{CpuStorage, CustomOp3, DType, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::f32_slice;

struct RotateHeads {
    heads: usize,
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
        let half = dim / 2;
        let mut out = vec![0.0_f32; x.len()];
        out.par_chunks_mut(dim * tokens).enumerate().for_each(|(head, out)| {
            for (token, out) in out.chunks_exact_mut(dim).enumerate() {
                let x = &x[token * width + head * dim..][..dim];
                let (cos, sin) = (&cos[token * half..][..half], &sin[token * half..][..half]);
                let (low, high) = x.split_at(half);
                let (out_low, out_high) = out.split_at_mut(half);
                for i in 0..half {
                    out_low[i] = low[i] * cos[i] - high[i] * sin[i];
                    out_high[i] = high[i] * cos[i] + low[i] * sin[i];
                }
            }
        });
        Ok((CpuStorage::F32(out), Shape::from((self.heads, tokens, dim))))
    }
}

/// `[n, heads * d]` to `[heads, n, d]`.
pub(crate) fn split_heads(x: &Tensor, heads: usize) -> Result<Tensor> {
    let (tokens, width) = x.dims2()?;
    x.reshape((tokens, heads, width / heads))?.transpose(0, 1)?.contiguous()
}

/// The same, each head rotated by its token's angles (`cos`, `sin`: `[n, d/2]`; the first half of a
/// head is paired with the second).
pub(crate) fn rotate_heads(x: &Tensor, heads: usize, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    if x.device().is_cpu() && x.dtype() == DType::F32 {
        return x.contiguous()?.apply_op3_no_bwd(cos, sin, &RotateHeads { heads });
    }
    let split = split_heads(x, heads)?.unsqueeze(0)?;
    candle_nn::rotary_emb::rope(&split, &cos.to_dtype(x.dtype())?, &sin.to_dtype(x.dtype())?)?
        .squeeze(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn rotation_agrees_with_candle() {
        let device = Device::Cpu;
        let x = Tensor::randn(0.0_f32, 1.0, (5, 24), &device).unwrap();
        let angles = Tensor::randn(0.0_f32, 2.0, (5, 4), &device).unwrap();
        let (cos, sin) = (angles.cos().unwrap(), angles.sin().unwrap());
        let found = rotate_heads(&x, 3, &cos, &sin).unwrap();
        let split = split_heads(&x, 3).unwrap().unsqueeze(0).unwrap();
        let expected = candle_nn::rotary_emb::rope(&split, &cos, &sin).unwrap().squeeze(0).unwrap();
        let difference = (found - expected).unwrap().abs().unwrap().max_all().unwrap();
        assert!(difference.to_scalar::<f32>().unwrap() < 1e-6);
    }
}
