//! Attention of many query rows on the CPU in f32, as in prefill: a thread takes one tile of a head's
//! query rows at a time and holds only their scores.

use candle_core::{CpuStorage, CustomOp3, Layout, Shape, Tensor};
use rayon::prelude::*;

use super::heads::{CachedHeads, Heads};
use super::tiled::AttentionInput;
use crate::error::Result;
use crate::ops::{PANEL, PanelShape, Rows, product, softmax_row};

/// Query rows per tile: six register blocks of rows. A smaller tile skips more of what the causal mask
/// hides, a larger one reads keys and values less often.
const TILE_ROWS: usize = 36;

struct Prefill {
    causal: bool,
}

/// The keys of every head in panels of [`PANEL`] keys, each transposed to `[d, PANEL]` and the last
/// one filled up with zeros.
struct Panels {
    data: Vec<f32>,
    /// The number of values in the panels of one head.
    size: usize,
    dim: usize,
}

impl Panels {
    fn new(keys: &CachedHeads) -> Self {
        let (heads, count, dim) = keys.dims();
        let size = count.div_ceil(PANEL) * dim * PANEL;
        let mut data = vec![0.0_f32; heads * size];
        data.par_chunks_mut(size.max(1)).enumerate().for_each(|(head, out)| {
            let mut buffer = Vec::new();
            for (index, panel) in out.chunks_exact_mut(dim * PANEL).enumerate() {
                let part = index * PANEL..((index + 1) * PANEL).min(count);
                let rows = keys.rows(head, part, &mut buffer);
                for (lane, row) in rows.chunks_exact(dim).enumerate() {
                    for (line, value) in panel.as_chunks_mut::<PANEL>().0.iter_mut().zip(row) {
                        line[lane] = *value;
                    }
                }
            }
        });
        Self { data, size, dim }
    }

    /// The key panels of a head.
    fn head(&self, head: usize) -> impl Iterator<Item = Rows<'_>> {
        let panels = self.data[head * self.size..][..self.size].chunks_exact(self.dim * PANEL);
        panels.map(|data| Rows { data, stride: PANEL })
    }
}

/// Some rows of a head's output, computed by one thread.
struct Tile<'a, 'b> {
    head: usize,
    start: usize,
    rows: &'a mut [&'b mut [f32]],
}

/// What a thread holds for the tile it works on, kept from one tile to the next.
#[derive(Default)]
struct Buffers {
    /// A row of scores, then of attention weights, for each query row.
    scores: Vec<f32>,
    /// The output rows side by side: those of a tile lie apart in the output.
    mixed: Vec<f32>,
}

/// What all tiles read.
struct Operands<'a> {
    queries: Heads<'a>,
    keys: Panels,
    values: Heads<'a>,
    /// Query heads per head of keys and values (grouped-query attention).
    group: usize,
    /// Keys before the first query's own, from earlier calls.
    offset: usize,
    scale: f32,
    causal: bool,
}

impl Operands<'_> {
    /// Computes a tile: scores, softmax over the keys each row may see, mean of the values.
    fn attend(&self, tile: Tile<'_, '_>, Buffers { scores, mixed }: &mut Buffers) {
        let Tile { head, start, rows } = tile;
        let (count, dim) = (rows.len(), self.queries.dim);
        let seen = if self.causal { self.offset + start + count } else { self.values.keys };
        let stride = seen.next_multiple_of(PANEL);
        scores.resize(count * stride, 0.0);
        mixed.resize(count * dim, 0.0);
        let q = &self.queries.head(head)[start * dim..][..count * dim];
        let q = Rows { data: q, stride: dim };
        let shape = PanelShape { rows: count, depth: dim, columns: PANEL };
        let keys = self.keys.head(head / self.group);
        for (panel, keys) in keys.take(stride / PANEL).enumerate() {
            product(q, keys, &mut scores[panel * PANEL..], stride, shape);
        }
        for (row, scores) in scores.chunks_exact_mut(stride).enumerate() {
            let visible = if self.causal { self.offset + start + row + 1 } else { seen };
            let (shown, hidden) = scores.split_at_mut(visible);
            softmax_row(shown, self.scale);
            hidden.fill(0.0);
        }
        let weights = Rows { data: scores, stride };
        let v = Rows { data: self.values.head(head / self.group), stride: dim };
        let shape = PanelShape { rows: count, depth: seen, columns: dim };
        product(weights, v, mixed, dim, shape);
        for (row, mixed) in rows.iter_mut().zip(mixed.chunks_exact(dim)) {
            row.copy_from_slice(mixed);
        }
    }
}

/// The rows of an output `[n, heads * d]`, head by head.
fn rows_by_head(out: &mut [f32], heads: usize, dim: usize) -> Vec<Vec<&mut [f32]>> {
    let mut by_head: Vec<Vec<&mut [f32]>> = Vec::new();
    let rows = out.len() / (heads * dim).max(1);
    by_head.resize_with(heads, || Vec::with_capacity(rows));
    for row in out.chunks_exact_mut(heads * dim) {
        for (head, part) in by_head.iter_mut().zip(row.chunks_exact_mut(dim)) {
            head.push(part);
        }
    }
    by_head
}

impl CustomOp3 for Prefill {
    fn name(&self) -> &'static str {
        "prefill-attention"
    }

    fn cpu_fwd(
        &self,
        q: &CpuStorage,
        q_layout: &Layout,
        k: &CpuStorage,
        k_layout: &Layout,
        v: &CpuStorage,
        v_layout: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let queries = Heads::new(q, q_layout)?;
        // Every tile reads all values, so those in half precision are widened once for all tiles.
        let mut buffer = Vec::new();
        let values = CachedHeads::new(v, v_layout)?.widened(&mut buffer);
        let keys = Panels::new(&CachedHeads::new(k, k_layout)?);
        let (heads, rows, dim) = (queries.count, queries.keys, queries.dim);
        let width = heads * dim;
        let mut out = vec![0.0_f32; rows * width];
        let mut by_head = rows_by_head(&mut out, heads, dim);
        // Head after head, so that keys and values stay in a thread's cache.
        let tiles: Vec<Tile> = by_head
            .iter_mut()
            .enumerate()
            .flat_map(|(head, rows)| {
                let tiles = rows.chunks_mut(TILE_ROWS).enumerate();
                tiles.map(move |(tile, rows)| Tile { head, start: tile * TILE_ROWS, rows })
            })
            .collect();
        let operands = Operands {
            group: heads / values.count,
            offset: values.keys - rows.min(values.keys),
            scale: (dim as f32).powf(-0.5),
            causal: self.causal,
            queries,
            keys,
            values,
        };
        tiles
            .into_par_iter()
            .for_each_init(Buffers::default, |buffers, tile| operands.attend(tile, buffers));
        Ok((CpuStorage::F32(out), Shape::from((rows, width))))
    }
}

/// Attention of all query rows; returns `[n, heads * d]`.
pub(super) fn many_rows(input: &AttentionInput) -> Result<Tensor> {
    let q = input.q.contiguous()?;
    Ok(q.apply_op3_no_bwd(input.k, input.v, &Prefill { causal: input.causal })?)
}
