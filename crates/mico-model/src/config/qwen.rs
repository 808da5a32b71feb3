//! `config.json` of Qwen2.5-VL, Qwen3-VL and Qwen3.5.
//!
//! Files written by older libraries have the decoder's settings at the root, newer ones under
//! `text_config`; the vision side is always nested.

use std::path::Path;

use super::common::{bos, dtype, eos};
use super::fields::Fields;
use super::parts::Activation;
use super::text::{self, Kinds};
use super::vision::{QwenTowerKind, QwenVision, VisionConfig};
use super::{Family, ModelConfig};
use crate::error::Result;

/// What a file means by the settings it omits.
struct Usual {
    family: Family,
    vision: fn() -> QwenVision,
    image_token: u32,
    ends: &'static [u32],
    decoders: Kinds,
}

const USUAL: [(&str, Usual); 3] = [
    (
        "qwen2_5_vl",
        Usual {
            family: Family::Qwen25Vl,
            vision: qwen25_vision,
            image_token: 151_655,
            ends: &[151_645, 151_643],
            decoders: &["qwen2_5_vl_text", "qwen2_5_vl", "qwen2"],
        },
    ),
    (
        "qwen3_vl",
        Usual {
            family: Family::Qwen3Vl,
            vision: qwen3_vision,
            image_token: 151_655,
            ends: &[151_645, 151_643],
            decoders: &["qwen3_vl_text", "qwen3_vl", "qwen3"],
        },
    ),
    (
        "qwen3_5",
        Usual {
            family: Family::Qwen35,
            vision: qwen35_vision,
            image_token: 248_056,
            ends: &[248_046, 248_044],
            decoders: &["qwen3_5_text", "qwen3_5"],
        },
    ),
];

/// Values of `model_type` read here.
pub(super) const MODEL_TYPES: [&str; 3] = ["qwen2_5_vl", "qwen3_vl", "qwen3_5"];

/// The tower of Qwen2.5-VL-7B.
pub(crate) fn qwen25_vision() -> QwenVision {
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
pub(crate) fn qwen3_vision() -> QwenVision {
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
pub(crate) fn qwen35_vision() -> QwenVision {
    QwenVision {
        kind: QwenTowerKind::Positioned { side: 48, deepstack: Vec::new() },
        ..qwen3_vision()
    }
}

/// Reads the settings of a model folder.
pub(super) fn read(_folder: &Path, root: &Fields, model_type: &str) -> Result<ModelConfig> {
    let Some((_, usual)) = USUAL.iter().find(|(name, _)| *name == model_type) else {
        let message = format!("is `{model_type}`, accepted: {}", MODEL_TYPES.join(", "));
        return Err(root.error("model_type", message));
    };
    let nested = root.object("text_config")?;
    let text = nested.as_ref().unwrap_or(root);
    let decoder = text::decoder(text, root.flag("tie_word_embeddings")?, usual.decoders)?;
    if !decoder.rope.axes.is_spatial() {
        let message = "is missing, three numbers are expected";
        return Err(text.error("rope_parameters.mrope_section", message));
    }
    let vision = tower(&root.part("vision_config")?, (usual.vision)(), decoder.hidden_size)?;
    let width = decoder.hidden_size;
    if vision.output != width {
        let message = format!("is {}, the decoder is {width} wide", vision.output);
        return Err(root.error("vision_config.out_hidden_size", message));
    }
    let image_token = root.token("image_token_id")?.unwrap_or(usual.image_token);
    if image_token as usize >= decoder.vocab_size {
        let message = format!("is {image_token}, the vocabulary has {}", decoder.vocab_size);
        return Err(root.error("image_token_id", message));
    }
    Ok(ModelConfig {
        family: usual.family,
        vision: VisionConfig::Qwen(vision),
        decoder,
        image_token_id: image_token,
        eos_token_ids: eos(root, nested.as_ref(), usual.ends)?,
        bos_token_id: bos(root, nested.as_ref())?,
        dtype: dtype(root, nested.as_ref())?,
    })
}

/// The tower's settings; `usual` for what the file omits.
fn tower(fields: &Fields, usual: QwenVision, width: usize) -> Result<QwenVision> {
    let channels = match fields.usize("in_channels")? {
        Some(channels) => channels,
        None => fields.usize("in_chans")?.unwrap_or(3),
    };
    if channels != 3 {
        return Err(fields.error("in_channels", format!("is {channels}, accepted: 3")));
    }
    let kind = match usual.kind {
        QwenTowerKind::Windowed { window, full } => QwenTowerKind::Windowed {
            window: fields.usize("window_size")?.unwrap_or(window),
            full: fields.counts("fullatt_block_indexes")?.unwrap_or(full),
        },
        QwenTowerKind::Positioned { side, deepstack } => QwenTowerKind::Positioned {
            side: match fields.usize("num_position_embeddings")? {
                None => side,
                Some(count) => {
                    let side = count.isqrt();
                    if side * side != count {
                        let message = format!("is {count}, expected a square");
                        return Err(fields.error("num_position_embeddings", message));
                    }
                    side
                }
            },
            // A family without DeepStack has none, whatever a file says.
            deepstack: if deepstack.is_empty() {
                deepstack
            } else {
                fields.counts("deepstack_visual_indexes")?.unwrap_or(deepstack)
            },
        },
    };
    let activation = fields.activation("hidden_act")?.unwrap_or(usual.activation);
    if matches!(kind, QwenTowerKind::Windowed { .. }) && activation != Activation::Silu {
        let found = fields.text("hidden_act")?.unwrap_or_default();
        return Err(fields.error("hidden_act", format!("is `{found}`, accepted: silu")));
    }
    Ok(QwenVision {
        kind,
        hidden_size: fields.usize("hidden_size")?.unwrap_or(usual.hidden_size),
        intermediate_size: fields.usize("intermediate_size")?.unwrap_or(usual.intermediate_size),
        blocks: fields.usize("depth")?.unwrap_or(usual.blocks),
        heads: fields.usize("num_heads")?.unwrap_or(usual.heads),
        patch_size: fields.usize("patch_size")?.unwrap_or(usual.patch_size),
        frames: fields.usize("temporal_patch_size")?.unwrap_or(usual.frames),
        merge: fields.usize("spatial_merge_size")?.unwrap_or(usual.merge),
        output: fields.usize("out_hidden_size")?.unwrap_or(width),
        theta: theta(fields)?.unwrap_or(usual.theta),
        activation,
    })
}

/// `rope_theta`, or that of `rope_parameters`, which must be of the plain kind.
fn theta(fields: &Fields) -> Result<Option<f64>> {
    let Some(inner) = fields.object("rope_parameters")? else {
        return fields.positive("rope_theta");
    };
    match inner.text("rope_type")? {
        None | Some("default" | "axial") => inner.positive("rope_theta"),
        Some(other) => {
            Err(inner.error("rope_type", format!("is `{other}`, accepted: axial, default")))
        }
    }
}
