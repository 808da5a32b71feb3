//! The vision tower of checkpoints in the original LLaVA format, which name it but do not contain it.

use std::path::{Component, Path, PathBuf};

use mico_util::text::quoted;

use super::CONFIG_FILE;
use super::fields::Fields;
use super::vit::{VitConfig, VitKind, by_name, read_vit};
use crate::error::Result;

/// The tower of an original checkpoint, and its folder if it is not the model's own. An error if the
/// file states another width.
pub(crate) fn original_tower(
    folder: &Path,
    root: &Fields,
    kind: VitKind,
) -> Result<(VitConfig, Option<PathBuf>)> {
    let (tower, tower_folder) = named_tower(folder, root, kind)?;
    if let Some(width) = root.usize("mm_hidden_size")?
        && width != tower.hidden_size
    {
        let message = format!("is {width}, the vision tower is {} wide", tower.hidden_size);
        return Err(root.error("mm_hidden_size", message));
    }
    Ok((tower, tower_folder))
}

/// The tower's settings: nested, else from the folder of that name, else those known for that name.
fn named_tower(
    folder: &Path,
    root: &Fields,
    kind: VitKind,
) -> Result<(VitConfig, Option<PathBuf>)> {
    let name =
        root.text("mm_vision_tower")?.ok_or_else(|| root.error("mm_vision_tower", "is missing"))?;
    let tower_folder = find_tower(folder, name);
    if let Some(nested) = root.object("vision_config")? {
        return Ok((read_vit(&nested, kind)?, tower_folder));
    }
    if let Some(tower_folder) = tower_folder {
        let config = read_vit(&Fields::read(&tower_folder.join(CONFIG_FILE))?, kind)?;
        return Ok((config, Some(tower_folder)));
    }
    let config = by_name(name, kind).ok_or_else(|| {
        let message = format!(
            "is `{}`, which is neither a folder beside the model nor a tower known by name",
            quoted(name)
        );
        root.error("mm_vision_tower", message)
    })?;
    Ok((config, None))
}

/// Looks for the named tower inside the model folder and next to it. Only the last component of the
/// name is used, so that a file cannot point anywhere else.
fn find_tower(folder: &Path, name: &str) -> Option<PathBuf> {
    let Component::Normal(last) = Path::new(name).components().next_back()? else { return None };
    let beside = folder.canonicalize().ok().and_then(|full| full.parent().map(Path::to_path_buf));
    [Some(folder.to_path_buf()), beside]
        .into_iter()
        .flatten()
        .map(|parent| parent.join(last))
        .find(|candidate| candidate.join(CONFIG_FILE).is_file())
}
