//! `config.json` of Qwen2.5-VL, Qwen3-VL and Qwen3.5.
//!
//! Files written by older libraries have the decoder's settings at the root, newer ones under
//! `text_config`; the vision side is always nested.

use mico_util::text::quoted;

use crate::architectures::{Architecture, Family};
use crate::config::{
    Activation, DecoderKinds, Fields, ModelConfig, QwenTowerKind, QwenVision, VisionConfig, bos,
    dtype, eos, read_decoder,
};
use crate::error::Result;

/// What a file means by the settings it omits.
pub(super) struct Defaults {
    pub(super) vision: fn() -> QwenVision,
    pub(super) image_token: u32,
    pub(super) ends: &'static [u32],
    pub(super) decoders: DecoderKinds,
}

/// Reads the settings of a model folder.
pub(super) fn read(
    root: &Fields,
    architecture: &'static Architecture,
    defaults: &Defaults,
) -> Result<ModelConfig> {
    let nested = root.object("text_config")?;
    let text = nested.as_ref().unwrap_or(root);
    let decoder = read_decoder(text, root.flag("tie_word_embeddings")?, defaults.decoders)?;
    if !decoder.rope.axes.is_spatial() {
        let message = "is missing, three numbers are expected";
        return Err(text.error(&format!("{}.mrope_section", text.rope_key()), message));
    }
    let vision = tower(&root.part("vision_config")?, (defaults.vision)(), decoder.hidden_size)?;
    let width = decoder.hidden_size;
    if vision.output != width {
        let message = format!("is {}, the decoder is {width} wide", vision.output);
        return Err(root.error("vision_config.out_hidden_size", message));
    }
    let image_token = root.token("image_token_id")?.unwrap_or(defaults.image_token);
    if image_token as usize >= decoder.vocab_size {
        let message = format!("is {image_token}, the vocabulary has {}", decoder.vocab_size);
        return Err(root.error("image_token_id", message));
    }
    Ok(ModelConfig {
        family: Family::of(architecture),
        vision: VisionConfig::new(vision),
        decoder,
        image_token_id: image_token,
        eos_token_ids: eos(root, nested.as_ref(), defaults.ends)?,
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
        return Err(fields.error("hidden_act", format!("is `{}`, accepted: silu", quoted(found))));
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
            Err(inner
                .error("rope_type", format!("is `{}`, accepted: axial, default", quoted(other))))
        }
    }
}
