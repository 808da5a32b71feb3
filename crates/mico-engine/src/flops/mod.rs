//! Logical dense-equivalent FLOPs of a prefill, counted as the paper counts them.
//!
//! A product of an `m x k` and a `k x n` matrix is `2 m n k`; attention counts the whole `N x N` map,
//! whatever a kernel skips; norms, activations, indexing and sorting count nothing. One step of a
//! dense greedy selection over `N` tokens is `3 N^2`, whatever a lazy one saves; each method counts what
//! its published form does.

mod decoder;
mod pruning;

pub(crate) use pruning::visual_per_block;
pub use pruning::{Planned, PruningWork};

use mico_model::{Grid, ModelConfig};
use serde::Serialize;

const GIGA: f64 = 1e9;

/// Positions the output head is counted over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Head {
    /// The last one: what the engine runs.
    #[default]
    Last,
    /// The whole prefill, as in the paper's tables.
    All,
}

/// One prefill to be counted: the model's shape and the tokens each part of it processes.
#[derive(Debug, Clone)]
pub struct Prefill<'a> {
    /// Shape of the model: widths, heads and blocks of tower, projector and decoder.
    pub config: &'a ModelConfig,
    /// Groups of visual tokens (views, images, tiles, frames) that go through the tower.
    pub grids: &'a [Grid],
    /// Tokens in each decoder block, text included.
    pub tokens_per_block: &'a [usize],
    /// Where the head runs.
    pub head: Head,
    /// FLOPs the pruning method adds to the model's own.
    pub pruning: PruningWork,
}

/// FLOPs of one prefill by component, in units of 10^9; a multiply-add counts as two.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Gflops {
    /// Vision tower up to the selected layer.
    pub vision_encoder: f64,
    /// Projector from the tower's width to the decoder's, patch merging included.
    pub projector: f64,
    /// Pooling of visual tokens; 0 for families that do none.
    pub visual_pooling: f64,
    /// All decoder blocks, each with the tokens that are left there.
    pub decoder: f64,
    /// Output head (`lm_head`), on as many tokens as [`Head`] says.
    pub output_head: f64,
    /// Stage-1 similarities and selection.
    pub stage1: f64,
    /// Attention rows recomputed for Stage 2.
    pub stage2_relevance: f64,
    /// Stage-2 similarities and selection.
    pub stage2_select: f64,
    /// Sum of all components above.
    pub total: f64,
}

impl Gflops {
    /// The part that pruning changes: blocks, head, and what pruning itself costs.
    pub fn after_projector(&self) -> f64 {
        self.total - self.vision_encoder - self.projector - self.visual_pooling
    }

    fn summed(mut self) -> Self {
        self.total = self.vision_encoder
            + self.projector
            + self.visual_pooling
            + self.decoder
            + self.output_head
            + self.stage1
            + self.stage2_relevance
            + self.stage2_select;
        self
    }
}

/// Counts a prefill.
///
/// ```
/// use mico_engine::flops::{Head, Prefill, prefill};
/// let config = mico_model::Preset::find("llava-1.5-7b")?.config();
/// let tokens = [576 + 69; 32];
/// let work = Prefill {
///     config: &config,
///     grids: &[mico_model::Grid { rows: 24, columns: 24 }],
///     tokens_per_block: &tokens,
///     head: Head::Last,
///     pruning: Default::default(),
/// };
/// assert_eq!(prefill(&work)?.total.round(), 8963.0);
/// # Ok::<(), mico_model::Error>(())
/// ```
pub fn prefill(work: &Prefill<'_>) -> mico_model::Result<Gflops> {
    let config = work.config;
    let decoder = &config.decoder;
    let width = decoder.hidden_size as f64;
    let seen = config.vision.flops(work.grids, decoder.hidden_size)?;
    let blocks = work.tokens_per_block.iter().enumerate();
    let blocks = blocks.map(|(block, &tokens)| decoder::block(decoder, block, tokens));
    let positions = match work.head {
        Head::Last => 1,
        Head::All => work.tokens_per_block.last().copied().unwrap_or(0),
    };
    Ok(Gflops {
        vision_encoder: seen.encoder / GIGA,
        projector: seen.projector / GIGA,
        visual_pooling: seen.pooling / GIGA,
        decoder: blocks.sum::<f64>() / GIGA,
        output_head: 2.0 * positions as f64 * width * decoder.vocab_size as f64 / GIGA,
        stage1: work.pruning.stage1 / GIGA,
        stage2_relevance: work.pruning.relevance / GIGA,
        stage2_select: work.pruning.select / GIGA,
        total: 0.0,
    }
    .summed())
}
