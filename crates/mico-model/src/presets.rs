//! Published models by name: enough to build one of the same shape without its files. Each is defined
//! in the file of its architecture.

use crate::architectures::{ARCHITECTURES, Architecture, Family};
use crate::config::ModelConfig;
use crate::error::{Error, Result};

/// A model known by name.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// The model's name on the command line.
    pub name: &'static str,
    /// The paper's refinement block K, 1-based: Stage 2 prunes after block #K.
    pub refine_layer: usize,
    /// Where its weights are published, in a layout that the loader reads; `None` for the embedded
    /// demonstration model, which is this project's own.
    pub hub_id: Option<&'static str>,
    /// Returns the full configuration of the model.
    pub shape: fn() -> ModelConfig,
}

impl Preset {
    /// A preset for a model whose weights are published.
    pub const fn published(
        name: &'static str,
        hub_id: &'static str,
        refine_layer: usize,
        shape: fn() -> ModelConfig,
    ) -> Self {
        Self { name, hub_id: Some(hub_id), refine_layer, shape }
    }

    /// A preset for the model embedded in this project.
    pub(crate) const fn embedded(
        name: &'static str,
        refine_layer: usize,
        shape: fn() -> ModelConfig,
    ) -> Self {
        Self { name, hub_id: None, refine_layer, shape }
    }

    /// The presets of these architectures: published ones in their order, then the embedded one.
    pub fn of(architectures: &[&'static Architecture]) -> Vec<&'static Self> {
        let mut all: Vec<&Self> =
            architectures.iter().flat_map(|architecture| architecture.presets).collect();
        all.sort_by_key(|preset| preset.hub_id.is_none());
        all
    }

    /// The preset called `name` among those of these architectures; the error lists the known names.
    pub fn find_among(
        architectures: &[&'static Architecture],
        name: &str,
    ) -> Result<&'static Self> {
        let all = Self::of(architectures);
        all.iter().find(|preset| preset.name == name).copied().ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|preset| preset.name).collect();
            Error::Unknown { what: "preset", found: name.to_owned(), accepted: names.join(", ") }
        })
    }

    /// The preset called `name`, of an architecture that ships with the crate.
    pub fn find(name: &str) -> Result<&'static Self> {
        Self::find_among(ARCHITECTURES, name)
    }

    /// The preset of the same family and shape as a configuration, if there is one.
    pub fn matching(config: &ModelConfig) -> Option<&'static Self> {
        let found = &config.decoder;
        config.family.architecture().presets.iter().find(|preset| {
            let decoder = preset.config().decoder;
            decoder.hidden_size == found.hidden_size
                && decoder.intermediate_size == found.intermediate_size
                && decoder.blocks == found.blocks
                && decoder.kv_heads == found.kv_heads
        })
    }

    /// The full configuration of the model.
    pub fn config(&self) -> ModelConfig {
        (self.shape)()
    }

    /// The model family the preset belongs to.
    pub fn family(&self) -> Family {
        self.config().family
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{LlavaVision, MixerKind, VisionSettings};

    /// The paper's models with decoder depth L and refinement block K; then the ones it does not
    /// have.
    const TABLE: [(&str, &str, usize, usize); 11] = [
        ("llava-1.5-7b", "llava", 32, 7),
        ("llava-1.5-13b", "llava", 40, 8),
        ("llava-next-7b", "llava_next", 32, 7),
        ("llava-next-13b", "llava_next", 40, 14),
        ("llava-next-mistral-7b", "llava_next", 32, 7),
        ("qwen2.5-vl-7b", "qwen2_5_vl", 28, 2),
        ("qwen3-vl-8b", "qwen3_vl", 36, 6),
        ("qwen3.5-9b", "qwen3_5", 32, 12),
        ("internvl3-8b", "internvl", 28, 4),
        ("llava-video-7b", "llava_video", 28, 6),
        ("tiny", "llava", 8, 2),
    ];

    #[test]
    fn the_papers_rows() {
        let row = |preset: &&Preset| {
            let config = preset.config();
            (preset.name, config.family.name(), config.decoder.blocks, preset.refine_layer)
        };
        assert!(Preset::of(ARCHITECTURES).iter().map(row).eq(TABLE));
    }

    #[test]
    fn every_preset_is_valid_and_finds_itself() {
        for preset in Preset::of(ARCHITECTURES) {
            let config = preset.config();
            config.validate(preset.name).unwrap();
            let own = config.family.architecture().presets;
            assert!(own.iter().any(|other| other.name == preset.name), "{}", preset.name);
            assert_eq!(Preset::matching(&config).map(|p| p.name), Some(preset.name));
            assert_eq!(Preset::find(preset.name).unwrap().name, preset.name);
            assert!(preset.refine_layer < config.decoder.blocks);
            let observed = config.decoder.mixer(preset.refine_layer - 1);
            assert_eq!(observed, MixerKind::FullAttention, "{}", preset.name);
            if let Some(vision) = config.vision.get::<LlavaVision>() {
                assert_eq!(vision.blocks().unwrap(), vision.tower.blocks - 1);
            }
        }
        assert!(Preset::find("llava-2").unwrap_err().to_string().contains("llava-next-13b"));
    }
}
