//! LLaVA-Video.

use super::qwen::qwen2_7b;
use crate::config::{
    Activation, Family, ModelConfig, ProjectorConfig, QWEN_ENDS, SIGLIP_SO400M_384, VIDEO_POOL,
    VideoVision, VisionConfig,
};

pub(super) fn llava_video_7b() -> ModelConfig {
    let decoder = qwen2_7b();
    ModelConfig {
        family: Family::LlavaVideo,
        vision: VisionConfig::LlavaVideo(VideoVision {
            tower: SIGLIP_SO400M_384,
            projector: ProjectorConfig { activation: Activation::Gelu, bias: true },
            pool: VIDEO_POOL,
            tower_folder: None,
        }),
        // The checkpoint has no token of its own for an image: one beyond the vocabulary.
        image_token_id: decoder.vocab_size as u32,
        decoder,
        eos_token_ids: QWEN_ENDS.to_vec(),
        bos_token_id: None,
        dtype: None,
    }
}
