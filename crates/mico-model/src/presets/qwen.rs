//! Qwen2.5-VL, Qwen3-VL and Qwen3.5, and the Qwen2 decoder other families use.

use crate::config::{
    AttentionBias, DecoderConfig, Family, LinearAttentionConfig, ModelConfig, QWEN_ENDS, RopeAxes,
    RopeConfig, VisionConfig, qwen3_vision, qwen25_vision, qwen35_vision,
};

/// `<|image_pad|>`.
const IMAGE_TOKEN: u32 = 151_655;

pub(super) fn qwen25_vl_7b() -> ModelConfig {
    let rope = RopeConfig { axes: RopeAxes::Chunked([16, 24, 24]), ..qwen2_7b().rope };
    ModelConfig {
        family: Family::Qwen25Vl,
        vision: VisionConfig::Qwen(qwen25_vision()),
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
        family: Family::Qwen3Vl,
        vision: VisionConfig::Qwen(qwen3_vision()),
        decoder,
        ..qwen25_vl_7b()
    }
}

pub(super) fn qwen35_9b() -> ModelConfig {
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
        zero_centred_norms: true,
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
        family: Family::Qwen35,
        vision: VisionConfig::Qwen(qwen35_vision()),
        decoder,
        image_token_id: 248_056,
        eos_token_ids: vec![248_046, 248_044],
        ..qwen25_vl_7b()
    }
}

/// The decoder of Qwen2-7B and Qwen2.5-7B.
pub(super) fn qwen2_7b() -> DecoderConfig {
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
        zero_centred_norms: false,
        linear_attention: None,
    }
}
