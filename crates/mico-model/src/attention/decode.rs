//! Attention of single query rows, each over keys and values of its own sequence, as in decoding one
//! token at a time.

use candle_core::{Device, Storage, Tensor};
use rayon::prelude::*;

use super::heads::CachedHeads;
use crate::error::{Error, Result};
use crate::ops::{dot, softmax_row, with_slices};

/// What a thread holds while it works, kept from one task to the next.
#[derive(Default)]
struct Buffers {
    /// The attention weights of the task's heads, one after the other.
    weights: Vec<f32>,
    /// Widened keys or values.
    rows: Vec<f32>,
}

/// Attention of row `i` of `q` (`[n, heads, d]`) over every key of `cached[i]`, on the CPU in f32;
/// returns `[n, heads * d]`. A row's result does not depend on the others.
pub(super) fn rows(q: &Tensor, cached: &[(Tensor, Tensor)]) -> Result<Tensor> {
    let (rows, heads, dim) = q.dims3()?;
    if cached.len() != rows {
        let message = format!("caches of {} sequences for {rows} rows", cached.len());
        return Err(Error::input("attention", message));
    }
    let stored: Vec<_> = cached.iter().flat_map(|(k, v)| [k, v]).collect();
    let stored: Vec<_> = stored.into_iter().map(Tensor::storage_and_layout).collect();
    let mut views = Vec::with_capacity(stored.len());
    for (storage, layout) in &stored {
        let Storage::Cpu(storage) = &**storage else {
            return Err(Error::input("attention", "keys or values that are not on the CPU"));
        };
        views.push(CachedHeads::new(storage, layout)?);
    }
    let (views, _) = views.as_chunks::<2>();
    let kv_heads = views.first().map_or(1, |[k, _]| k.dims().0).max(1);
    let fits = |[k, v]: &[CachedHeads; 2]| {
        let shape = k.dims();
        shape == v.dims() && (shape.0, shape.2) == (kv_heads, dim)
    };
    if !heads.is_multiple_of(kv_heads) || !views.iter().all(fits) {
        return Err(Error::input("attention", "keys and values of different shapes"));
    }
    let out = with_slices([q], |[q]| attend(q, views, (heads, kv_heads, dim)))?;
    Ok(Tensor::from_vec(out, (rows, heads * dim), &Device::Cpu)?)
}

/// All rows and heads in one parallel loop. A task takes the query heads that share keys and values,
/// or, where that would leave threads without work, one of them.
fn attend(
    q: &[f32],
    views: &[[CachedHeads; 2]],
    (heads, kv_heads, dim): (usize, usize, usize),
) -> Vec<f32> {
    let group = heads / kv_heads;
    let enough = views.len() * kv_heads >= rayon::current_num_threads();
    let together = if enough { group } else { 1 };
    let (per_row, per_kv_head) = (heads / together, group / together);
    let mut out = vec![0.0_f32; q.len()];
    out.par_chunks_mut(together * dim).zip(q.par_chunks(together * dim)).enumerate().for_each_init(
        Buffers::default,
        |buffers, (task, (out, q))| {
            let shared =
                Shared { cached: &views[task / per_row], head: task % per_row / per_kv_head };
            shared.attend(q, out, buffers);
        },
    );
    out
}

/// A head of keys and values of one sequence.
struct Shared<'a> {
    cached: &'a [CachedHeads<'a>; 2],
    head: usize,
}

impl Shared<'_> {
    /// Attention of some query heads that share the keys and values: weights key after key, then the
    /// mean of the values in the same order.
    fn attend(&self, q: &[f32], out: &mut [f32], Buffers { weights, rows }: &mut Buffers) {
        let [keys, values] = self.cached;
        let (_, count, dim) = keys.dims();
        weights.resize(q.len() / dim * count, 0.0);
        let tiles = |tile: usize| {
            (0..count).step_by(tile).map(move |start| start..(start + tile).min(count))
        };
        for part in tiles(keys.tile()) {
            let keys = keys.rows(self.head, part.clone(), rows);
            for (q, weights) in q.chunks_exact(dim).zip(weights.chunks_exact_mut(count)) {
                for (weight, key) in weights[part.clone()].iter_mut().zip(keys.chunks_exact(dim)) {
                    *weight = dot(q, key);
                }
            }
        }
        let scale = (dim as f32).powf(-0.5);
        weights.chunks_exact_mut(count).for_each(|weights| softmax_row(weights, scale));
        for part in tiles(values.tile()) {
            let values = values.rows(self.head, part.clone(), rows);
            for (out, weights) in out.chunks_exact_mut(dim).zip(weights.chunks_exact(count)) {
                for (weight, value) in weights[part.clone()].iter().zip(values.chunks_exact(dim)) {
                    for (o, x) in out.iter_mut().zip(value) {
                        *o = weight.mul_add(*x, *o);
                    }
                }
            }
        }
    }
}
