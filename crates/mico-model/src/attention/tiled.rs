//! Softmax attention of any number of queries, dispatched to the kernel of the device.

use candle_core::{DType, Tensor};

use super::{MAX_TILE_ROWS, decode, prefill, tile_rows};
use crate::error::Result;
use crate::ops::{RowSoftmax, softmax_in_place};

/// Queries, keys and values of one attention.
pub(crate) struct AttentionInput<'a> {
    /// Queries `[heads, n, d]`, already rotated.
    pub(crate) q: &'a Tensor,
    /// Keys `[kv_heads, keys, d]`, in the queries' format or in half precision as a cache may keep them;
    /// `kv_heads` divides `heads` (grouped-query attention).
    pub(crate) k: &'a Tensor,
    /// Values `[kv_heads, keys, d]`, in the order of the keys.
    pub(crate) v: &'a Tensor,
    /// Causal mask: the queries are the last `n` of the `keys` tokens and none sees a later one.
    pub(crate) causal: bool,
}

/// Softmax attention with scale `d^-1/2`; returns `[n, heads * d]`.
///
/// The query heads that share a key head are folded into the rows of one product, so keys and
/// values are never repeated.
pub(crate) fn attention(input: &AttentionInput) -> Result<Tensor> {
    let rows = input.q.dim(1)?;
    if input.q.device().is_cpu() && input.q.dtype() == DType::F32 {
        if rows == 1 {
            let cached = (input.k.clone(), input.v.clone());
            return decode::rows(&input.q.transpose(0, 1)?, &[cached]);
        }
        return prefill::many_rows(input);
    }
    composed(input)
}

/// Attention of row `i` of `q` (`[n, heads, d]`) over all keys and values of `cached[i]`; returns
/// `[n, heads * d]`. A row's result is that of [`attention`] for the row alone.
pub(crate) fn attention_rows(q: &Tensor, cached: &[(Tensor, Tensor)]) -> Result<Tensor> {
    if q.device().is_cpu() && q.dtype() == DType::F32 {
        return decode::rows(q, cached);
    }
    let mut out = Vec::with_capacity(cached.len());
    for (row, (k, v)) in cached.iter().enumerate() {
        let q = q.narrow(0, row, 1)?.transpose(0, 1)?.contiguous()?;
        out.push(composed(&AttentionInput { q: &q, k, v, causal: true })?);
    }
    Ok(Tensor::cat(&out, 0)?)
}

/// [`attention`] by candle's own operations, for other devices and formats.
fn composed(input: &AttentionInput) -> Result<Tensor> {
    let (heads, rows, dim) = input.q.dims3()?;
    let (kv_heads, keys, _) = input.k.dims3()?;
    let (k, v) = (input.k.to_dtype(input.q.dtype())?, input.v.to_dtype(input.q.dtype())?);
    let input = &AttentionInput { k: &k, v: &v, ..*input };
    #[cfg(feature = "flash-attn")]
    if input.q.device().is_cuda() && input.q.dtype() != DType::F32 {
        return flash(input);
    }
    let group = heads / kv_heads;
    let offset = keys - rows.min(keys);
    let mut tile = tile_rows(heads, keys).min(rows);
    if input.causal {
        tile = tile.min(MAX_TILE_ROWS);
    }
    let grouped = input.q.reshape((kv_heads, group, rows, dim))?;
    let scale = (dim as f32).powf(-0.5);
    let mut out = Vec::with_capacity(rows.div_ceil(tile));
    let mut start = 0;
    while start < rows {
        let count = tile.min(rows - start);
        let seen = if input.causal { offset + start + count } else { keys };
        let queries = if group == 1 {
            input.q.narrow(1, start, count)?
        } else {
            grouped.narrow(2, start, count)?.reshape((kv_heads, group * count, dim))?
        };
        let scores = queries.matmul(&input.k.narrow(1, 0, seen)?.transpose(1, 2)?)?;
        let visible = if input.causal {
            (0..count).map(|row| offset + start + row + 1).collect()
        } else {
            vec![seen]
        };
        let weights = softmax_in_place(scores, &RowSoftmax { scale, visible })?;
        let mixed = weights.matmul(&input.v.narrow(1, 0, seen)?)?;
        out.push(mixed.reshape((heads, count, dim))?.transpose(0, 1)?.contiguous()?);
        start += count;
    }
    let joined = if out.len() == 1 { out.swap_remove(0) } else { Tensor::cat(&out, 0)? };
    Ok(joined.reshape((rows, heads * dim))?)
}

/// [`attention`] by the fused kernel of CUDA devices (flash attention).
#[cfg(feature = "flash-attn")]
fn flash(input: &AttentionInput) -> Result<Tensor> {
    let (heads, rows, dim) = input.q.dims3()?;
    let tokens_first =
        |t: &Tensor| t.transpose(0, 1).and_then(|t| t.contiguous()).and_then(|t| t.unsqueeze(0));
    let scale = (dim as f32).powf(-0.5);
    let (q, k, v) = (tokens_first(input.q)?, tokens_first(input.k)?, tokens_first(input.v)?);
    let out = candle_flash_attn::flash_attn(&q, &k, &v, scale, input.causal)?;
    Ok(out.reshape((rows, heads * dim))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noise;
    use candle_core::D;

    /// All scores at once, keys repeated, mask added.
    fn naive(q: &Tensor, k: &Tensor, v: &Tensor, causal: bool) -> Tensor {
        let (heads, rows, dim) = q.dims3().unwrap();
        let (kv_heads, keys, _) = k.dims3().unwrap();
        let repeat = |t: &Tensor| {
            let wide = t.unsqueeze(1).unwrap();
            let wide = wide.broadcast_as((kv_heads, heads / kv_heads, keys, dim)).unwrap();
            wide.contiguous().unwrap().reshape((heads, keys, dim)).unwrap()
        };
        let scores = q.contiguous().unwrap().matmul(&repeat(k).t().unwrap()).unwrap();
        let scores = (scores / (dim as f64).sqrt()).unwrap();
        let mask: Vec<f32> =
            (0..rows)
                .flat_map(|i| {
                    (0..keys).map(move |j| {
                        if causal && j > keys - rows + i { f32::NEG_INFINITY } else { 0.0 }
                    })
                })
                .collect();
        let mask = Tensor::from_vec(mask, (1, rows, keys), q.device()).unwrap();
        let weights =
            candle_nn::ops::softmax(&scores.broadcast_add(&mask).unwrap(), D::Minus1).unwrap();
        let out = weights.matmul(&repeat(v)).unwrap();
        out.transpose(0, 1).unwrap().contiguous().unwrap().reshape((rows, heads * dim)).unwrap()
    }

    #[test]
    fn tiles_agree_with_the_whole_map() {
        for (heads, kv_heads, rows, keys, causal) in [
            (4, 4, 300, 300, true),
            (6, 2, 150, 170, true),
            (6, 3, 1, 37, true),
            (4, 4, 77, 77, false),
            (3, 1, 1, 1, true),
        ] {
            let q = noise(1, 2.0, (heads, rows, 16));
            let [k, v] = [2, 3].map(|seed| noise(seed, 2.0, (kv_heads, keys + 5, 16)));
            let (k, v) = (k.narrow(1, 0, keys).unwrap(), v.narrow(1, 0, keys).unwrap());
            let input = AttentionInput { q: &q, k: &k, v: &v, causal };
            let expected = naive(&q, &k, &v, causal);
            for found in [attention(&input).unwrap(), composed(&input).unwrap()] {
                let difference = (found - &expected).unwrap().abs().unwrap().max_all().unwrap();
                assert!(difference.to_scalar::<f32>().unwrap() < 2e-6);
            }
        }
    }
}
