//! Which files of a repository make up a model.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::error::HubError;

/// The weights in one file.
pub(crate) const SINGLE_FILE: &str = "model.safetensors";
/// The list of the files the weights are spread over.
pub(crate) const INDEX_FILE: &str = "model.safetensors.index.json";
/// The file a model cannot do without, beside its weights and a tokenizer.
pub(crate) const CONFIG_FILE: &str = "config.json";
/// The ways a tokenizer comes, the usual one first.
pub(crate) const TOKENIZERS: [&[&str]; 2] = [&["tokenizer.json"], &["vocab.json", "merges.txt"]];
/// Files that not every checkpoint has.
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
/// An index lists a name per tensor; anything larger is not one.
const MAX_INDEX_BYTES: u64 = 64 << 20;
/// More shards than any published model has.
const MAX_SHARDS: usize = 1000;
/// Longest name of a shard.
const MAX_SHARD_NAME: usize = 200;

/// The shards an index lists, sorted. Each must be a plain name of a safetensors file, so that an
/// index can reach neither outside its folder nor for anything but weights.
pub(crate) fn shards(index: &Path) -> Result<Vec<String>, HubError> {
    let bad = |reason: String| HubError::BadIndex { path: index.to_path_buf(), reason };
    let mut bytes = Vec::new();
    File::open(index)
        .and_then(|file| file.take(MAX_INDEX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(HubError::io(index))?;
    if bytes.len() as u64 > MAX_INDEX_BYTES {
        return Err(bad(format!("more than {MAX_INDEX_BYTES} bytes, the most that are read")));
    }
    let root: Value =
        serde_json::from_slice(&bytes).map_err(|error| bad(format!("not JSON: {error}")))?;
    let map = root
        .get("weight_map")
        .and_then(Value::as_object)
        .ok_or_else(|| bad("`weight_map` is missing or not an object".into()))?;
    let mut names = BTreeSet::new();
    for (tensor, file) in map {
        let name = file.as_str().filter(|name| is_shard_name(name)).ok_or_else(|| {
            bad(format!(
                "`weight_map.{tensor}` is {file}; only plain names ending in .safetensors are accepted"
            ))
        })?;
        names.insert(name.to_owned());
    }
    match names.len() {
        0 => Err(bad("`weight_map` is empty".into())),
        n if n > MAX_SHARDS => Err(bad(format!("{n} shards; at most {MAX_SHARDS} are accepted"))),
        _ => Ok(names.into_iter().collect()),
    }
}

fn is_shard_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    name.len() <= MAX_SHARD_NAME
        && name.strip_suffix(".safetensors").is_some_and(|stem| !stem.is_empty())
        && name.bytes().all(plain)
        && !name.starts_with('.')
}
