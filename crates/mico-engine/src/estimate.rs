//! A prefill that is counted, not run: token counts and FLOPs of any model shape, without weights.

use mico_model::ModelConfig;
use mico_select::pruner::{Plan, Pruning};
use mico_vision::Size;
use mico_vision::layout::VisualLayout;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::families::FamilySpec;
use crate::flops::{Gflops, Head, Planned};
use crate::model_traits::{model_traits, plan_context, token_layout};
use crate::preprocess::{ImageLimits, Preprocessor};
use crate::schedule::ModelSchedule;
use crate::switches::Switches;
use crate::units::layer_average;

/// A model shape and one image or video in front of it.
#[derive(Debug)]
pub struct Estimate {
    config: ModelConfig,
    schedule: ModelSchedule,
    switches: Switches,
    layout: VisualLayout,
}

/// The text of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextTokens {
    /// Number of text tokens, before and after the image.
    pub total: usize,
    /// What stands before the image.
    pub before: usize,
}

/// What a prefill would take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Counted {
    /// Visual tokens before pruning, N0 in the paper.
    pub visual_tokens: usize,
    /// Visual tokens that enter the decoder; null where nothing is selected before it.
    pub stage1_kept: Option<usize>,
    /// Visual tokens in the last block; null where nothing is selected inside the decoder.
    pub stage2_kept: Option<usize>,
    /// Visual tokens per block and image (or frame), averaged over the blocks.
    pub layer_average: f64,
    /// Floating-point operations of the prefill by component, in GFLOPs.
    pub gflops: Gflops,
}

impl Estimate {
    /// An image of this size, or so many frames of it for a family that takes videos. Visual tokens
    /// are packed as in pruned runs, which is how the paper counts the unpruned model, too.
    pub fn new(
        family: &FamilySpec,
        config: ModelConfig,
        size: Size,
        frames: usize,
        switches: Switches,
    ) -> Result<Self> {
        if size.area() == 0 {
            return Err(Error::range("image", size, "at least one pixel"));
        }
        let preprocessing = family.default_preprocessing(&config)?;
        let limits = ImageLimits::default();
        let processor = Preprocessor::new(family, &config, &preprocessing, &switches, &limits)?;
        let packing = family.packing(&switches, true);
        let layout = processor.layout(&vec![size; frames.max(1)], packing)?;
        let schedule = ModelSchedule::of(family, &config);
        Ok(Self { config, schedule, switches, layout })
    }

    /// Counts tokens and FLOPs of one prefill under a pruning method; an error where the method
    /// refuses the model or the budget.
    pub fn prefill(&self, pruning: &Pruning, text: TextTokens, head: Head) -> Result<Counted> {
        let images = [&self.layout];
        let plan = if pruning.pruner.prunes() {
            let (model, tokens) = (model_traits(&self.config), token_layout(&self.layout)?);
            pruning.plan(&plan_context(&model, &self.schedule, &self.switches, &[&tokens]))?
        } else {
            Plan::default()
        };
        let planned = Planned {
            config: &self.config,
            images: &images,
            pruner: pruning.pruner.as_ref(),
            plan: &plan,
            text: text.total,
            after_image: text.total - text.before.min(text.total),
        };
        let visual = planned.visual_per_block();
        Ok(Counted {
            visual_tokens: self.layout.len(),
            stage1_kept: plan.stage1.is_some().then(|| planned.entering()),
            stage2_kept: plan.cuts.last().and(visual.last().copied()),
            layer_average: layer_average(&visual, self.schedule.units(images)),
            gflops: planned.prefill(head)?,
        })
    }
}
