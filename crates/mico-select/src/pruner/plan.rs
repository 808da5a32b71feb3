//! Pruning plans: how many tokens stay at which stage, and which signals the pruner needs there.

use super::layout::TokenLayout;
use super::model::ModelTraits;
use super::signals::{Normalization, Signals, Stage};
use crate::error::{Error, Result};
use crate::schedule::{Budget, Policy};

/// The model and the images a plan is made for.
#[derive(Debug, Clone, Copy)]
pub struct PlanContext<'a> {
    /// The properties of the model that decide how a method runs on it.
    pub model: &'a ModelTraits,
    /// How the model family turns a budget into MiCo's counts, with its refinement block.
    pub policy: Policy,
    /// Whether the images are videos, whose budgets are per frame.
    pub per_frame: bool,
    /// How text-to-visual attention is normalised for MiCo's relevance.
    pub normalization: Normalization,
    /// The unpruned token sequence of each image, with its groups.
    pub images: &'a [&'a TokenLayout],
}

impl PlanContext<'_> {
    /// The number of times a budget is spent on one of the images: its frames for a video, else 1.
    pub fn units(&self, layout: &TokenLayout) -> usize {
        if self.per_frame { layout.groups().max(1) } else { 1 }
    }

    /// The number of visual tokens one budget covers: an image's, or those of the largest frame.
    /// Newline tokens count: a budget that covers them too keeps the sequence as it is.
    pub fn unit(&self, layout: &TokenLayout) -> usize {
        layout.len().div_ceil(self.units(layout))
    }
}

/// The input of [`Pruner::plan`](super::Pruner::plan), made by [`Pruning::plan`](super::Pruning::plan).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct PlanRequest<'a> {
    /// The model and the images; its policy holds the caller's refinement block, if one was given.
    pub context: PlanContext<'a>,
    /// The layer-average number of tokens per image, or per frame of a video.
    pub budget: Budget,
    /// Whether counts are those the method's authors give for a budget of that name, whatever the
    /// layer average then is.
    pub authors: bool,
    /// The caller's block after which to prune, counted from 1; `None` for the method's own.
    pub refine_layer: Option<usize>,
    /// Size of MiCo's Stage-1 pool, as a multiple of the budget.
    pub pool: usize,
}

impl<'a> PlanRequest<'a> {
    /// The unpruned token sequence of each image.
    pub fn images(&self) -> &'a [&'a TokenLayout] {
        self.context.images
    }

    /// The properties of the model that decide how a method runs on it.
    pub fn model(&self) -> &'a ModelTraits {
        self.context.model
    }

    /// The number of decoder blocks L.
    pub fn layers(&self) -> usize {
        self.context.model.layers()
    }

    /// The position ids of a method whose authors renumber after pruning: three-axis ids (M-RoPE) are
    /// kept instead, as all authors do.
    pub(crate) fn renumbered(&self, rule: PositionRule) -> PositionRule {
        if self.model().spatial_positions { PositionRule::Original } else { rule }
    }
}

/// A pruner's plan for one request. The default keeps everything.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Plan {
    /// The selection before the decoder; `None` if the method has none.
    pub stage1: Option<Stage1Plan>,
    /// Selections after decoder blocks, by ascending block.
    pub cuts: Vec<Cut>,
    /// How position ids are assigned after pruning.
    pub positions: PositionRule,
}

/// Position ids after pruning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PositionRule {
    /// Those of the unpruned prompt; generated tokens continue from its length. Tokens keep their order.
    #[default]
    Original,
    /// Renumbered without gaps before the decoder; generated tokens continue from the pruned length.
    Compact,
    /// Renumbered without gaps before the decoder and after every cut, so that in each block a token's
    /// position id is the number of tokens before it.
    Packed,
}

impl Plan {
    /// A plan that selects only before the decoder, unless cuts are added.
    pub fn before_decoder(stage1: Stage1Plan) -> Self {
        Self { stage1: Some(stage1), ..Self::default() }
    }

    /// A plan that selects only after decoder blocks.
    pub fn after_blocks(cuts: Vec<Cut>) -> Self {
        Self { cuts, ..Self::default() }
    }

    /// Sets the selections after decoder blocks.
    pub fn with_cuts(self, cuts: Vec<Cut>) -> Self {
        Self { cuts, ..self }
    }

    /// Sets how position ids are assigned after pruning.
    pub fn with_positions(self, positions: PositionRule) -> Self {
        Self { positions, ..self }
    }

    /// Checks the plan against the model and the images, so that carrying it out needs no checks.
    pub(super) fn check(&self, method: &'static str, context: &PlanContext<'_>) -> Result<()> {
        if let Some(stage1) = &self.stage1 {
            stage1.check(method, context.images)?;
        }
        let mut last = 0;
        for cut in &self.cuts {
            if cut.block <= last || cut.block > context.model.layers() {
                let layers = context.model.layers();
                let message = format!(
                    "plans a cut after block {} behind one after block {last}, of {layers} blocks",
                    cut.block
                );
                return Err(Error::Contract { method, message });
            }
            last = cut.block;
            cut.signals.check(method, Stage::AfterBlock)?;
        }
        Ok(())
    }
}

/// The plan of the selection before the decoder (Stage 1).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stage1Plan {
    /// The signals the pruner needs of each image.
    pub signals: Signals,
    /// The number of tokens asked for, image by image.
    pub quotas: Vec<Quota>,
    /// The number of tokens that remain, image by image; some rules leave fewer than asked for.
    pub leaves: Vec<Count>,
    /// Whether merges apply to the vision tower's features, before the projector, instead of embeddings.
    pub merge_in_tower: bool,
}

impl Stage1Plan {
    /// A plan that leaves exactly what it asks for; merges, if any, apply to embeddings.
    pub fn new(signals: Signals, quotas: Vec<Quota>, images: &[&TokenLayout]) -> Self {
        let pairs = quotas.iter().zip(images);
        let leaves = pairs.map(|(quota, layout)| Count::Exactly(quota.asked(layout.len())));
        Self { signals, leaves: leaves.collect(), quotas, merge_in_tower: false }
    }

    /// Whether no image loses a token.
    pub fn keeps_all(&self) -> bool {
        self.quotas.iter().all(|quota| *quota == Quota::Everything)
    }

    /// The largest number of visual tokens, over all images, that can enter the decoder.
    pub fn entering(&self) -> usize {
        self.leaves.iter().map(|count| count.most()).sum()
    }

    /// Whether the selection needs no embeddings and prunes every image, so that only kept tokens
    /// have to be projected.
    pub fn selects_unprojected(&self) -> bool {
        !self.signals.embeddings() && !self.quotas.contains(&Quota::Everything)
    }

    fn check(&self, method: &'static str, images: &[&TokenLayout]) -> Result<()> {
        self.signals.check(method, Stage::BeforeDecoder)?;
        let broken = |message: String| Err(Error::Contract { method, message });
        let (quotas, leaves) = (self.quotas.len(), self.leaves.len());
        if quotas != images.len() || leaves != images.len() {
            let images = images.len();
            return broken(format!(
                "plans {quotas} quotas and {leaves} counts for {images} images"
            ));
        }
        for (quota, layout) in self.quotas.iter().zip(images) {
            match quota {
                Quota::Groups(counts) if counts.len() != layout.groups() => {
                    let (counts, groups) = (counts.len(), layout.groups());
                    return broken(format!("plans {counts} counts for {groups} groups"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The number of tokens asked for of one image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quota {
    /// The whole sequence, including tokens that belong to no group (newlines).
    Everything,
    /// This many of each group; tokens that belong to no group are dropped.
    Groups(Vec<usize>),
    /// This many of all groups together; tokens that belong to no group are dropped.
    Image(usize),
}

impl Quota {
    /// The number of tokens asked for of an image whose sequence has `tokens`.
    pub fn asked(&self, tokens: usize) -> usize {
        match self {
            Self::Everything => tokens,
            Self::Groups(counts) => counts.iter().sum(),
            Self::Image(count) => *count,
        }
    }
}

/// The number of tokens a selection leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Exactly this many tokens are left, which the engine checks.
    Exactly(usize),
    /// This many or fewer: the rule may not use all of its budget.
    AtMost(usize),
}

impl Count {
    /// The largest number of tokens allowed.
    pub fn most(self) -> usize {
        match self {
            Self::Exactly(count) | Self::AtMost(count) => count,
        }
    }

    /// Whether a selection of `count` tokens agrees with it.
    pub fn admits(self, count: usize) -> bool {
        match self {
            Self::Exactly(exact) => count == exact,
            Self::AtMost(most) => count <= most,
        }
    }
}

/// The plan of one selection after a decoder block (Stage 2).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Cut {
    /// The block on whose output the cut is made, counted from 1.
    pub block: usize,
    /// Visual tokens the rule is asked to select, over all images.
    pub ask: usize,
    /// Visual tokens that remain after it: those selected, and tokens the rule merges from others.
    pub keep: usize,
    /// Only this many tokens at the beginning compete, all others stay; `None` if all compete.
    pub among: Option<usize>,
    /// The signals the pruner needs of the remaining tokens.
    pub signals: Signals,
}

impl Cut {
    /// A cut whose rule keeps exactly as many as it is asked for, among all tokens.
    pub fn new(block: usize, keep: usize, signals: Signals) -> Self {
        Self { block, ask: keep, keep, among: None, signals }
    }
}
