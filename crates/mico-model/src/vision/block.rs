//! One block of any vision tower: attention within spans and an MLP, each with a pre-norm and a
//! residual connection.

use std::ops::Range;

use candle_core::{DType, Tensor};

use crate::attention::{AttentionInput, attention};
use crate::checkpoint::Part;
use crate::config::Activation;
use crate::error::Result;
use crate::linear::Linear;
use crate::norm::{LayerNorm, RmsNorm};
use crate::ops;
use crate::relevance::column_means;
use crate::weights::{Builder, LinearShape};

/// The layer norm or RMS norm of a tower.
#[derive(Debug)]
pub(crate) enum Norm {
    Layer(LayerNorm),
    Rms(RmsNorm),
}

impl Norm {
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Layer(norm) => norm.forward(x),
            Self::Rms(norm) => norm.forward(x),
        }
    }
}

/// Which normalisation a tower uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NormKind {
    Layer,
    Rms,
}

impl NormKind {
    /// Builds the norm whose tensor is called `name` in the vision part.
    pub(crate) fn build(self, b: &mut Builder, name: &str, width: usize, eps: f64) -> Result<Norm> {
        Ok(match self {
            Self::Layer => Norm::Layer(b.layer_norm(Part::Vision, name, width, eps)?),
            Self::Rms => Norm::Rms(b.rms_norm(Part::Vision, name, width, eps)?),
        })
    }
}

/// How a checkpoint names the query, key and value projections.
#[derive(Debug, Clone, Copy)]
pub(crate) enum QkvNames {
    /// Three separate matrices: query, key, value.
    Split([&'static str; 3]),
    /// One matrix, whose rows are queries, keys and values in this order.
    Fused(&'static str),
}

/// How a checkpoint names the MLP's layers, and so which kind it is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MlpNames {
    /// A two-layer MLP, `second(act(first x))`.
    Plain([&'static str; 2]),
    /// A gated MLP, `down(silu(gate x) * up x)`.
    Gated([&'static str; 3]),
}

/// Names of a block's tensors after its prefix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockNames {
    pub(crate) norms: [&'static str; 2],
    pub(crate) qkv: QkvNames,
    pub(crate) output: &'static str,
    pub(crate) mlp: MlpNames,
    /// Vectors that scale the outputs of attention and MLP (layer scale); `None` without.
    pub(crate) scales: Option<[&'static str; 2]>,
}

/// Widths, heads and options of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockShape {
    pub(crate) width: usize,
    pub(crate) inner: usize,
    pub(crate) heads: usize,
    /// Whether query, key and value projections have biases.
    pub(crate) qkv_bias: bool,
    pub(crate) norm: NormKind,
    pub(crate) eps: f64,
    pub(crate) activation: Activation,
}

#[derive(Debug)]
enum Qkv {
    Split([Linear; 3]),
    Fused(Linear),
}

#[derive(Debug)]
enum Mlp {
    Plain { first: Linear, second: Linear, activation: Activation },
    Gated { gate: Linear, up: Linear, down: Linear },
}

/// Which queries' attention to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Observe {
    /// That of the first token (CLS) of each span, averaged over heads.
    First,
    /// That of all tokens of a span, averaged over heads and queries.
    All,
}

/// How a block's tokens attend, and what to record of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mixing<'a> {
    /// Tokens attend within their span; spans are contiguous and cover all tokens.
    pub(crate) spans: &'a [Range<usize>],
    /// Cosines and sines `[n, head width / 2]` for towers with `RoPE`.
    pub(crate) rotary: Option<(&'a Tensor, &'a Tensor)>,
    /// Which queries' attention to record; `None` for no recording.
    pub(crate) observe: Option<Observe>,
    /// Whether to record the keys.
    pub(crate) keys: bool,
}

/// The attention and keys recorded in a block.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The attention each token receives within its span; `None` unless asked for.
    pub(crate) attention: Option<Vec<f32>>,
    /// Keys `[n, head width]` before `RoPE`, averaged over heads; `None` unless asked for.
    pub(crate) keys: Option<Tensor>,
}

/// The weights of a vision block.
#[derive(Debug)]
pub(crate) struct VisionBlock {
    heads: usize,
    norms: [Norm; 2],
    qkv: Qkv,
    output: Linear,
    mlp: Mlp,
    scales: Option<[Tensor; 2]>,
}

impl VisionBlock {
    pub(crate) fn build(
        b: &mut Builder,
        prefix: &str,
        shape: BlockShape,
        names: BlockNames,
    ) -> Result<Self> {
        let BlockShape { width, inner, heads, qkv_bias, norm, eps, activation } = shape;
        let name = |part: &str| format!("{prefix}.{part}");
        let mut project = |part: &str, output| {
            let shape = LinearShape { input: width, output, bias: qkv_bias };
            b.dense(Part::Vision, &name(part), shape)
        };
        let qkv = match names.qkv {
            QkvNames::Split([q, k, v]) => {
                Qkv::Split([project(q, width)?, project(k, width)?, project(v, width)?])
            }
            QkvNames::Fused(qkv) => Qkv::Fused(project(qkv, 3 * width)?),
        };
        let mut linear = |part: &str, input, output| {
            b.dense(Part::Vision, &name(part), LinearShape { input, output, bias: true })
        };
        let output = linear(names.output, width, width)?;
        let mlp = match names.mlp {
            MlpNames::Plain([first, second]) => Mlp::Plain {
                first: linear(first, width, inner)?,
                second: linear(second, inner, width)?,
                activation,
            },
            MlpNames::Gated([gate, up, down]) => Mlp::Gated {
                gate: linear(gate, width, inner)?,
                up: linear(up, width, inner)?,
                down: linear(down, inner, width)?,
            },
        };
        let [first, second] = names.norms;
        let norms =
            [norm.build(b, &name(first), width, eps)?, norm.build(b, &name(second), width, eps)?];
        let scales = match names.scales {
            Some([first, second]) => Some([
                b.tensor(Part::Vision, &name(first), &[width])?,
                b.tensor(Part::Vision, &name(second), &[width])?,
            ]),
            None => None,
        };
        Ok(Self { heads, norms, qkv, output, mlp, scales })
    }

    /// Runs the block on hidden states `[n, d]`.
    pub(crate) fn forward(&self, hidden: &Tensor, mixing: Mixing<'_>) -> Result<(Tensor, Seen)> {
        let (mixed, seen) = self.mix(&self.norms[0].forward(hidden)?, mixing)?;
        let hidden = self.add(0, hidden, &self.output, &mixed)?;
        let x = self.norms[1].forward(&hidden)?;
        let (last, x) = match &self.mlp {
            Mlp::Plain { first, second, activation } => {
                (second, first.forward_with(&x, *activation)?)
            }
            Mlp::Gated { gate, up, down } => {
                (down, ops::gate(gate.forward(&x)?, &up.forward(&x)?)?)
            }
        };
        Ok((self.add(1, &hidden, last, &x)?, seen))
    }

    /// Adds the output of the last layer of attention (0) or MLP (1) to the residual stream.
    fn add(&self, which: usize, hidden: &Tensor, layer: &Linear, x: &Tensor) -> Result<Tensor> {
        match &self.scales {
            Some(scales) => Ok((hidden + layer.forward(x)?.broadcast_mul(&scales[which])?)?),
            None => layer.forward_onto(hidden, x),
        }
    }

    fn mix(&self, x: &Tensor, mixing: Mixing<'_>) -> Result<(Tensor, Seen)> {
        let (rows, width) = x.dims2()?;
        let [q, k, v] = match &self.qkv {
            Qkv::Split([q, k, v]) => [q.forward(x)?, k.forward(x)?, v.forward(x)?],
            Qkv::Fused(qkv) => {
                let all = qkv.forward(x)?;
                let part = |at: usize| all.narrow(1, at * width, width)?.contiguous();
                [part(0)?, part(1)?, part(2)?]
            }
        };
        let keys = mixing.keys.then(|| self.head_means(&k)).transpose()?;
        let turn = |x: &Tensor| match mixing.rotary {
            Some((cos, sin)) => ops::rotate_heads(x, self.heads, cos, sin),
            None => ops::split_heads(x, self.heads),
        };
        let (q, k, v) = (turn(&q)?, turn(&k)?, ops::split_heads(&v, self.heads)?);
        let mut mixed = Vec::with_capacity(mixing.spans.len());
        let mut seen = mixing.observe.map(|_| Vec::with_capacity(rows));
        for span in mixing.spans {
            let part = |t: &Tensor| t.narrow(1, span.start, span.len());
            let (q, k, v) = (part(&q)?, part(&k)?, part(&v)?);
            mixed.push(attention(&AttentionInput { q: &q, k: &k, v: &v, causal: false })?);
            if let (Some(observe), Some(seen)) = (mixing.observe, &mut seen) {
                let queries = match observe {
                    Observe::First => q.narrow(1, 0, 1)?,
                    Observe::All => q,
                };
                let visible = vec![span.len(); queries.dim(1)?];
                seen.extend(column_means(&queries.contiguous()?, &k, &visible)?);
            }
        }
        let mixed = if mixed.len() == 1 { mixed.swap_remove(0) } else { Tensor::cat(&mixed, 0)? };
        Ok((mixed, Seen { attention: seen, keys }))
    }

    /// The mean over heads of `[n, d]`.
    fn head_means(&self, x: &Tensor) -> Result<Tensor> {
        let (rows, width) = x.dims2()?;
        let split = x.to_dtype(DType::F32)?.reshape((rows, self.heads, width / self.heads))?;
        Ok(split.mean(1)?)
    }
}
