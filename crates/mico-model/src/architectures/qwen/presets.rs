//! The published Qwen models, and the Qwen2 decoder other families use.

use super::{
    IMAGE_TOKEN, QWEN_ENDS, QWEN2_5_VL, QWEN3_5, QWEN3_5_ENDS, QWEN3_5_IMAGE_TOKEN, QWEN3_VL,
    qwen2_5_vision, qwen3_5_vision, qwen3_vision,
};
use crate::architectures::Family;
use crate::config::{
    AttentionBias, DecoderConfig, LinearAttentionConfig, ModelConfig, RopeAxes, RopeConfig,
    VisionConfig,
};

pub(super) fn qwen2_5_vl_7b() -> ModelConfig {
    let rope = RopeConfig { axes: RopeAxes::Chunked([16, 24, 24]), ..qwen2_7b().rope };
    ModelConfig {
        family: Family::of(&QWEN2_5_VL),
        vision: VisionConfig::new(qwen2_5_vision()),
        decoder: DecoderConfig { rope, max_positions: 128_000, ..qwen2_7b() },
        image_token_id: IMAGE_TOKEN,
        eos_token_ids: QWEN_ENDS.to_vec(),
        bos_token_id: None,
        dtype: None,
    }
}

pub(super) fn qwen3_vl_8b() -> ModelConfig {
    let decoder = DecoderConfig {
        hidden_size: 4096,
        intermediate_size: 12_288,
        blocks: 36,
        heads: 32,
        kv_heads: 8,
        head_dim: 128,
        vocab_size: 151_936,
        max_positions: 262_144,
        rope: RopeConfig {
            theta: 5e6,
            axes: RopeAxes::Interleaved([24, 20, 20]),
            ..RopeConfig::default()
        },
        attention_bias: AttentionBias::None,
        qk_norm: true,
        ..qwen2_7b()
    };
    ModelConfig {
        family: Family::of(&QWEN3_VL),
        vision: VisionConfig::new(qwen3_vision()),
        decoder,
        ..qwen2_5_vl_7b()
    }
}

pub(super) fn qwen3_5_9b() -> ModelConfig {
    let blocks = 32;
    let decoder = DecoderConfig {
        hidden_size: 4096,
        intermediate_size: 12_288,
        blocks,
        heads: 16,
        kv_heads: 4,
        head_dim: 256,
        vocab_size: 248_320,
        max_positions: 262_144,
        rope: RopeConfig {
            theta: 1e7,
            axes: RopeAxes::Interleaved([11, 11, 10]),
            partial: 0.25,
            ..RopeConfig::default()
        },
        attention_bias: AttentionBias::None,
        qk_norm: true,
        output_gate: true,
        zero_centered_norms: true,
        linear_attention: Some(LinearAttentionConfig {
            mixers: LinearAttentionConfig::every(4, blocks),
            conv_kernel: 4,
            key_heads: 16,
            key_dim: 128,
            value_heads: 32,
            value_dim: 128,
        }),
        ..qwen2_7b()
    };
    ModelConfig {
        family: Family::of(&QWEN3_5),
        vision: VisionConfig::new(qwen3_5_vision()),
        decoder,
        image_token_id: QWEN3_5_IMAGE_TOKEN,
        eos_token_ids: QWEN3_5_ENDS.to_vec(),
        ..qwen2_5_vl_7b()
    }
}

/// The decoder of Qwen2-7B and Qwen2.5-7B.
pub(crate) fn qwen2_7b() -> DecoderConfig {
    DecoderConfig {
        hidden_size: 3584,
        intermediate_size: 18_944,
        blocks: 28,
        heads: 28,
        kv_heads: 4,
        head_dim: 128,
        vocab_size: 152_064,
        max_positions: 32_768,
        rms_norm_eps: 1e-6,
        rope: RopeConfig { theta: 1e6, ..RopeConfig::default() },
        attention_bias: AttentionBias::Qkv,
        qk_norm: false,
        tied_head: false,
        sliding_window: None,
        output_gate: false,
        zero_centered_norms: false,
        linear_attention: None,
    }
}
