//! The gated delta rule for a run of tokens in chunks, which turns the recurrence into matrix products.
//!
//! Within a chunk let `D[i][j]` be the product of `keep` over the tokens after `j` up to `i`, and
//! `P[i]` that over all tokens up to `i`. Unrolling the recurrence from the memory `S` at the chunk's
//! beginning, the corrections `d` solve a unit lower triangular system, and the rest are products:
//!
//! ```text
//! d[i] + sum_{j<i} write[i] (k[i].k[j]) D[i][j] d[j] = write[i] (v[i] - P[i] S^T k[i])
//! o[i] = P[i] S^T q[i] + sum_{j<=i} (q[i].k[j]) D[i][j] d[j]
//! S <- P[last] S + sum_j D[last][j] k[j] d[j]^T
//! ```
//!
//! `D` is built as running products: there is no exponential of a difference, so nothing overflows
//! and nothing above the diagonal is ever computed.

use super::DeltaShape;
use super::head::{Gates, KeyHead};
use crate::ops::{PANEL, PanelShape, Rows, product};

/// Tokens per chunk. Longer chunks read the memory less often but solve larger systems.
const CHUNK: usize = 64;
/// Corrections solved together once those before them are known (block forward substitution).
const SOLVED_TOGETHER: usize = 16;

/// Updates the states of the key head's value heads and writes their outputs,
/// `[group, tokens, value_dim]`.
pub(super) fn run(head: &KeyHead, tokens: usize, memory: &mut [f32], out: &mut [f32]) {
    let shape = head.rule.shape;
    let (key_dim, dim) = (shape.key_dim, shape.value_dim);
    let mut chunk = Chunk::new(shape);
    for start in (0..tokens).step_by(CHUNK) {
        chunk.load(head, start, CHUNK.min(tokens - start));
        let memory = memory.chunks_exact_mut(key_dim * dim);
        for (member, (memory, out)) in memory.zip(out.chunks_exact_mut(tokens * dim)).enumerate() {
            chunk.weigh(head, member, start);
            chunk.solve(member, memory);
            chunk.read(&mut out[start * dim..][..chunk.len * dim]);
            chunk.write(memory);
        }
    }
}

/// Buffers for one chunk of a key head, reused by its value heads one after another.
struct Chunk {
    shape: DeltaShape,
    /// The number of tokens in the chunk, at most [`CHUNK`].
    len: usize,
    /// Keys, then queries, `[2 len, key_dim]`.
    keys_queries: Vec<f32>,
    /// Keys transposed, `[key_dim, CHUNK]`, zeros after the last token.
    transposed: Vec<f32>,
    /// Products of keys and queries with every key, `[2 len, CHUNK]`.
    scores: Vec<f32>,
    /// Values of all value heads of the group, `[len, group * value_dim]`.
    values: Vec<f32>,
    /// The gates of the current value head, one pair per token.
    gates: Vec<Gates>,
    /// `P[i]`: the decay of the initial state up to each token.
    since_start: Vec<f32>,
    /// `D[last][j]`: the decay of each token's contribution up to the end of the chunk.
    until_end: Vec<f32>,
    /// Coefficients of earlier corrections in each one, `[len, CHUNK]` below the diagonal.
    owed: Vec<f32>,
    /// Coefficients of the corrections in each output, `[len, CHUNK]`.
    taken: Vec<f32>,
    /// The initial state read by keys and queries, `[2 len, value_dim]`.
    recalled: Vec<f32>,
    /// The corrections `d`, `[len, value_dim]`.
    corrections: Vec<f32>,
    /// Scratch for updates of corrections and of the state, `[max(key_dim, len), value_dim]`.
    update: Vec<f32>,
}

impl Chunk {
    fn new(shape: DeltaShape) -> Self {
        let (key_dim, dim) = (shape.key_dim, shape.value_dim);
        let zeros = |count: usize| vec![0.0_f32; count];
        Self {
            shape,
            len: 0,
            keys_queries: zeros(2 * CHUNK * key_dim),
            transposed: zeros(key_dim * CHUNK),
            scores: zeros(2 * CHUNK * CHUNK),
            values: zeros(CHUNK * shape.group() * dim),
            gates: Vec::with_capacity(CHUNK),
            since_start: zeros(CHUNK),
            until_end: zeros(CHUNK),
            owed: zeros(CHUNK * CHUNK),
            taken: zeros(CHUNK * CHUNK),
            recalled: zeros(2 * CHUNK * dim),
            corrections: zeros(CHUNK * dim),
            update: zeros(CHUNK.max(key_dim) * dim),
        }
    }

    /// Loads keys, queries and values of `len` tokens from `start` on.
    fn load(&mut self, head: &KeyHead, start: usize, len: usize) {
        let key_dim = self.shape.key_dim;
        self.len = len;
        let (keys, queries) = self.keys_queries.split_at_mut(len * key_dim);
        head.keys(start, keys);
        head.queries(start, &mut queries[..len * key_dim]);
        head.values(start, &mut self.values[..len * self.shape.group() * self.shape.value_dim]);
        for (channel, row) in self.transposed.chunks_exact_mut(CHUNK).enumerate() {
            for (to, key) in row.iter_mut().zip(keys.chunks_exact(key_dim)) {
                *to = key[channel];
            }
            row[len..].fill(0.0);
        }
        let shape =
            PanelShape { rows: 2 * len, depth: key_dim, columns: len.next_multiple_of(PANEL) };
        let rows = Rows { data: &self.keys_queries, stride: key_dim };
        let columns = Rows { data: &self.transposed, stride: CHUNK };
        product(rows, columns, &mut self.scores, CHUNK, shape);
    }

    /// Computes the gates of a value head, and the scores weighted by their decay.
    fn weigh(&mut self, head: &KeyHead, member: usize, start: usize) {
        let len = self.len;
        self.gates.clear();
        self.gates.extend((start..start + len).map(|token| head.gates(member, token)));
        let (keys, queries) = self.scores.split_at(len * CHUNK);
        let mut kept = 1.0_f32;
        for (i, gates) in self.gates.iter().enumerate() {
            kept *= gates.keep;
            self.since_start[i] = kept;
            let decay = &mut self.until_end[..=i];
            for d in &mut decay[..i] {
                let next = *d * gates.keep;
                // Subnormal numbers are slow and contribute nothing.
                *d = if next < f32::MIN_POSITIVE { 0.0 } else { next };
            }
            decay[i] = 1.0;
            let owed = &mut self.owed[i * CHUNK..][..i];
            for ((to, score), d) in owed.iter_mut().zip(&keys[i * CHUNK..]).zip(&*decay) {
                *to = gates.write * score * d;
            }
            let (taken, later) = self.taken[i * CHUNK..][..len].split_at_mut(i + 1);
            for ((to, score), d) in taken.iter_mut().zip(&queries[i * CHUNK..]).zip(&*decay) {
                *to = score * d;
            }
            later.fill(0.0);
        }
    }

    /// Solves for the corrections of a value head.
    fn solve(&mut self, member: usize, memory: &[f32]) {
        let (len, key_dim, dim) = (self.len, self.shape.key_dim, self.shape.value_dim);
        let rows = Rows { data: &self.keys_queries, stride: key_dim };
        let shape = PanelShape { rows: 2 * len, depth: key_dim, columns: dim };
        let memory = Rows { data: memory, stride: dim };
        product(rows, memory, &mut self.recalled, dim, shape);
        let width = self.shape.group() * dim;
        for (i, gates) in self.gates.iter().enumerate() {
            let value = &self.values[i * width + member * dim..][..dim];
            let recalled = &self.recalled[i * dim..][..dim];
            let correction = &mut self.corrections[i * dim..][..dim];
            for ((to, v), r) in correction.iter_mut().zip(value).zip(recalled) {
                *to = gates.write * (v - self.since_start[i] * r);
            }
        }
        for first in (0..len).step_by(SOLVED_TOGETHER) {
            let last = len.min(first + SOLVED_TOGETHER);
            self.subtract(first..last, 0..first);
            for i in first + 1..last {
                self.subtract(i..i + 1, first..i);
            }
        }
    }

    /// Subtracts the contributions of the corrections `known` from the corrections `rows`.
    fn subtract(&mut self, rows: std::ops::Range<usize>, known: std::ops::Range<usize>) {
        let dim = self.shape.value_dim;
        if known.is_empty() {
            return;
        }
        let shape = PanelShape { rows: rows.len(), depth: known.len(), columns: dim };
        let owed = Rows { data: &self.owed[rows.start * CHUNK + known.start..], stride: CHUNK };
        let solved = Rows { data: &self.corrections[known.start * dim..], stride: dim };
        product(owed, solved, &mut self.update, dim, shape);
        let corrections = &mut self.corrections[rows.start * dim..rows.end * dim];
        for (to, owed) in corrections.iter_mut().zip(&self.update) {
            *to -= owed;
        }
    }

    /// Computes the outputs of a value head.
    fn read(&mut self, out: &mut [f32]) {
        let (len, dim) = (self.len, self.shape.value_dim);
        let taken = Rows { data: &self.taken, stride: CHUNK };
        let corrections = Rows { data: &self.corrections, stride: dim };
        product(taken, corrections, out, dim, PanelShape { rows: len, depth: len, columns: dim });
        let recalled = self.recalled[len * dim..].chunks_exact(dim);
        for ((out, recalled), kept) in
            out.chunks_exact_mut(dim).zip(recalled).zip(&self.since_start)
        {
            for (o, r) in out.iter_mut().zip(recalled) {
                *o = kept.mul_add(*r, *o);
            }
        }
    }

    /// Updates the state of a value head to the end of the chunk. Overwrites the corrections, which are
    /// no longer needed.
    fn write(&mut self, memory: &mut [f32]) {
        let (len, key_dim, dim) = (self.len, self.shape.key_dim, self.shape.value_dim);
        for (row, left) in self.corrections.chunks_exact_mut(dim).zip(&self.until_end[..len]) {
            row.iter_mut().for_each(|d| *d *= left);
        }
        let keys = Rows { data: &self.transposed, stride: CHUNK };
        let corrections = Rows { data: &self.corrections, stride: dim };
        let shape = PanelShape { rows: key_dim, depth: len, columns: dim };
        product(keys, corrections, &mut self.update, dim, shape);
        let kept = self.since_start[len - 1];
        for (s, update) in memory.iter_mut().zip(&self.update) {
            *s = kept.mul_add(*s, *update);
        }
    }
}
