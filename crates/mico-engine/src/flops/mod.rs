//! Logical dense-equivalent FLOPs of a prefill, counted as the paper counts them.
//!
//! A product of an `m x k` and a `k x n` matrix is `2 m n k`; attention counts the whole `N x N` map,
//! whatever a kernel skips; norms, activations, indexing and sorting count nothing. One step of a
//! dense greedy selection over `N` tokens is `3 N^2`, whatever a lazy one saves.

mod decoder;
mod vision;

use mico_model::{Grid, ModelConfig};
use serde::Serialize;

/// What one pick of the dense greedy does to each pair of tokens: compare, weigh, add.
const GREEDY_PAIR: f64 = 3.0;
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

/// A selection of `kept` out of `tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Picks {
    /// Candidates.
    pub tokens: usize,
    /// Survivors.
    pub kept: usize,
}

/// Stage 2 as far as it costs arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage2Work {
    /// Text tokens after the image, whose attention rows are recomputed.
    pub queries: usize,
    /// Tokens those rows span: the block's whole sequence.
    pub keys: usize,
    /// The selection.
    pub picks: Picks,
}

/// One prefill.
#[derive(Debug, Clone)]
pub struct Prefill<'a> {
    /// The model.
    pub config: &'a ModelConfig,
    /// Groups of visual tokens (views, images, tiles, frames) that go through the tower.
    pub grids: &'a [Grid],
    /// Tokens in each decoder block, text included.
    pub tokens_per_block: &'a [usize],
    /// Where the head runs.
    pub head: Head,
    /// Stage 1, group by group; empty if it selects nothing by coverage.
    pub stage1: &'a [Picks],
    /// Stage 2, if it runs.
    pub stage2: Option<Stage2Work>,
}

/// GFLOPs per component.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Gflops {
    /// Vision tower up to the selected layer.
    pub vision_encoder: f64,
    /// Projector.
    pub projector: f64,
    /// Pooling of visual tokens; 0 for families that do none.
    pub visual_pooling: f64,
    /// Decoder blocks.
    pub decoder: f64,
    /// Output head.
    pub output_head: f64,
    /// Stage-1 similarities and selection.
    pub stage1: f64,
    /// Attention rows recomputed for Stage 2.
    pub stage2_relevance: f64,
    /// Stage-2 similarities and selection.
    pub stage2_select: f64,
    /// The sum.
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
///     stage1: &[],
///     stage2: None,
/// };
/// assert_eq!(prefill(&work)?.total.round(), 8963.0);
/// # Ok::<(), mico_model::Error>(())
/// ```
pub fn prefill(work: &Prefill<'_>) -> mico_model::Result<Gflops> {
    let config = work.config;
    let decoder = &config.decoder;
    let width = decoder.hidden_size as f64;
    let seen = vision::vision(&config.vision, work.grids, decoder.hidden_size)?;
    let feature = config.vision.feature_width() as f64;
    let blocks = work.tokens_per_block.iter().enumerate();
    let blocks = blocks.map(|(block, &tokens)| decoder::block(decoder, block, tokens));
    let positions = match work.head {
        Head::Last => 1,
        Head::All => work.tokens_per_block.last().copied().unwrap_or(0),
    };
    let attention_width = (decoder.heads * decoder.head_dim) as f64;
    let relevance = work
        .stage2
        .map_or(0.0, |stage| 2.0 * stage.queries as f64 * stage.keys as f64 * attention_width);
    let selections: f64 = work.stage1.iter().map(|&picks| coverage(picks, feature)).sum();
    Ok(Gflops {
        vision_encoder: seen.encoder / GIGA,
        projector: seen.projector / GIGA,
        visual_pooling: seen.pooling / GIGA,
        decoder: blocks.sum::<f64>() / GIGA,
        output_head: 2.0 * positions as f64 * width * decoder.vocab_size as f64 / GIGA,
        stage1: selections / GIGA,
        stage2_relevance: relevance / GIGA,
        stage2_select: work.stage2.map_or(0.0, |stage| coverage(stage.picks, width)) / GIGA,
        total: 0.0,
    }
    .summed())
}

/// All similarities of `width`-wide tokens, and a dense greedy selection on them.
fn coverage(picks: Picks, width: f64) -> f64 {
    let pairs = (picks.tokens * picks.tokens) as f64;
    2.0 * pairs * width + GREEDY_PAIR * pairs * picks.kept as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use mico_model::Preset;
    use mico_select::schedule::preset;

    /// The paper's profile of LLaVA-NeXT-7B: 5 views, 35 text tokens before the image.
    const VIEWS: usize = 5;
    const BEFORE: usize = 35;

    fn next_7b(budget: Option<usize>, text: usize) -> Gflops {
        let config = Preset::find("llava-next-7b").unwrap().config();
        let policy = preset("llava-next-7b").unwrap().policy;
        let patches = config.vision.tokens_per_view().unwrap();
        let sizes = [patches; VIEWS];
        let mut work = Prefill {
            config: &config,
            grids: &[Grid { rows: 24, columns: 24 }; VIEWS],
            tokens_per_block: &[VIEWS * patches + text; 32],
            head: Head::All,
            stage1: &[],
            stage2: None,
        };
        let Some(budget) = budget else { return prefill(&work).unwrap() };
        let schedule = policy.image(budget, &sizes, 2).unwrap();
        let (pool, keep) = (schedule.pooled(), schedule.keep);
        let mut tokens = vec![pool + text; schedule.refine_layer];
        tokens.resize(schedule.layers, keep + text);
        let stage1: Vec<Picks> =
            schedule.pool.iter().map(|&kept| Picks { tokens: patches, kept }).collect();
        work.tokens_per_block = &tokens;
        work.stage1 = &stage1;
        work.stage2 = Some(Stage2Work {
            queries: text - BEFORE,
            keys: pool + text,
            picks: Picks { tokens: pool, kept: keep },
        });
        prefill(&work).unwrap()
    }

    /// Prompts of 69 and 70 text tokens mixed to the profile's mean of 69.4.
    fn mean(budget: Option<usize>, of: fn(&Gflops) -> f64) -> f64 {
        0.6 * of(&next_7b(budget, 69)) + 0.4 * of(&next_7b(budget, 70))
    }

    fn assert_close(found: f64, expected: f64, tolerance: f64, what: &str) {
        let error = (found / expected - 1.0).abs();
        assert!(error <= tolerance, "{what}: {found:.3}, the paper has {expected}");
    }

    #[test]
    fn the_papers_table_of_next_7b_comes_out() {
        const MODEL: f64 = 0.01;
        const SELECTOR: f64 = 0.03;
        type Column = (&'static str, f64, fn(&Gflops) -> f64, [f64; 3]);
        let columns: [Column; 8] = [
            ("vision", MODEL, |g| g.vision_encoder, [1836.289; 3]),
            ("projector", MODEL, |g| g.projector, [120.879; 3]),
            ("decoder", MODEL, |g| g.decoder, [3002.246, 5136.922, 9520.805]),
            ("head", MODEL, |g| g.output_head, [48.350, 78.496, 139.052]),
            ("stage 1", SELECTOR, |g| g.stage1, [3.729, 4.047, 4.684]),
            ("relevance", SELECTOR, |g| g.stage2_relevance, [0.113, 0.206, 0.391]),
            ("stage 2", SELECTOR, |g| g.stage2_select, [0.881, 3.651, 15.713]),
            ("total", MODEL, |g| g.total, [5012.486, 7180.490, 11637.813]),
        ];
        for (name, tolerance, of, expected) in columns {
            for (budget, expected) in [160, 320, 640].into_iter().zip(expected) {
                let what = format!("{name} at T={budget}");
                assert_close(mean(Some(budget), of), expected, tolerance, &what);
            }
        }
    }

    #[test]
    fn vanilla_next_7b_comes_out() {
        assert_close(mean(None, |g| g.total), 45_600.0, 0.01, "total");
    }

    #[test]
    fn the_head_of_the_last_position_is_one_row_of_the_whole() {
        let config = Preset::find("llava-next-mistral-7b").unwrap().config();
        let count = |head| {
            let (tokens_per_block, stage1) = (&[100; 32][..], &[][..]);
            let grids = &[Grid { rows: 24, columns: 24 }][..];
            let config = &config;
            let work = Prefill { config, grids, tokens_per_block, head, stage1, stage2: None };
            prefill(&work).unwrap()
        };
        let (last, all) = (count(Head::Last), count(Head::All));
        assert!((last.output_head * 100.0 - all.output_head).abs() < 1e-9);
        assert_eq!(last.decoder, all.decoder);
    }
}
