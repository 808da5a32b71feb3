//! The published models by name: enough to build one of the same shape without its files.

mod internvl;
mod llava;
mod llava_video;
mod qwen;

use crate::config::{Family, ModelConfig};
use crate::error::{Error, Result};

/// One published model.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its family.
    pub family: Family,
    /// The paper's refinement block K, 1-based: Stage 2 prunes after block #K. The paper has no
    /// row for LLaVA-NeXT's Mistral variant; it takes the value of the other 7B models.
    pub refine_layer: usize,
    build: fn() -> ModelConfig,
}

/// Every preset. A family adds its lines here.
pub const PRESETS: &[Preset] = &[
    Preset { name: "llava-1.5-7b", family: Family::Llava, refine_layer: 7, build: llava::llava_7b },
    Preset {
        name: "llava-1.5-13b",
        family: Family::Llava,
        refine_layer: 8,
        build: llava::llava_13b,
    },
    Preset {
        name: "llava-next-7b",
        family: Family::LlavaNext,
        refine_layer: 7,
        build: llava::next_7b,
    },
    Preset {
        name: "llava-next-13b",
        family: Family::LlavaNext,
        refine_layer: 14,
        build: llava::next_13b,
    },
    Preset {
        name: "llava-next-mistral-7b",
        family: Family::LlavaNext,
        refine_layer: 7,
        build: llava::next_mistral_7b,
    },
    Preset {
        name: "qwen2.5-vl-7b",
        family: Family::Qwen25Vl,
        refine_layer: 2,
        build: qwen::qwen25_vl_7b,
    },
    Preset {
        name: "qwen3-vl-8b",
        family: Family::Qwen3Vl,
        refine_layer: 6,
        build: qwen::qwen3_vl_8b,
    },
    Preset { name: "qwen3.5-9b", family: Family::Qwen35, refine_layer: 12, build: qwen::qwen35_9b },
    Preset {
        name: "internvl3-8b",
        family: Family::InternVl,
        refine_layer: 4,
        build: internvl::internvl3_8b,
    },
    Preset {
        name: "llava-video-7b",
        family: Family::LlavaVideo,
        refine_layer: 6,
        build: llava_video::llava_video_7b,
    },
    Preset { name: "tiny", family: Family::Llava, refine_layer: 2, build: llava::tiny },
];

impl Preset {
    /// The preset of that name.
    pub fn find(name: &str) -> Result<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            Error::Unknown { what: "preset", found: name.to_owned(), accepted: names.join(", ") }
        })
    }

    /// The preset a loaded configuration has the shape of, if any.
    pub fn matching(config: &ModelConfig) -> Option<&'static Self> {
        let found = &config.decoder;
        PRESETS.iter().filter(|preset| preset.family == config.family).find(|preset| {
            let decoder = preset.config().decoder;
            decoder.hidden_size == found.hidden_size
                && decoder.intermediate_size == found.intermediate_size
                && decoder.blocks == found.blocks
                && decoder.kv_heads == found.kv_heads
        })
    }

    /// The full settings of the model.
    pub fn config(&self) -> ModelConfig {
        (self.build)()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_valid_and_finds_itself() {
        for preset in PRESETS {
            let config = preset.config();
            config.validate(preset.name).unwrap();
            assert_eq!(config.family, preset.family);
            assert_eq!(Preset::matching(&config).map(|p| p.name), Some(preset.name));
            assert_eq!(Preset::find(preset.name).unwrap().name, preset.name);
            assert!(preset.refine_layer < config.decoder.blocks);
            let observed = config.decoder.mixer(preset.refine_layer - 1);
            assert_eq!(observed, crate::config::MixerKind::FullAttention, "{}", preset.name);
            if let Some(vision) = config.vision.llava() {
                assert_eq!(vision.blocks().unwrap(), vision.tower.blocks - 1);
            }
        }
        assert!(Preset::find("llava-2").unwrap_err().to_string().contains("llava-next-13b"));
    }
}
