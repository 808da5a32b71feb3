//! Which schedule a model follows.

use mico_model::config::MixerKind;
use mico_model::{Family, ModelConfig, Preset};
use mico_select::round_ratio;
use mico_select::schedule::{Policy, preset};

use crate::error::{Error, Result};

/// A model's policy and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelSchedule {
    /// How budgets become counts.
    pub policy: Policy,
    /// The published model it was calibrated for; `None` if its refinement block was scaled from the
    /// family's published model to another number of decoder blocks.
    pub preset: Option<&'static str>,
    /// Whether budgets are per frame of a video.
    pub per_frame: bool,
}

impl ModelSchedule {
    /// The schedule of a model with this configuration.
    pub fn of(config: &ModelConfig) -> Result<Self> {
        let found = Preset::matching(config).and_then(|model| preset(model.name));
        if let Some(found) = found {
            let per_frame = found.per_frame;
            return Ok(Self { policy: found.policy, preset: Some(found.name), per_frame });
        }
        let name = match config.family {
            Family::Llava => "llava-1.5-7b",
            Family::LlavaNext => "llava-next-7b",
            Family::Qwen25Vl => "qwen2.5-vl-7b",
            Family::Qwen3Vl => "qwen3-vl-8b",
            Family::Qwen35 => "qwen3.5-9b",
            Family::InternVl => "internvl3-8b",
            Family::LlavaVideo => "llava-video-7b",
        };
        let known = preset(name).ok_or_else(|| Error::Unknown {
            what: "schedule preset",
            found: name.into(),
            known: "those of the selector library".into(),
        })?;
        let layers = config.decoder.blocks;
        let scaled = round_ratio(
            layers as i128 * known.policy.refine_layer as i128,
            known.policy.layers as i128,
        );
        let most = layers.saturating_sub(1).max(1);
        let wanted = usize::try_from(scaled).unwrap_or(1).clamp(1, most);
        // Refinement reads attention, which linear blocks do not have: the nearest one that does.
        let refine_layer = (1..=most)
            .filter(|&block| config.decoder.mixer(block - 1) == MixerKind::FullAttention)
            .min_by_key(|block| block.abs_diff(wanted))
            .unwrap_or(wanted);
        let policy = Policy { layers, refine_layer, ..known.policy };
        Ok(Self { policy, preset: None, per_frame: known.per_frame })
    }
}
