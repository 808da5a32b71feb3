//! The names of tensors in the published, in-memory and original checkpoint layouts.

/// The parts of a model by which tensor names are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The vision tower, a Qwen model's mergers included.
    Vision,
    /// The projector's two layers (`linear_1`, `linear_2`), and a norm before them (`layer_norm`).
    Projector,
    /// Embedding table, blocks and final norm of the decoder.
    Decoder,
    /// The output head (`lm_head`), absent where it is tied to the embedding table.
    Head,
    /// The learned newline embedding of LLaVA-NeXT and LLaVA-Video (`image_newline`).
    Newline,
}

/// Tower prefixes: published, in memory, created by a recent library, original; then those of the
/// Qwen models, and of original InternVL.
const VISION: &[&str] = &[
    "vision_tower.vision_model.",
    "model.vision_tower.vision_model.",
    "model.vision_tower.vision_tower.vision_model.",
    "model.vision_tower.",
    "vision_tower.",
    "visual.",
    "model.visual.",
    "vision_model.",
];
/// Tower prefixes in a folder that holds only the tower.
const TOWER_FOLDER: &[&str] = &["vision_model.", ""];
const PROJECTOR: &[&str] = &["multi_modal_projector.", "model.multi_modal_projector."];
/// Original projectors are numbered layers, where the activation function counts as one.
const ORIGINAL_PROJECTORS: [(&str, &[(&str, &str)]); 2] = [
    ("model.mm_projector.", &[("linear_1", "0"), ("linear_2", "2")]),
    ("mlp1.", &[("layer_norm", "0"), ("linear_1", "1"), ("linear_2", "3")]),
];
const DECODER: &[&str] = &["language_model.model.", "model.language_model.", "model."];
const HEAD: &[&str] = &["language_model.", ""];
const NEWLINE: &[&str] = &["", "model."];

/// Every name under which `name` of `part` may be stored, most common first.
pub(super) fn candidates(part: Part, name: &str) -> Vec<String> {
    let with = |prefixes: &[&str]| -> Vec<String> {
        prefixes.iter().map(|prefix| format!("{prefix}{name}")).collect()
    };
    match part {
        Part::Vision => with(VISION),
        Part::Projector => {
            let mut names = with(PROJECTOR);
            for (prefix, numbers) in ORIGINAL_PROJECTORS {
                let known = numbers.iter().find(|(layer, _)| name.starts_with(layer));
                names.extend(
                    known.map(|(layer, number)| {
                        format!("{prefix}{}", name.replacen(layer, number, 1))
                    }),
                );
            }
            names
        }
        Part::Decoder => with(DECODER),
        Part::Head => with(HEAD),
        Part::Newline => with(NEWLINE),
    }
}

/// Every name under which a tensor may be stored in a tower's own folder.
pub(super) fn tower_candidates(name: &str) -> Vec<String> {
    TOWER_FOLDER.iter().map(|prefix| format!("{prefix}{name}")).collect()
}

/// Whether a tensor is known to be unused: position tables, the tower's blocks from number
/// `vision_blocks` on, the norm and head after them, CLIP's text side and heads, and the blocks with
/// which Qwen3.5 predicts several tokens at once.
pub(super) fn is_ignorable(name: &str, vision_blocks: usize) -> bool {
    const ENDINGS: [&str; 3] = [".inv_freq", ".position_ids", "logit_scale"];
    const STARTS: [&str; 6] = [
        "text_model.",
        "text_projection.",
        "visual_projection.",
        "vision_projection.",
        "mtp.",
        "model.mtp.",
    ];
    ENDINGS.iter().any(|ending| name.ends_with(ending))
        || STARTS.iter().any(|start| name.starts_with(start))
        || name.contains("post_layernorm.")
        || name.contains("vision_model.head.")
        || name.contains("vision_tower.head.")
        || tower_block(name).is_some_and(|block| block >= vision_blocks)
}

/// The number of the tower block a tensor belongs to.
fn tower_block(name: &str) -> Option<usize> {
    let (_, rest) =
        name.split_once("encoder.layers.").or_else(|| name.split_once("encoder.layer."))?;
    rest.split('.').next()?.parse().ok()
}
