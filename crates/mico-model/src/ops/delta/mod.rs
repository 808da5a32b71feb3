//! The gated delta rule (Gated DeltaNet) on the CPU in f32.
//!
//! Each value head keeps a matrix `S` of `key_dim x value_dim`. Per token, with query `q` and key `k`
//! of unit length (the query divided by `sqrt(key_dim)`), value `v`, and two gates:
//!
//! ```text
//! S <- keep S,    d = write (v - S^T k),    S <- S + k d^T,    o = S^T q
//! ```
//!
//! `keep = exp(-rate softplus(a + bias))`, `write = sigmoid(b)`. Queries, keys and values come out of a
//! causal convolution along the tokens, one filter per channel, and a `SiLU`. Consecutive value heads
//! share a key head, so a key head and its value heads are what one thread works on.
//!
//! One token of each of any number of sequences takes a [`step`]; a run of tokens of one sequence is worked off in [`chunk`]s, which turn most of the
//! recurrence into matrix products.

mod chunk;
mod head;
mod output;
mod step;
#[cfg(test)]
mod tests;

pub(crate) use output::{GatedNorm, HeadOutputs};

use rayon::prelude::*;

use head::KeyHead;

/// Head counts and widths of a linear-attention block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeltaShape {
    /// Length of the causal convolution, in tokens.
    pub(crate) kernel: usize,
    pub(crate) key_heads: usize,
    pub(crate) key_dim: usize,
    pub(crate) value_heads: usize,
    pub(crate) value_dim: usize,
}

impl DeltaShape {
    /// Channels of the convolution: all queries, keys and values.
    pub(crate) fn channels(&self) -> usize {
        2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim
    }

    /// The number of values in the state matrices of all value heads.
    pub(crate) fn memory(&self) -> usize {
        self.value_heads * self.key_dim * self.value_dim
    }

    /// The number of values in the convolution's window, the `kernel - 1` inputs before a run.
    pub(crate) fn window(&self) -> usize {
        (self.kernel - 1) * self.channels()
    }

    fn group(&self) -> usize {
        self.value_heads / self.key_heads
    }
}

/// The weights of the gated delta rule.
#[derive(Debug)]
pub(crate) struct DeltaRule {
    pub(crate) shape: DeltaShape,
    /// Convolution filters, `[kernel, channels]`, oldest token first.
    pub(crate) filters: Vec<f32>,
    /// Decay rate of each value head, `exp(A_log)`.
    pub(crate) rate: Vec<f32>,
    /// Bias of each value head's decay gate (`dt_bias`).
    pub(crate) bias: Vec<f32>,
}

/// The linear projections of a run of tokens, which the rule takes as input.
#[derive(Clone, Copy)]
pub(crate) struct Projected<'a> {
    /// Queries, keys and values before the convolution, `[n, channels]`.
    pub(crate) mixed: &'a [f32],
    /// Write gates before the sigmoid, `[n, value_heads]`.
    pub(crate) write: &'a [f32],
    /// Decay gates before bias and softplus, `[n, value_heads]`.
    pub(crate) forget: &'a [f32],
}

/// The recurrent state of one sequence, as a step reads and updates it.
pub(crate) struct StepState<'a> {
    /// The convolution's inputs before the token, `[kernel - 1, channels]`.
    pub(crate) window: &'a [f32],
    /// The states of all value heads, `[value_heads, key_dim, value_dim]`.
    pub(crate) memory: &'a mut [f32],
}

impl DeltaRule {
    /// Runs tokens through the rule. `window` holds the inputs before them (`[kernel - 1, channels]`)
    /// and `memory` the states (`[value_heads, key_dim, value_dim]`), which are updated.
    pub(crate) fn run(
        &self,
        input: Projected<'_>,
        window: &[f32],
        memory: &mut [f32],
    ) -> HeadOutputs {
        let DeltaShape { key_dim, value_heads, value_dim, .. } = self.shape;
        let tokens = input.write.len() / value_heads;
        if tokens == 1 {
            return self.step(input, &mut [StepState { window, memory }]);
        }
        let group = self.shape.group();
        let mut values = vec![0.0_f32; tokens * value_heads * value_dim];
        values
            .par_chunks_mut(group * tokens * value_dim)
            .zip(memory.par_chunks_mut(group * key_dim * value_dim))
            .enumerate()
            .for_each(|(index, (out, memory))| {
                let head = KeyHead { rule: self, input, window, index };
                chunk::run(&head, tokens, memory, out);
            });
        HeadOutputs { values, tokens, dim: value_dim, heads_first: true }
    }

    /// Runs one token of each of several sequences through the rule, each with its own state.
    pub(crate) fn step(&self, input: Projected<'_>, states: &mut [StepState<'_>]) -> HeadOutputs {
        let DeltaShape { key_heads, key_dim, value_heads, value_dim, .. } = self.shape;
        let (group, channels) = (self.shape.group(), self.shape.channels());
        let tokens = states.len();
        let mut values = vec![0.0_f32; tokens * value_heads * value_dim];
        let mut heads: Vec<(&[f32], &mut [f32])> = Vec::with_capacity(tokens * key_heads);
        for StepState { window, memory } in states {
            let parts = memory.chunks_exact_mut(group * key_dim * value_dim);
            heads.extend(parts.map(|memory| (*window, memory)));
        }
        values.par_chunks_mut(group * value_dim).zip(heads).enumerate().for_each(
            |(at, (out, (window, memory)))| {
                let token = at / key_heads;
                let input = Projected {
                    mixed: &input.mixed[token * channels..][..channels],
                    write: &input.write[token * value_heads..][..value_heads],
                    forget: &input.forget[token * value_heads..][..value_heads],
                };
                let head = KeyHead { rule: self, input, window, index: at % key_heads };
                step::run(&head, memory, out);
            },
        );
        HeadOutputs { values, tokens, dim: value_dim, heads_first: false }
    }

    /// The window after a run: its last `kernel - 1` inputs.
    pub(crate) fn next_window(&self, mixed: &[f32], window: &[f32]) -> Vec<f32> {
        let len = self.shape.window();
        if mixed.len() >= len {
            return mixed[mixed.len() - len..].to_vec();
        }
        [&window[mixed.len()..], mixed].concat()
    }
}
