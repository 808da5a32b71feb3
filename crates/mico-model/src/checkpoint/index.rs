//! `model.safetensors.index.json`: which file holds which tensor.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde_json::Value;

use crate::error::{Error, Result};

/// An index lists a name per tensor; anything larger is not one.
const MAX_INDEX_BYTES: u64 = 64 << 20;

/// Reads the map from tensor name to file name. Every file must be a plain name, so that an index
/// cannot reach outside its folder.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, String>> {
    let bad = |message: String| Error::Index { path: path.to_path_buf(), message };
    let size = std::fs::metadata(path).map_err(Error::io(path))?.len();
    if size > MAX_INDEX_BYTES {
        return Err(bad(format!("{size} bytes, at most {MAX_INDEX_BYTES} are read")));
    }
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    let root: Value =
        serde_json::from_slice(&bytes).map_err(|error| bad(format!("not JSON: {error}")))?;
    let map = root
        .get("weight_map")
        .and_then(Value::as_object)
        .ok_or_else(|| bad("`weight_map` is missing or not an object".into()))?;
    if map.is_empty() {
        return Err(bad("`weight_map` is empty".into()));
    }
    map.iter()
        .map(|(tensor, file)| {
            let file = file
                .as_str()
                .ok_or_else(|| bad(format!("`weight_map.{tensor}` is {file}, not a file name")))?;
            if !is_plain_name(file) {
                return Err(bad(format!(
                    "`weight_map.{tensor}` is `{file}`; only plain file names inside the folder are accepted"
                )));
            }
            Ok((tensor.clone(), file.to_owned()))
        })
        .collect()
}

fn is_plain_name(file: &str) -> bool {
    let mut parts = Path::new(file).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
        && !file.contains(['/', '\\'])
}
