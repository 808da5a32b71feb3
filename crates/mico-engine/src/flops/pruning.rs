//! FLOPs of pruning itself: what a plan costs besides the tokens it saves.

use mico_model::config::DecoderConfig;
use mico_model::{Grid, ModelConfig};
use mico_select::pruner::{
    Cut, FeatureSpace, Normalization, Plan, Pruner, Quota, SelectionSize, Stage1Plan, TextAttention,
};
use mico_vision::layout::VisualLayout;

use super::{Gflops, Head, Prefill, prefill};
use crate::error::Result;
use crate::pipeline::grids;

/// FLOPs (not GFLOPs) that a pruning method adds to a prefill, by stage.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PruningWork {
    /// Selection before the decoder.
    pub stage1: f64,
    /// Signals inside the decoder that the model does not compute anyway.
    pub relevance: f64,
    /// Selection inside the decoder.
    pub select: f64,
}

/// A plan and what it is for.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    /// Shape of the model the plan is for.
    pub config: &'a ModelConfig,
    /// The images, as they are packed.
    pub images: &'a [&'a VisualLayout],
    /// The pruning method, which knows the cost of its own selection rule.
    pub pruner: &'a dyn Pruner,
    /// How many tokens the method keeps before the decoder and after which blocks.
    pub plan: &'a Plan,
    /// Text tokens of the prompt.
    pub text: usize,
    /// Those behind the image.
    pub after_image: usize,
}

/// Visual tokens that enter the decoder under a plan.
fn entering(plan: &Plan, images: &[&VisualLayout]) -> usize {
    let all = || images.iter().map(|layout| layout.len()).sum();
    plan.stage1.as_ref().map_or_else(all, Stage1Plan::entering)
}

/// Visual tokens in each of so many blocks under a plan.
pub(crate) fn visual_per_block(plan: &Plan, images: &[&VisualLayout], blocks: usize) -> Vec<usize> {
    let (mut counts, mut left) = (Vec::new(), entering(plan, images));
    for cut in &plan.cuts {
        counts.resize(cut.block, left);
        left = left.min(cut.keep);
    }
    counts.resize(blocks, left);
    counts
}

impl Planned<'_> {
    /// Visual tokens that enter the decoder.
    pub fn entering(&self) -> usize {
        entering(self.plan, self.images)
    }

    /// Visual tokens in each block.
    pub fn visual_per_block(&self) -> Vec<usize> {
        visual_per_block(self.plan, self.images, self.config.decoder.blocks)
    }

    /// GFLOPs of the whole prefill.
    pub fn prefill(&self, head: Head) -> Result<Gflops> {
        let visual = self.visual_per_block();
        let tokens: Vec<usize> = visual.iter().map(|visual| visual + self.text).collect();
        let grids: Vec<Grid> = self.images.iter().flat_map(|layout| grids(layout)).collect();
        Ok(prefill(&Prefill {
            config: self.config,
            grids: &grids,
            tokens_per_block: &tokens,
            head,
            pruning: self.work(),
        })?)
    }

    /// FLOPs of both stages: similarities, attention rows computed for a cut, and the selection
    /// rule.
    pub fn work(&self) -> PruningWork {
        let mut work = PruningWork { stage1: self.stage1(), ..PruningWork::default() };
        let decoder = &self.config.decoder;
        let entering = self.entering();
        let mut left = entering;
        for cut in &self.plan.cuts {
            if cut.keep >= left {
                continue;
            }
            work.relevance += self.relevance(cut, left, left == entering);
            let competing = cut.among.unwrap_or(left).min(left);
            work.select += self.pruner.cut_flops(&SelectionSize {
                kept: (cut.keep + competing - left) as f64,
                width: decoder.hidden_size as f64,
                ..self.size(competing)
            });
            left = cut.keep;
        }
        work
    }

    /// The paper's count for video differs in three ways from its count for images: the greedy part is
    /// a fused kernel's, Stage 1 compares projected features, and Stage 2 projects queries and keys of
    /// the whole sequence once more and asks every text token.
    fn video(&self) -> bool {
        self.config.family.traits().takes_video
    }

    fn size(&self, tokens: usize) -> SelectionSize {
        let vision = &self.config.vision;
        SelectionSize {
            tokens: tokens as f64,
            kept: 0.0,
            width: vision.feature_width() as f64,
            projected: self.config.decoder.hidden_size as f64,
            keys: vision.head_width() as f64,
            text: self.after_image as f64,
            fused: self.video(),
        }
    }

    fn stage1(&self) -> f64 {
        let Some(stage1) = &self.plan.stage1 else { return 0.0 };
        let projected = stage1.signals.space() == FeatureSpace::Projected || self.video();
        let one = |tokens: usize, kept: usize| {
            if kept >= tokens {
                return 0.0;
            }
            let size = SelectionSize { kept: kept as f64, ..self.size(tokens) };
            let width = if projected { size.projected } else { size.width };
            self.pruner.stage1_flops(&SelectionSize { width, ..size })
        };
        let image = |(layout, quota): (&&VisualLayout, &Quota)| match quota {
            Quota::Everything => 0.0,
            Quota::Image(kept) => one(layout.group_sizes().iter().sum(), *kept),
            Quota::Groups(counts) => {
                layout.group_sizes().into_iter().zip(counts).map(|(n, &kept)| one(n, kept)).sum()
            }
        };
        self.images.iter().zip(&stage1.quotas).map(image).sum()
    }

    /// Attention rows of a cut after which something goes.
    fn relevance(&self, cut: &Cut, visual: usize, first: bool) -> f64 {
        let decoder = &self.config.decoder;
        let (rows, width) = ((visual + self.text) as f64, decoder.hidden_size as f64);
        let (queries, keys) = attention_widths(decoder);
        let after = self.after_image as f64;
        match cut.signals.attention() {
            None => 0.0,
            Some(TextAttention::Mean(Normalization::VisualOnly)) => {
                2.0 * self.text as f64 * visual as f64 * queries
            }
            Some(TextAttention::Mean(Normalization::FullCausal)) if self.video() => {
                2.0 * rows * width * (queries + keys) + 2.0 * self.text as f64 * rows * queries
            }
            Some(TextAttention::Mean(Normalization::FullCausal)) => 2.0 * after * rows * queries,
            Some(TextAttention::LastToken) => 2.0 * rows * queries,
            Some(TextAttention::NextLastToken { .. }) => {
                2.0 * width * (rows * keys + queries) + 2.0 * rows * queries
            }
            // Which words ask is known only to the question: all behind the image are counted.
            Some(TextAttention::Raters) => {
                let choice = if first { 2.0 * visual as f64 * after * width } else { 0.0 };
                choice + 2.0 * after * rows * queries
            }
        }
    }
}

/// Widths of all queries and of all keys.
fn attention_widths(decoder: &DecoderConfig) -> (f64, f64) {
    let width = |heads: usize| (heads * decoder.head_dim) as f64;
    (width(decoder.heads), width(decoder.kv_heads))
}
