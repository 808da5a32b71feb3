//! InternVL3.

use super::qwen::qwen2_7b;
use crate::config::{
    Activation, DecoderConfig, Family, INTERN_EOS, INTERN_IMAGE_TOKEN, INTERN_VIT_300M,
    InternTiles, InternVision, ModelConfig, VisionConfig,
};

pub(super) fn internvl3_8b() -> ModelConfig {
    ModelConfig {
        family: Family::InternVl,
        vision: VisionConfig::InternVl(InternVision {
            tower: INTERN_VIT_300M,
            shuffle: 2,
            activation: Activation::Gelu,
            tiles: InternTiles::default(),
        }),
        decoder: DecoderConfig { vocab_size: 151_674, ..qwen2_7b() },
        image_token_id: INTERN_IMAGE_TOKEN,
        eos_token_ids: vec![INTERN_EOS],
        bos_token_id: None,
        dtype: None,
    }
}
