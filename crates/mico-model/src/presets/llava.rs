//! LLaVA-1.5 and LLaVA-NeXT.

use crate::config::{
    Activation, AttentionBias, CLIP_L_336, DecoderConfig, Family, LlavaVision, ModelConfig,
    ProjectorConfig, RopeConfig, VisionConfig, VitConfig,
};

/// Resolutions of LLaVA-NeXT.
const PINPOINTS: [(usize, usize); 5] =
    [(336, 672), (672, 336), (672, 672), (1008, 336), (336, 1008)];
/// Vocabulary of the converted checkpoints: 32,000, the image and pad tokens, padded to 64.
const VOCAB: usize = 32_064;
const IMAGE_TOKEN: u32 = 32_000;
const BOS: u32 = 1;
const EOS: u32 = 2;

pub(super) fn llava_7b() -> ModelConfig {
    model(Family::Llava, vicuna_7b())
}

pub(super) fn llava_13b() -> ModelConfig {
    model(Family::Llava, vicuna_13b())
}

pub(super) fn next_7b() -> ModelConfig {
    model(Family::LlavaNext, vicuna_7b())
}

pub(super) fn next_13b() -> ModelConfig {
    model(Family::LlavaNext, vicuna_13b())
}

pub(super) fn next_mistral_7b() -> ModelConfig {
    let decoder = DecoderConfig {
        intermediate_size: 14_336,
        kv_heads: 8,
        max_positions: 32_768,
        rope: RopeConfig { theta: 1e6, ..RopeConfig::default() },
        ..vicuna_7b()
    };
    model(Family::LlavaNext, decoder)
}

/// The embedded model, whose files are in `crates/mico-tiny`.
pub(super) fn tiny() -> ModelConfig {
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
    let mut model = model(Family::Llava, decoder);
    if let Some(vision) = model.vision.llava_mut() {
        vision.tower = VitConfig {
            hidden_size: 144,
            intermediate_size: 432,
            blocks: 6,
            heads: 4,
            ..CLIP_L_336
        };
    }
    model.image_token_id = 4;
    model
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
        zero_centred_norms: false,
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

fn model(family: Family, decoder: DecoderConfig) -> ModelConfig {
    let tiled = family == Family::LlavaNext;
    ModelConfig {
        family,
        vision: VisionConfig::Llava(LlavaVision {
            tower: CLIP_L_336,
            projector: ProjectorConfig { activation: Activation::Gelu, bias: true },
            feature_layer: -2,
            image_grid_pinpoints: if tiled { PINPOINTS.to_vec() } else { Vec::new() },
            image_aspect_ratio: None,
            tower_folder: None,
        }),
        decoder,
        image_token_id: IMAGE_TOKEN,
        eos_token_ids: vec![EOS],
        bos_token_id: Some(BOS),
        dtype: None,
    }
}
