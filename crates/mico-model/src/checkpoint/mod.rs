//! Checkpoint folders: one safetensors file, or shards listed in an index.

mod layout;
mod shard;
mod source;

pub use layout::Part;
pub(crate) use source::CheckpointSource;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use candle_core::{DType, Tensor};
use mico_tensors::ShardIndex;
pub use mico_tensors::{INDEX_FILE, SINGLE_FILE};

use mico_util::text::quoted;

use crate::error::{Error, Result};
use crate::files::ModelFiles;
use shard::Shard;

/// The tensors of a model folder, by name. Opening reads headers only.
#[derive(Debug)]
pub struct Checkpoint {
    folder: PathBuf,
    shards: Vec<Shard>,
    by_name: BTreeMap<String, usize>,
}

impl Checkpoint {
    pub(crate) fn open_files(files: ModelFiles<'_>) -> Result<Self> {
        match files {
            ModelFiles::Folder(folder) => Self::open(folder),
            ModelFiles::Memory(model) => {
                let bytes = model.get(SINGLE_FILE).unwrap_or_default();
                let shard = Shard::in_memory(&files.path(SINGLE_FILE), bytes)?;
                Ok(Self::single(files.folder(), shard))
            }
        }
    }

    /// Opens the folder's single file, or every shard its index lists.
    pub fn open(folder: &Path) -> Result<Self> {
        let single = folder.join(SINGLE_FILE);
        let index = folder.join(INDEX_FILE);
        if !single.is_file() && index.is_file() {
            return Self::open_index(folder, &index);
        }
        Ok(Self::single(folder, Shard::open(&single)?))
    }

    fn single(folder: &Path, shard: Shard) -> Self {
        let by_name = shard.names().map(|name| (name.to_owned(), 0)).collect();
        Self { folder: folder.to_path_buf(), shards: vec![shard], by_name }
    }

    fn open_index(folder: &Path, index: &Path) -> Result<Self> {
        let bad = |message: String| Error::Index { path: index.to_path_buf(), message };
        let file = File::open(index).map_err(Error::io(index))?;
        let listed = ShardIndex::read(file).map_err(|error| match error {
            mico_tensors::Error::Io(error) => Error::io(index)(error),
            other => bad(other.to_string()),
        })?;
        let mut shards: Vec<Shard> = Vec::new();
        let mut by_file: BTreeMap<&str, usize> = BTreeMap::new();
        let mut by_name = BTreeMap::new();
        for (name, file) in listed.tensors() {
            let at = if let Some(&at) = by_file.get(file) {
                at
            } else {
                shards.push(Shard::open(&folder.join(file))?);
                by_file.insert(file, shards.len() - 1);
                shards.len() - 1
            };
            if shards[at].info(name).is_none() {
                return Err(bad(format!(
                    "tensor `{}` is not in the listed file `{}`",
                    quoted(name),
                    quoted(file)
                )));
            }
            by_name.insert(name.to_owned(), at);
        }
        Ok(Self { folder: folder.to_path_buf(), shards, by_name })
    }

    /// The folder the checkpoint was opened from.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Names of all tensors, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Whether there is a tensor of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// A tensor's shape and its size in the file in bytes; `None` if there is none of that name.
    pub fn info(&self, name: &str) -> Option<(&[usize], usize)> {
        self.shards[*self.by_name.get(name)?].info(name)
    }

    /// The number format a tensor is stored in; `None` if there is none of that name, or its format is none that
    /// weights have.
    pub fn dtype(&self, name: &str) -> Option<DType> {
        self.shards[*self.by_name.get(name)?].dtype(name)
    }

    /// Reads one tensor, in the number format it is stored in, after checking its shape.
    pub fn load(&self, name: &str, expected: &[usize]) -> Result<Tensor> {
        let Some((shard, (found, _))) = self
            .by_name
            .get(name)
            .map(|&at| &self.shards[at])
            .and_then(|s| Some((s, s.info(name)?)))
        else {
            return Err(Error::MissingTensor {
                names: vec![name.to_owned()],
                shape: expected.to_vec(),
                path: self.folder.clone(),
            });
        };
        if found != expected {
            return Err(Error::WrongShape {
                name: name.to_owned(),
                found: found.to_vec(),
                expected: expected.to_vec(),
            });
        }
        shard.load(name)
    }
}
