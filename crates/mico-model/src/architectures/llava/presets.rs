//! The published models of LLaVA-1.5 and LLaVA-NeXT, and the embedded model of the same make.

use super::read::PINPOINTS;
use super::{LLAVA as LLAVA_ARCHITECTURE, LLAVA_NEXT as NEXT_ARCHITECTURE, LlavaVision};
use crate::architectures::Family;
use crate::config::{
    Activation, AttentionBias, CLIP_L_336, DecoderConfig, ModelConfig, ProjectorConfig, RopeConfig,
    VisionConfig, VitConfig,
};
use crate::presets::Preset;

/// Vocabulary of the converted checkpoints: 32,000, the image and pad tokens, padded to 64.
const VOCAB: usize = 32_064;
const IMAGE_TOKEN: u32 = 32_000;
const BOS: u32 = 1;
const EOS: u32 = 2;

pub(super) const LLAVA: &[Preset] = &[
    Preset::published("llava-1.5-7b", "llava-hf/llava-1.5-7b-hf", 7, || llava(vicuna_7b())),
    Preset::published("llava-1.5-13b", "llava-hf/llava-1.5-13b-hf", 8, || llava(vicuna_13b())),
    Preset::embedded("tiny", 2, tiny),
];

/// The paper has no row for the Mistral variant; it takes the block of the other 7B models.
pub(super) const LLAVA_NEXT: &[Preset] = &[
    Preset::published("llava-next-7b", "llava-hf/llava-v1.6-vicuna-7b-hf", 7, || {
        llava_next(vicuna_7b())
    }),
    Preset::published("llava-next-13b", "llava-hf/llava-v1.6-vicuna-13b-hf", 14, || {
        llava_next(vicuna_13b())
    }),
    Preset::published("llava-next-mistral-7b", "llava-hf/llava-v1.6-mistral-7b-hf", 7, || {
        llava_next(mistral_7b())
    }),
];

fn mistral_7b() -> DecoderConfig {
    DecoderConfig {
        intermediate_size: 14_336,
        kv_heads: 8,
        max_positions: 32_768,
        rope: RopeConfig { theta: 1e6, ..RopeConfig::default() },
        ..vicuna_7b()
    }
}

/// The embedded model, whose files are in `crates/mico-tiny`.
fn tiny() -> ModelConfig {
    let decoder = DecoderConfig {
        hidden_size: 128,
        intermediate_size: 352,
        blocks: 8,
        heads: 4,
        kv_heads: 4,
        head_dim: 32,
        vocab_size: 96,
        max_positions: 2048,
        rope: RopeConfig { theta: 1e6, ..RopeConfig::default() },
        ..vicuna_7b()
    };
    let tower =
        VitConfig { hidden_size: 144, intermediate_size: 432, blocks: 6, heads: 4, ..CLIP_L_336 };
    let vision = VisionConfig::new(LlavaVision { tower, ..clip_and_projector() });
    ModelConfig { vision, image_token_id: 4, ..llava(decoder) }
}

fn vicuna_7b() -> DecoderConfig {
    DecoderConfig {
        hidden_size: 4096,
        intermediate_size: 11_008,
        blocks: 32,
        heads: 32,
        kv_heads: 32,
        head_dim: 128,
        vocab_size: VOCAB,
        max_positions: 4096,
        rms_norm_eps: 1e-5,
        rope: RopeConfig::default(),
        attention_bias: AttentionBias::None,
        qk_norm: false,
        tied_head: false,
        sliding_window: None,
        output_gate: false,
        zero_centered_norms: false,
        linear_attention: None,
    }
}

fn vicuna_13b() -> DecoderConfig {
    DecoderConfig {
        hidden_size: 5120,
        intermediate_size: 13_824,
        blocks: 40,
        heads: 40,
        kv_heads: 40,
        ..vicuna_7b()
    }
}

fn clip_and_projector() -> LlavaVision {
    LlavaVision {
        tower: CLIP_L_336,
        projector: ProjectorConfig { activation: Activation::Gelu, bias: true },
        feature_layer: -2,
        image_grid_pinpoints: Vec::new(),
        image_aspect_ratio: None,
        tower_folder: None,
    }
}

fn llava(decoder: DecoderConfig) -> ModelConfig {
    ModelConfig {
        family: Family::of(&LLAVA_ARCHITECTURE),
        vision: VisionConfig::new(clip_and_projector()),
        decoder,
        image_token_id: IMAGE_TOKEN,
        eos_token_ids: vec![EOS],
        bos_token_id: Some(BOS),
        dtype: None,
    }
}

fn llava_next(decoder: DecoderConfig) -> ModelConfig {
    let image_grid_pinpoints = PINPOINTS.to_vec();
    ModelConfig {
        family: Family::of(&NEXT_ARCHITECTURE),
        vision: VisionConfig::new(LlavaVision { image_grid_pinpoints, ..clip_and_projector() }),
        ..llava(decoder)
    }
}
