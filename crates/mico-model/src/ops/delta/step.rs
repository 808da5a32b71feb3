//! The gated delta rule for a single token, as in decoding: two passes over the state.

use super::head::KeyHead;

/// Updates the states of the key head's value heads and writes their outputs, `[group, value_dim]`.
pub(super) fn run(head: &KeyHead, memory: &mut [f32], out: &mut [f32]) {
    let shape = head.rule.shape;
    let (key_dim, dim) = (shape.key_dim, shape.value_dim);
    let (mut q, mut k) = (vec![0.0_f32; key_dim], vec![0.0_f32; key_dim]);
    let mut values = vec![0.0_f32; out.len()];
    head.queries(0, &mut q);
    head.keys(0, &mut k);
    head.values(0, &mut values);
    let heads = memory.chunks_exact_mut(key_dim * dim).zip(values.chunks_exact_mut(dim));
    for (member, ((memory, value), out)) in heads.zip(out.chunks_exact_mut(dim)).enumerate() {
        let gates = head.gates(member, 0);
        // The value is corrected by what the state already holds under this key.
        for (row, key) in memory.chunks_exact_mut(dim).zip(&k) {
            for (s, v) in row.iter_mut().zip(value.iter_mut()) {
                *s *= gates.keep;
                *v = s.mul_add(-key, *v);
            }
        }
        value.iter_mut().for_each(|v| *v *= gates.write);
        out.fill(0.0);
        for ((row, key), query) in memory.chunks_exact_mut(dim).zip(&k).zip(&q) {
            for ((s, v), o) in row.iter_mut().zip(&*value).zip(out.iter_mut()) {
                *s = key.mul_add(*v, *s);
                *o = query.mul_add(*s, *o);
            }
        }
    }
}
