//! The index of a checkpoint that is split into several safetensors files (shards).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Component, Path};

use mico_util::text::{escaped, quoted};
use serde_json::Value;

use crate::error::{Error, Result};

/// The largest accepted index in bytes; it holds one line per tensor.
const MAX_INDEX_BYTES: u64 = 64 << 20;

/// The longest accepted name of a file in bytes, as on most file systems.
const MAX_NAME_BYTES: usize = 255;

/// From tensor to file: the `weight_map` of a `model.safetensors.index.json`. Every file must be a
/// plain name, so that an index cannot refer outside its folder.
#[derive(Debug, Clone)]
pub struct ShardIndex {
    file_of: BTreeMap<String, String>,
}

impl ShardIndex {
    /// Reads an index and checks every file name.
    pub fn read(reader: impl Read) -> Result<Self> {
        let mut bytes = Vec::new();
        reader.take(MAX_INDEX_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_INDEX_BYTES {
            let what = format!("more than {MAX_INDEX_BYTES} bytes, the most that are read");
            return Err(Error::Index(what));
        }
        let root: Value = serde_json::from_slice(&bytes)
            .map_err(|error| Error::Index(format!("not JSON: {}", quoted(&error.to_string()))))?;
        let map = root.get("weight_map").and_then(Value::as_object);
        let map = map.ok_or_else(|| bad("`weight_map` is missing or not an object"))?;
        if map.is_empty() {
            return Err(bad("`weight_map` is empty"));
        }
        let entry = |(tensor, file): (&String, &Value)| match file.as_str() {
            Some(name) if is_plain_name(name) => Ok((tensor.clone(), name.to_owned())),
            _ => Err(Error::Index(format!(
                "`weight_map.{}` is {}; only plain names of files inside the folder are accepted",
                quoted(tensor),
                quoted(&file.to_string())
            ))),
        };
        Ok(Self { file_of: map.iter().map(entry).collect::<Result<_>>()? })
    }

    /// Every tensor with its file, in alphabetical order of the tensors.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &str)> {
        self.file_of.iter().map(|(tensor, file)| (tensor.as_str(), file.as_str()))
    }

    /// The names of all shard files, sorted and without repetition.
    pub fn files(&self) -> BTreeSet<&str> {
        self.file_of.values().map(String::as_str).collect()
    }
}

fn bad(what: &str) -> Error {
    Error::Index(what.to_owned())
}

fn is_plain_name(file: &str) -> bool {
    let mut parts = Path::new(file).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
        && !file.contains(['/', '\\'])
        && file.len() <= MAX_NAME_BYTES
        && escaped(file) == file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        ShardIndex::read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn files_are_listed_once() {
        let text =
            r#"{"weight_map":{"c":"2.safetensors","a":"1.safetensors","b":"1.safetensors"}}"#;
        let index = ShardIndex::read(text.as_bytes()).unwrap();
        assert_eq!(index.tensors().next(), Some(("a", "1.safetensors")));
        assert_eq!(
            index.files().into_iter().collect::<Vec<_>>(),
            ["1.safetensors", "2.safetensors"]
        );
    }

    #[test]
    fn what_is_no_index_is_refused() {
        assert!(refused("[").contains("not JSON"));
        assert!(refused("{}").contains("`weight_map` is missing"));
        assert!(refused(r#"{"weight_map":{}}"#).contains("empty"));
        for name in [
            "3",
            r#""../a""#,
            r#""/a""#,
            r#""a/b""#,
            r#""a\\b""#,
            r#""..""#,
            r#""""#,
            r#""a\u001b[31m""#,
        ] {
            let error = refused(&format!(r#"{{"weight_map":{{"t":{name}}}}}"#));
            assert!(
                error.contains("`weight_map.t`") && error.contains("only plain names"),
                "{error}"
            );
        }
    }
}
