//! The files of a repository that are needed to load a model.

use std::path::Path;

use mico_tensors::ShardIndex;
pub(super) use mico_tensors::{INDEX_FILE, SINGLE_FILE};
use mico_util::input::open_regular;

use crate::error::HubError;

/// The required configuration file; weights and a tokenizer are required as well.
pub(crate) const CONFIG_FILE: &str = "config.json";
/// The alternative sets of tokenizer files, in order of preference.
pub(crate) const TOKENIZERS: [&[&str]; 2] = [&["tokenizer.json"], &["vocab.json", "merges.txt"]];
/// Files that are downloaded if the repository has them.
pub(crate) const OPTIONAL: [&str; 8] = [
    "added_tokens.json",
    "generation_config.json",
    "preprocessor_config.json",
    "processor_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "chat_template.json",
];
/// The most shards accepted, more than any published model has.
const MAX_SHARDS: usize = 1000;
/// The longest accepted name of a shard, in bytes.
const MAX_SHARD_NAME: usize = 200;

/// The shards that an index lists, sorted. Each must be a plain `.safetensors` name, so that an
/// index cannot request any other file.
pub(crate) fn shards(index: &Path) -> Result<Vec<String>, HubError> {
    let bad = |reason: String| HubError::BadIndex { path: index.to_path_buf(), reason };
    let file = open_regular(index).map_err(HubError::io(index))?;
    let listed = ShardIndex::read(file).map_err(|error| match error {
        mico_tensors::Error::Io(error) => HubError::io(index)(error),
        other => bad(other.to_string()),
    })?;
    if let Some((tensor, file)) = listed.tensors().find(|(_, file)| !is_shard_name(file)) {
        return Err(bad(format!(
            "`weight_map.{tensor}` is {file:?}; only plain names ending in .safetensors are accepted"
        )));
    }
    match listed.files() {
        files if files.len() > MAX_SHARDS => {
            Err(bad(format!("{} shards; at most {MAX_SHARDS} are accepted", files.len())))
        }
        files => Ok(files.into_iter().map(str::to_owned).collect()),
    }
}

fn is_shard_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    name.len() <= MAX_SHARD_NAME
        && name.strip_suffix(".safetensors").is_some_and(|stem| !stem.is_empty())
        && name.bytes().all(plain)
        && !name.starts_with('.')
}
