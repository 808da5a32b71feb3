//! What a pruner decides before it sees anything: how many tokens stay where, and what it must see.

use mico_model::{ModelConfig, Normalisation, VisionTaps};
use mico_select::schedule::{Budget, Policy};
use mico_vision::layout::VisualLayout;

use super::signals::{Stage1Signals, Stage2Signals};

/// What a plan is made for.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    /// The model.
    pub config: &'a ModelConfig,
    /// The images' unpruned sequences and their groups.
    pub images: &'a [&'a VisualLayout],
    /// Tokens per image, or per frame.
    pub budget: Budget,
    /// Whether counts are those the method's authors give for a budget of that name, whatever the
    /// layer average then is.
    pub authors: bool,
    /// How the family turns a budget into MiCo's counts, with the model's refinement block.
    pub policy: Policy,
    /// The block the caller wants tokens to go after, in place of the method's own.
    pub refine_layer: Option<usize>,
    /// Whether the images are videos, whose budgets are per frame.
    pub per_frame: bool,
    /// MiCo's Stage-1 pool as a multiple of the budget.
    pub pool: usize,
    /// How MiCo normalises text-to-visual attention.
    pub relevance: Normalisation,
}

impl PlanRequest<'_> {
    /// Decoder blocks L.
    pub fn layers(&self) -> usize {
        self.policy.layers
    }

    /// Whether positions have three axes.
    pub(crate) fn spatial(&self) -> bool {
        self.config.decoder.rope.axes.is_spatial()
    }

    /// Positions of a method whose authors renumber what is left: those with three axes stay, as
    /// all authors have them.
    pub(crate) fn renumbered(&self, rule: PositionRule) -> PositionRule {
        if self.spatial() { PositionRule::Original } else { rule }
    }
}

/// A pruner's plan for one request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// The selection before the decoder, if there is one.
    pub stage1: Option<Stage1Plan>,
    /// Selections after decoder blocks, in ascending order of block.
    pub cuts: Vec<Cut>,
    /// Where the tokens that stay stand.
    pub positions: PositionRule,
}

/// Where tokens stand once others are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PositionRule {
    /// Where they stood in the unpruned prompt; the answer continues from its length. Tokens keep
    /// their order.
    #[default]
    Original,
    /// Renumbered without gaps before the decoder; the answer continues from the length then.
    Compact,
    /// Renumbered without gaps before the decoder and after every cut: in each block a token stands
    /// behind as many as there are before it.
    Packed,
}

/// The selection before the decoder.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage1Plan {
    /// What the pruner needs to see.
    pub signals: Stage1Signals,
    /// What stays of each image.
    pub shares: Vec<Share>,
    /// Whether merges happen to the tower's features, before the projector.
    pub merge_in_tower: bool,
}

impl Stage1Plan {
    /// Whether every image is chosen from without looking at its embeddings, so that only what stays
    /// has to be projected.
    pub(crate) fn selects_unprojected(&self) -> bool {
        !self.signals.embeddings() && !self.shares.contains(&Share::Everything)
    }

    /// What the tower must be watched for, so that the signals can be shown and tokens merged.
    pub(crate) fn taps(&self) -> VisionTaps {
        let taps = self.signals.taps();
        VisionTaps { features: taps.features || self.merge_in_tower, ..taps }
    }

    /// A plan that merges nothing, or embeddings.
    pub fn new(signals: Stage1Signals, shares: Vec<Share>) -> Self {
        Self { signals, shares, merge_in_tower: false }
    }
}

/// What is asked for of one image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Share {
    /// The whole sequence, tokens that belong to no group included.
    Everything,
    /// This many of each group; tokens that belong to no group go.
    Groups(Vec<usize>),
    /// This many of all groups together; tokens that belong to no group go.
    Image(usize),
}

impl Share {
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

    pub(crate) fn admits(self, count: usize) -> bool {
        match self {
            Self::Exactly(exact) => count == exact,
            Self::AtMost(most) => count <= most,
        }
    }
}

/// A selection after a decoder block.
#[derive(Debug, Clone, PartialEq)]
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
    pub signals: Stage2Signals,
}

impl Cut {
    /// A cut whose rule keeps exactly what it is asked for.
    pub fn new(block: usize, keep: usize, signals: Stage2Signals) -> Self {
        Self { block, ask: keep, keep, among: None, signals }
    }
}
