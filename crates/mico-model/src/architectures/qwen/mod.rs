//! Qwen2.5-VL, Qwen3-VL and Qwen3.5: a tower for images at their own resolution and a merger that
//! joins the patches of a visual token; Qwen3-VL adds one merger for each DeepStack layer.

mod presets;
mod read;
mod side;

pub(super) use presets::qwen2_7b;

use super::{Architecture, Traits, VisionSide};
use crate::config::{Activation, ModelConfig, QwenTowerKind, QwenVision};
use crate::error::Result;
use crate::presets::Preset;
use crate::weights::Builder;
use read::{Defaults, read};

/// The ids of `<|im_end|>` and `<|endoftext|>`, either of which ends an answer.
pub(super) const QWEN_ENDS: [u32; 2] = [151_645, 151_643];
const QWEN3_5_ENDS: [u32; 2] = [248_046, 248_044];
/// The id of `<|image_pad|>`, the placeholder of a visual token.
const IMAGE_TOKEN: u32 = 151_655;
const QWEN3_5_IMAGE_TOKEN: u32 = 248_056;

/// What pruning methods distinguish in all three.
const TRAITS: Traits = Traits { native_resolution: true, ..Traits::NONE };

/// Qwen2.5-VL: an image at its own resolution, windowed vision attention.
pub static QWEN2_5_VL: Architecture = Architecture {
    name: "qwen2_5_vl",
    model_types: &["qwen2_5_vl"],
    claims: |_| true,
    read: |_, root| {
        let defaults = Defaults {
            vision: qwen2_5_vision,
            image_token: IMAGE_TOKEN,
            ends: &QWEN_ENDS,
            decoders: &["qwen2_5_vl_text", "qwen2_5_vl", "qwen2"],
        };
        read(root, &QWEN2_5_VL, &defaults)
    },
    build,
    traits: TRAITS,
    presets: &[Preset::published(
        "qwen2.5-vl-7b",
        "Qwen/Qwen2.5-VL-7B-Instruct",
        2,
        presets::qwen2_5_vl_7b,
    )],
};

/// Qwen3-VL: an image at its own resolution, DeepStack.
pub static QWEN3_VL: Architecture = Architecture {
    name: "qwen3_vl",
    model_types: &["qwen3_vl"],
    claims: |_| true,
    read: |_, root| {
        let defaults = Defaults {
            vision: qwen3_vision,
            image_token: IMAGE_TOKEN,
            ends: &QWEN_ENDS,
            decoders: &["qwen3_vl_text", "qwen3_vl", "qwen3"],
        };
        read(root, &QWEN3_VL, &defaults)
    },
    build,
    traits: TRAITS,
    presets: &[Preset::published(
        "qwen3-vl-8b",
        "Qwen/Qwen3-VL-8B-Instruct",
        6,
        presets::qwen3_vl_8b,
    )],
};

/// Qwen3.5: Qwen3-VL's vision before a hybrid decoder.
pub static QWEN3_5: Architecture = Architecture {
    name: "qwen3_5",
    model_types: &["qwen3_5"],
    claims: |_| true,
    read: |_, root| {
        let defaults = Defaults {
            vision: qwen3_5_vision,
            image_token: QWEN3_5_IMAGE_TOKEN,
            ends: &QWEN3_5_ENDS,
            decoders: &["qwen3_5_text", "qwen3_5"],
        };
        read(root, &QWEN3_5, &defaults)
    },
    build,
    traits: TRAITS,
    presets: &[Preset::published("qwen3.5-9b", "Qwen/Qwen3.5-9B", 12, presets::qwen3_5_9b)],
};

fn build(b: &mut Builder, config: &ModelConfig) -> Result<Box<dyn VisionSide>> {
    Ok(Box::new(side::Qwen::build(b, config.vision.expect()?)?))
}

/// The tower of Qwen2.5-VL-7B.
fn qwen2_5_vision() -> QwenVision {
    QwenVision {
        kind: QwenTowerKind::Windowed { window: 112, full: vec![7, 15, 23, 31] },
        hidden_size: 1280,
        intermediate_size: 3420,
        blocks: 32,
        heads: 16,
        patch_size: 14,
        frames: 2,
        merge: 2,
        output: 3584,
        theta: 1e4,
        activation: Activation::Silu,
    }
}

/// The tower of Qwen3-VL-8B.
fn qwen3_vision() -> QwenVision {
    QwenVision {
        kind: QwenTowerKind::Positioned { side: 48, deepstack: vec![8, 16, 24] },
        hidden_size: 1152,
        intermediate_size: 4304,
        blocks: 27,
        heads: 16,
        patch_size: 16,
        frames: 2,
        merge: 2,
        output: 4096,
        theta: 1e4,
        activation: Activation::GeluTanh,
    }
}

/// The tower of Qwen3.5-9B.
fn qwen3_5_vision() -> QwenVision {
    QwenVision {
        kind: QwenTowerKind::Positioned { side: 48, deepstack: Vec::new() },
        ..qwen3_vision()
    }
}
