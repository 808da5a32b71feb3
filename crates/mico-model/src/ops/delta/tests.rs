//! Chunks and steps against the recurrence, token by token in double precision.

use super::*;

/// Repeatable numbers in -1..1.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
        })
        .collect()
}

struct Run {
    rule: DeltaRule,
    mixed: Vec<f32>,
    write: Vec<f32>,
    forget: Vec<f32>,
}

impl Run {
    /// `strength` scales what the tokens say about forgetting.
    fn new(shape: DeltaShape, tokens: usize, strength: f32) -> Self {
        let scaled = |count, seed, by: f32| -> Vec<f32> {
            numbers(count, seed).into_iter().map(|x| by * x).collect()
        };
        let rule = DeltaRule {
            shape,
            filters: numbers(shape.kernel * shape.channels(), 1),
            rate: numbers(shape.value_heads, 2).into_iter().map(|x| (2.0 * x).exp()).collect(),
            bias: numbers(shape.value_heads, 3),
        };
        Self {
            rule,
            mixed: scaled(tokens * shape.channels(), 4, 2.0),
            write: scaled(tokens * shape.value_heads, 5, 4.0),
            forget: scaled(tokens * shape.value_heads, 6, strength),
        }
    }

    fn projected(&self, tokens: std::ops::Range<usize>) -> Projected<'_> {
        let shape = self.rule.shape;
        let (channels, heads) = (shape.channels(), shape.value_heads);
        Projected {
            mixed: &self.mixed[tokens.start * channels..tokens.end * channels],
            write: &self.write[tokens.start * heads..tokens.end * heads],
            forget: &self.forget[tokens.start * heads..tokens.end * heads],
        }
    }

    /// Runs the tokens in parts of the given lengths; gives `[tokens][head][dim]` and the memory.
    fn parts(&self, lengths: &[usize]) -> (Vec<f32>, Vec<f32>) {
        let shape = self.rule.shape;
        let mut window = vec![0.0_f32; shape.window()];
        let mut memory = vec![0.0_f32; shape.memory()];
        let (mut out, mut start) = (Vec::new(), 0);
        for &len in lengths {
            let input = self.projected(start..start + len);
            let heads = self.rule.run(input, &window, &mut memory);
            window = self.rule.next_window(input.mixed, &window);
            for token in 0..len {
                for head in 0..shape.value_heads {
                    let at = (head * len + token) * heads.dim;
                    out.extend_from_slice(&heads.values[at..at + heads.dim]);
                }
            }
            start += len;
        }
        (out, memory)
    }

    /// The recurrence as defined, token by token in f64, which the kernels are compared with.
    fn reference(&self, tokens: usize) -> (Vec<f64>, Vec<f64>) {
        let shape = self.rule.shape;
        let (channels, key_dim, dim) = (shape.channels(), shape.key_dim, shape.value_dim);
        let wide = |x: f32| f64::from(x);
        let mut memory = vec![0.0_f64; shape.memory()];
        let mut out = Vec::new();
        for t in 0..tokens {
            let mixed: Vec<f64> = (0..channels)
                .map(|c| {
                    let sum: f64 = (0..shape.kernel)
                        .filter(|j| t + j + 1 >= shape.kernel)
                        .map(|j| {
                            let from = t + j + 1 - shape.kernel;
                            wide(self.rule.filters[j * channels + c])
                                * wide(self.mixed[from * channels + c])
                        })
                        .sum();
                    sum / (1.0 + (-sum).exp())
                })
                .collect();
            let unit = |at: usize| -> Vec<f64> {
                let row = &mixed[at * key_dim..][..key_dim];
                let length = (row.iter().map(|x| x * x).sum::<f64>() + 1e-6).sqrt();
                row.iter().map(|x| x / length).collect()
            };
            for head in 0..shape.value_heads {
                let key_head = head / (shape.value_heads / shape.key_heads);
                let (q, k) = (unit(key_head), unit(shape.key_heads + key_head));
                let v = &mixed[2 * shape.key_heads * key_dim + head * dim..][..dim];
                let at = t * shape.value_heads + head;
                let forget = wide(self.forget[at]) + wide(self.rule.bias[head]);
                let keep = (-wide(self.rule.rate[head]) * forget.exp().ln_1p()).exp();
                let write = 1.0 / (1.0 + (-wide(self.write[at])).exp());
                let s = &mut memory[head * key_dim * dim..][..key_dim * dim];
                s.iter_mut().for_each(|x| *x *= keep);
                for c in 0..dim {
                    let recalled: f64 = (0..key_dim).map(|r| s[r * dim + c] * k[r]).sum();
                    let correction = write * (v[c] - recalled);
                    (0..key_dim).for_each(|r| s[r * dim + c] += k[r] * correction);
                    let value: f64 = (0..key_dim).map(|r| s[r * dim + c] * q[r]).sum();
                    out.push(value / (key_dim as f64).sqrt());
                }
            }
        }
        (out, memory)
    }
}

fn assert_close(found: &[f32], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(0.0_f64, |top, x| top.max(x.abs()));
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f64::from(*f) - e).abs() <= 1e-5 * scale, "{what} {i}: {f} {e} of {scale}");
    }
}

const SMALL: DeltaShape =
    DeltaShape { kernel: 4, key_heads: 2, key_dim: 16, value_heads: 4, value_dim: 16 };
/// No width is a multiple of a register block.
const ODD: DeltaShape =
    DeltaShape { kernel: 3, key_heads: 1, key_dim: 11, value_heads: 3, value_dim: 21 };

#[test]
fn chunks_agree_with_the_recurrence() {
    for shape in [SMALL, ODD] {
        for tokens in [1, 2, 3, 17, 63, 64, 65, 128, 130] {
            let run = Run::new(shape, tokens, 2.0);
            let (out, memory) = run.parts(&[tokens]);
            let (expected, expected_memory) = run.reference(tokens);
            assert_close(&out, &expected, &format!("{tokens} tokens"));
            assert_close(&memory, &expected_memory, &format!("memory after {tokens}"));
        }
    }
}

#[test]
fn a_run_in_parts_equals_one_run() {
    for shape in [SMALL, ODD, DeltaShape { kernel: 1, ..SMALL }] {
        let run = Run::new(shape, 150, 2.0);
        let (expected, expected_memory) = run.reference(150);
        let steps = vec![1; 150];
        for parts in
            [&[150][..], &[70, 80], &[1, 149], &[149, 1], &[64, 64, 22], &[2, 1, 1, 146], &steps]
        {
            let (out, memory) = run.parts(parts);
            assert_close(&out, &expected, &format!("{parts:?}"));
            assert_close(&memory, &expected_memory, &format!("memory after {parts:?}"));
        }
    }
}

/// Heads that forget everything at once, and heads that forget nothing.
#[test]
fn extreme_gates_neither_overflow_nor_vanish() {
    for strength in [-200.0, 200.0] {
        let mut run = Run::new(SMALL, 130, 0.0);
        run.forget.fill(strength);
        let (out, memory) = run.parts(&[130]);
        assert!(out.iter().chain(&memory).all(|x| x.is_finite()));
        let (expected, expected_memory) = run.reference(130);
        assert_close(&out, &expected, "outputs");
        assert_close(&memory, &expected_memory, "memory");
    }
}

/// The same key again and again is the hardest system to solve: every correction owes to all
/// before it.
#[test]
fn equal_keys_are_solved_accurately() {
    let mut run = Run::new(SMALL, 130, 0.0);
    run.forget.fill(-30.0);
    run.write.fill(9.0);
    let channels = SMALL.channels();
    let keys = SMALL.key_heads * SMALL.key_dim;
    for row in run.mixed.chunks_exact_mut(channels) {
        row[keys..2 * keys].fill(1.5);
    }
    let (out, memory) = run.parts(&[130]);
    let (expected, expected_memory) = run.reference(130);
    assert_close(&out, &expected, "outputs");
    assert_close(&memory, &expected_memory, "memory");
}

#[test]
fn the_gated_norm_is_its_definition() {
    let (tokens, heads, dim) = (5, 3, 7);
    let values = numbers(heads * tokens * dim, 8);
    let outputs = HeadOutputs { values, tokens, dim, heads_first: true };
    let norm = GatedNorm { weight: numbers(dim, 9), eps: 1e-6 };
    let gate = numbers(2 * heads * dim, 10);
    let found = norm.apply(&outputs, &gate);
    for (row, token) in [3, 4].into_iter().enumerate() {
        for head in 0..heads {
            let values = &outputs.values[(head * tokens + token) * dim..][..dim];
            let squares: f64 = values.iter().map(|&x| f64::from(x).powi(2)).sum();
            let root = (squares / dim as f64 + 1e-6).sqrt();
            for c in 0..dim {
                let at = (row * heads + head) * dim + c;
                let g = f64::from(gate[at]);
                let silu = g / (1.0 + (-g).exp());
                let expected = f64::from(values[c]) / root * f64::from(norm.weight[c]) * silu;
                assert!((f64::from(found[at]) - expected).abs() < 1e-6);
            }
        }
    }
}
