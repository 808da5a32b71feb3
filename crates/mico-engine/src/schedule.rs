//! Which schedule a model follows: the family's policy with the model's own refinement block.

use mico_model::config::MixerKind;
use mico_model::{ModelConfig, Normalization, Preset};
use mico_select::round_ratio;
use mico_select::schedule::Policy;

use crate::families::FamilySpec;

/// K and L of LLaVA-1.5-7B, scaled for a family none of whose models was calibrated.
const UNKNOWN_FAMILY: (usize, usize) = (7, 32);

/// A model's policy and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelSchedule {
    /// How budgets become counts.
    pub policy: Policy,
    /// The published model it was calibrated for; `None` if its refinement block was scaled from the
    /// family's first published model to another number of decoder blocks.
    pub preset: Option<&'static str>,
    /// Whether budgets are per frame of a video.
    pub per_frame: bool,
    /// How text-to-visual attention is normalised unless a switch says otherwise.
    pub relevance: Normalization,
}

impl ModelSchedule {
    /// The schedule of a family's model with this configuration.
    pub fn of(family: &FamilySpec, config: &ModelConfig) -> Self {
        let preset = Preset::matching(config);
        let refine_layer = preset.map_or_else(|| scaled(family, config), |p| p.refine_layer);
        let pruning = &family.pruning;
        let policy = Policy {
            layers: config.decoder.blocks,
            refine_layer,
            basis: pruning.basis,
            remainder: pruning.remainder,
            out_of_range: pruning.out_of_range,
        };
        Self {
            policy,
            preset: preset.map(|preset| preset.name),
            per_frame: pruning.per_frame,
            relevance: pruning.relevance,
        }
    }
}

/// The refinement block of the family's first published model, at the same depth of this one.
fn scaled(family: &FamilySpec, config: &ModelConfig) -> usize {
    let known = family.architecture.presets.first();
    let (refine_layer, blocks) =
        known.map_or(UNKNOWN_FAMILY, |known| (known.refine_layer, known.config().decoder.blocks));
    let layers = config.decoder.blocks;
    let scaled = round_ratio(layers as i128 * refine_layer as i128, blocks as i128);
    let most = layers.saturating_sub(1).max(1);
    let wanted = usize::try_from(scaled).unwrap_or(1).clamp(1, most);
    // Refinement reads attention, which linear blocks do not have: the nearest one that does.
    (1..=most)
        .filter(|&block| config.decoder.mixer(block - 1) == MixerKind::FullAttention)
        .min_by_key(|block| block.abs_diff(wanted))
        .unwrap_or(wanted)
}
