//! The published models by name: enough to build one of the same shape without its files.

use crate::config::{
    Activation, AttentionBias, CLIP_L_336, DecoderConfig, Family, ModelConfig, ProjectorConfig,
    RopeConfig,
};
use crate::error::{Error, Result};

/// Resolutions of LLaVA-NeXT.
const PINPOINTS: [(usize, usize); 5] =
    [(336, 672), (672, 336), (672, 672), (1008, 336), (336, 1008)];
/// Vocabulary of the converted checkpoints: 32,000, the image and pad tokens, padded to 64.
const VOCAB: usize = 32_064;
const IMAGE_TOKEN: u32 = 32_000;
const BOS: u32 = 1;
const EOS: u32 = 2;

/// One published model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preset {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its family.
    pub family: Family,
    /// Width of the decoder.
    pub hidden_size: usize,
    /// Width inside the decoder's MLP.
    pub intermediate_size: usize,
    /// Decoder blocks, the paper's L.
    pub blocks: usize,
    /// Query heads.
    pub heads: usize,
    /// Key/value heads.
    pub kv_heads: usize,
    /// Longest sequence.
    pub max_positions: usize,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// The paper's refinement block K, 1-based: Stage 2 prunes after block #K. The paper has no
    /// row for the Mistral variant; it takes the value of the other 7B models.
    pub refine_layer: usize,
}

const VICUNA_7B: Preset = Preset {
    name: "llava-1.5-7b",
    family: Family::Llava,
    hidden_size: 4096,
    intermediate_size: 11_008,
    blocks: 32,
    heads: 32,
    kv_heads: 32,
    max_positions: 4096,
    rope_theta: 1e4,
    refine_layer: 7,
};

const VICUNA_13B: Preset = Preset {
    name: "llava-1.5-13b",
    hidden_size: 5120,
    intermediate_size: 13_824,
    blocks: 40,
    heads: 40,
    kv_heads: 40,
    refine_layer: 8,
    ..VICUNA_7B
};

/// Every preset.
pub const PRESETS: [Preset; 5] = [
    VICUNA_7B,
    VICUNA_13B,
    Preset { name: "llava-next-7b", family: Family::LlavaNext, ..VICUNA_7B },
    Preset { name: "llava-next-13b", family: Family::LlavaNext, refine_layer: 14, ..VICUNA_13B },
    Preset {
        name: "llava-next-mistral-7b",
        family: Family::LlavaNext,
        intermediate_size: 14_336,
        kv_heads: 8,
        max_positions: 32_768,
        rope_theta: 1e6,
        ..VICUNA_7B
    },
];

impl Preset {
    /// The preset of that name.
    pub fn find(name: &str) -> Result<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| Error::Unknown {
            what: "preset",
            found: name.to_owned(),
            accepted: PRESETS.map(|preset| preset.name).join(", "),
        })
    }

    /// The preset a loaded configuration has the shape of, if any.
    pub fn matching(config: &ModelConfig) -> Option<&'static Self> {
        let decoder = &config.decoder;
        PRESETS.iter().find(|preset| {
            preset.family == config.family
                && preset.hidden_size == decoder.hidden_size
                && preset.intermediate_size == decoder.intermediate_size
                && preset.blocks == decoder.blocks
                && preset.kv_heads == decoder.kv_heads
        })
    }

    /// The full settings of the model.
    pub fn config(&self) -> ModelConfig {
        ModelConfig {
            family: self.family,
            vision: CLIP_L_336,
            projector: ProjectorConfig { activation: Activation::Gelu, bias: true },
            decoder: DecoderConfig {
                hidden_size: self.hidden_size,
                intermediate_size: self.intermediate_size,
                blocks: self.blocks,
                heads: self.heads,
                kv_heads: self.kv_heads,
                head_dim: self.hidden_size / self.heads,
                vocab_size: VOCAB,
                max_positions: self.max_positions,
                rms_norm_eps: 1e-5,
                rope: RopeConfig { theta: self.rope_theta, factor: 1.0 },
                attention_bias: AttentionBias::None,
                qk_norm: false,
                tied_head: false,
                sliding_window: None,
            },
            vision_feature_layer: -2,
            image_token_id: IMAGE_TOKEN,
            image_grid_pinpoints: match self.family {
                Family::Llava => Vec::new(),
                Family::LlavaNext => PINPOINTS.to_vec(),
            },
            image_aspect_ratio: None,
            eos_token_ids: vec![EOS],
            bos_token_id: Some(BOS),
            dtype: None,
            vision_tower: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_valid_and_finds_itself() {
        for preset in &PRESETS {
            let config = preset.config();
            config.vision.validate(preset.name).unwrap();
            config.decoder.validate(preset.name).unwrap();
            assert_eq!(config.vision_blocks().unwrap(), 23);
            assert_eq!(Preset::matching(&config).map(|p| p.name), Some(preset.name));
            assert_eq!(Preset::find(preset.name).unwrap(), preset);
        }
        assert!(Preset::find("llava-2").unwrap_err().to_string().contains("llava-next-13b"));
    }
}
