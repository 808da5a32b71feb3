//! A model and its images as pruning methods see them: no tensors, no names of models.

use mico_model::ModelConfig;
use mico_model::config::MixerKind;
use mico_select::pruner::{
    ModelTraits, Normalization, PlanContext, TokenGrid, TokenLayout, TokenPlace,
};
use mico_vision::layout::{VisualLayout, VisualToken};

use crate::error::Result;
use crate::schedule::ModelSchedule;
use crate::switches::Switches;

/// What methods distinguish of a model.
pub(crate) fn model_traits(config: &ModelConfig) -> ModelTraits {
    let (decoder, family) = (&config.decoder, config.family.traits());
    let attends = |block| decoder.mixer(block) == MixerKind::FullAttention;
    let mut traits = ModelTraits::new((0..decoder.blocks).map(attends).collect());
    traits.spatial_positions = decoder.rope.axes.is_spatial();
    traits.projects_tokens = family.projects_tokens;
    traits.native_resolution = family.native_resolution;
    traits.anyres_crops = family.anyres_crops;
    traits.pads_to_square = family.pads_to_square;
    traits
}

/// An image's sequence and groups, without what its tokens show.
pub(crate) fn token_layout(layout: &VisualLayout) -> Result<TokenLayout> {
    let grid =
        |group: &mico_vision::layout::Group| TokenGrid { rows: group.rows, columns: group.columns };
    let place = |token: &VisualToken| {
        token.patch.map(|patch| TokenPlace { group: patch.group, local: patch.local })
    };
    let grids = layout.groups().iter().map(grid).collect();
    Ok(TokenLayout::new(grids, layout.tokens().iter().map(place).collect())?)
}

/// What a plan is made for.
pub(crate) fn plan_context<'a>(
    model: &'a ModelTraits,
    schedule: &ModelSchedule,
    switches: &Switches,
    images: &'a [&'a TokenLayout],
) -> PlanContext<'a> {
    let normalization = match switches.relevance.unwrap_or(schedule.relevance) {
        mico_model::Normalization::FullCausal => Normalization::FullCausal,
        mico_model::Normalization::VisualOnly => Normalization::VisualOnly,
    };
    let (policy, per_frame) = (schedule.policy, schedule.per_frame);
    PlanContext { model, policy, per_frame, normalization, images }
}

/// How a pruner wants attention to be normalized, as the model's functions take it.
pub(crate) fn normalization(how: Normalization) -> mico_model::Normalization {
    match how {
        Normalization::FullCausal => mico_model::Normalization::FullCausal,
        Normalization::VisualOnly => mico_model::Normalization::VisualOnly,
    }
}
