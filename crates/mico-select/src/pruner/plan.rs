//! What a pruner decides before it sees anything: how many tokens stay where, and what it must see.

use super::layout::TokenLayout;
use super::model::ModelTraits;
use super::signals::{Normalization, Signals, Stage};
use crate::error::{Error, Result};
use crate::schedule::{Budget, Policy};

/// The model and the images a plan is made for.
#[derive(Debug, Clone, Copy)]
pub struct PlanContext<'a> {
    /// The model.
    pub model: &'a ModelTraits,
    /// How the model turns a budget into MiCo's counts, with its refinement block.
    pub policy: Policy,
    /// Whether the images are videos, whose budgets are per frame.
    pub per_frame: bool,
    /// How text-to-visual attention is normalized.
    pub normalization: Normalization,
    /// The images' unpruned sequences and their groups.
    pub images: &'a [&'a TokenLayout],
}

impl PlanContext<'_> {
    /// How many images, or frames, a budget is spent on in one of the images.
    pub fn units(&self, layout: &TokenLayout) -> usize {
        if self.per_frame { layout.groups().max(1) } else { 1 }
    }

    /// Visual tokens a budget is spent on: an image's, or those of the largest frame. Newlines count:
    /// a budget that pays for them too keeps the sequence as it is.
    pub fn unit(&self, layout: &TokenLayout) -> usize {
        layout.len().div_ceil(self.units(layout))
    }
}

/// What is asked of a pruner's plan; made by [`Pruning::plan`](super::Pruning::plan).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct PlanRequest<'a> {
    /// The model and the images; the policy's refinement block is the caller's, if there is one.
    pub context: PlanContext<'a>,
    /// Tokens per image, or per frame.
    pub budget: Budget,
    /// Whether counts are those the method's authors give for a budget of that name, whatever the
    /// layer average then is.
    pub authors: bool,
    /// The block the caller wants tokens to go after, in place of the method's own.
    pub refine_layer: Option<usize>,
    /// MiCo's Stage-1 pool as a multiple of the budget.
    pub pool: usize,
}

impl<'a> PlanRequest<'a> {
    /// The images' sequences.
    pub fn images(&self) -> &'a [&'a TokenLayout] {
        self.context.images
    }

    /// The model.
    pub fn model(&self) -> &'a ModelTraits {
        self.context.model
    }

    /// Decoder blocks L.
    pub fn layers(&self) -> usize {
        self.context.model.layers()
    }

    /// Positions of a method whose authors renumber what is left: those with three axes stay, as
    /// all authors have them.
    pub(crate) fn renumbered(&self, rule: PositionRule) -> PositionRule {
        if self.model().spatial_positions { PositionRule::Original } else { rule }
    }
}

/// A pruner's plan for one request. The default keeps everything.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Plan {
    /// The selection before the decoder, if there is one.
    pub stage1: Option<Stage1Plan>,
    /// Selections after decoder blocks, in ascending order of block.
    pub cuts: Vec<Cut>,
    /// Position ids of the tokens that stay.
    pub positions: PositionRule,
}

/// Position ids once tokens are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PositionRule {
    /// Those of the unpruned prompt; the answer continues from its length. Tokens keep their order.
    #[default]
    Original,
    /// Renumbered without gaps before the decoder; the answer continues from the length then.
    Compact,
    /// Renumbered without gaps before the decoder and after every cut: in each block a token stands
    /// behind as many as there are before it.
    Packed,
}

impl Plan {
    /// A plan that selects before the decoder alone, if no cuts are added.
    pub fn before_decoder(stage1: Stage1Plan) -> Self {
        Self { stage1: Some(stage1), ..Self::default() }
    }

    /// A plan that selects after decoder blocks alone.
    pub fn after_blocks(cuts: Vec<Cut>) -> Self {
        Self { cuts, ..Self::default() }
    }

    /// The same with further selections after decoder blocks.
    pub fn with_cuts(self, cuts: Vec<Cut>) -> Self {
        Self { cuts, ..self }
    }

    /// The same with other position ids.
    pub fn with_positions(self, positions: PositionRule) -> Self {
        Self { positions, ..self }
    }

    /// Holds the plan against what it is for, so that it can be carried out without looking again.
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

/// The selection before the decoder.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stage1Plan {
    /// What the pruner needs to see.
    pub signals: Signals,
    /// What is asked for of each image.
    pub quotas: Vec<Quota>,
    /// How many tokens of each image that leaves.
    pub leaves: Vec<Count>,
    /// Whether merges happen to the tower's features, before the projector.
    pub merge_in_tower: bool,
}

impl Stage1Plan {
    /// A plan that leaves exactly what it asks for and merges nothing, or embeddings.
    pub fn new(signals: Signals, quotas: Vec<Quota>, images: &[&TokenLayout]) -> Self {
        let pairs = quotas.iter().zip(images);
        let leaves = pairs.map(|(quota, layout)| Count::Exactly(quota.asked(layout.len())));
        Self { signals, leaves: leaves.collect(), quotas, merge_in_tower: false }
    }

    /// Whether every image stays as it is.
    pub fn keeps_all(&self) -> bool {
        self.quotas.iter().all(|quota| *quota == Quota::Everything)
    }

    /// The most tokens of all images that can enter the decoder.
    pub fn entering(&self) -> usize {
        self.leaves.iter().map(|count| count.most()).sum()
    }

    /// Whether every image is chosen from without looking at its embeddings, so that only what stays
    /// has to be projected.
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

/// What is asked for of one image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quota {
    /// The whole sequence, tokens that belong to no group included.
    Everything,
    /// This many of each group; tokens that belong to no group go.
    Groups(Vec<usize>),
    /// This many of all groups together; tokens that belong to no group go.
    Image(usize),
}

impl Quota {
    /// How many tokens are asked for of a sequence of `tokens`.
    pub fn asked(&self, tokens: usize) -> usize {
        match self {
            Self::Everything => tokens,
            Self::Groups(counts) => counts.iter().sum(),
            Self::Image(count) => *count,
        }
    }
}

/// How many tokens a selection leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// This many.
    Exactly(usize),
    /// This many or fewer: the rule may find no use for all of its budget.
    AtMost(usize),
}

impl Count {
    /// The most there can be.
    pub fn most(self) -> usize {
        match self {
            Self::Exactly(count) | Self::AtMost(count) => count,
        }
    }

    /// Whether `count` is as agreed.
    pub fn admits(self, count: usize) -> bool {
        match self {
            Self::Exactly(exact) => count == exact,
            Self::AtMost(most) => count <= most,
        }
    }
}

/// A selection after a decoder block.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Cut {
    /// The block after which tokens go, counted from 1.
    pub block: usize,
    /// Visual tokens the rule is asked for, over all images.
    pub ask: usize,
    /// Visual tokens that are left then: those, and what the rule makes of others.
    pub keep: usize,
    /// Only so many tokens at the beginning compete, all others stay; `None`: all compete.
    pub among: Option<usize>,
    /// What the pruner needs to see.
    pub signals: Signals,
}

impl Cut {
    /// A cut whose rule keeps exactly what it is asked for.
    pub fn new(block: usize, keep: usize, signals: Signals) -> Self {
        Self { block, ask: keep, keep, among: None, signals }
    }
}
