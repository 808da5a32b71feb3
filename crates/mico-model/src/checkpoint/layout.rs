//! The names a tensor goes by in the published, in-memory and original layouts.

/// The parts of a model as far as tensor names are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The CLIP tower.
    Vision,
    /// The projector's two layers (`linear_1`, `linear_2`).
    Projector,
    /// Embedding table, blocks and final norm of the decoder.
    Decoder,
    /// The output head.
    Head,
    /// The row separator of LLaVA-NeXT.
    Newline,
}

/// Tower prefixes: published, in memory, created by a recent library, original.
const VISION: &[&str] = &[
    "vision_tower.vision_model.",
    "model.vision_tower.vision_model.",
    "model.vision_tower.vision_tower.vision_model.",
    "model.vision_tower.",
    "vision_tower.",
];
/// Tower prefixes inside a folder that holds nothing else.
const TOWER_FOLDER: &[&str] = &["vision_model.", ""];
const PROJECTOR: &[&str] = &["multi_modal_projector.", "model.multi_modal_projector."];
const ORIGINAL_PROJECTOR: &str = "model.mm_projector.";
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
            let numbered = name.replacen("linear_1", "0", 1).replacen("linear_2", "2", 1);
            names.push(format!("{ORIGINAL_PROJECTOR}{numbered}"));
            names
        }
        Part::Decoder => with(DECODER),
        Part::Head => with(HEAD),
        Part::Newline => with(NEWLINE),
    }
}

/// The same for a tower that lives in its own folder.
pub(super) fn tower_candidates(name: &str) -> Vec<String> {
    TOWER_FOLDER.iter().map(|prefix| format!("{prefix}{name}")).collect()
}

/// Whether a tensor is known to be of no use: position tables, the tower's blocks from number
/// `vision_blocks` on and the norm after them, CLIP's text side and heads.
pub(super) fn is_ignorable(name: &str, vision_blocks: usize) -> bool {
    const ENDINGS: [&str; 3] = [".inv_freq", ".position_ids", "logit_scale"];
    const STARTS: [&str; 4] =
        ["text_model.", "text_projection.", "visual_projection.", "vision_projection."];
    ENDINGS.iter().any(|ending| name.ends_with(ending))
        || STARTS.iter().any(|start| name.starts_with(start))
        || name.contains("post_layernorm.")
        || tower_block(name).is_some_and(|block| block >= vision_blocks)
}

/// The number of the tower block a tensor belongs to.
fn tower_block(name: &str) -> Option<usize> {
    let (_, rest) = name.split_once("encoder.layers.")?;
    rest.split('.').next()?.parse().ok()
}
