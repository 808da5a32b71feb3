//! Access to a model's files: in a folder, or in memory when a program embeds the model.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A model whose files are in memory, as in a folder with one weight file.
#[derive(Debug, Clone, Copy)]
pub struct MemoryModel {
    /// The model's name in messages.
    pub name: &'static str,
    /// The files, as names with their contents.
    pub files: &'static [(&'static str, &'static [u8])],
}

impl MemoryModel {
    /// The contents of the file called `name`, `None` if there is none.
    pub fn get(&self, name: &str) -> Option<&'static [u8]> {
        self.files.iter().find(|(file, _)| *file == name).map(|(_, bytes)| *bytes)
    }
}

/// The files of a model, on disk or in memory.
#[derive(Debug, Clone, Copy)]
pub enum ModelFiles<'a> {
    /// A folder on disk.
    Folder(&'a Path),
    /// Files embedded in the program.
    Memory(&'a MemoryModel),
}

impl ModelFiles<'_> {
    /// The path of a file for error messages.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// The folder; for a model in memory its name, as a path that does not exist.
    pub(crate) fn folder(&self) -> &Path {
        match self {
            Self::Folder(folder) => folder,
            Self::Memory(model) => Path::new(model.name),
        }
    }

    /// The contents of a regular file of at most `limit` bytes; `None` if there is none of that name.
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<Cow<'static, [u8]>>> {
        let path = match self {
            Self::Memory(model) => return Ok(model.get(name).map(Cow::Borrowed)),
            Self::Folder(folder) => folder.join(name),
        };
        let found = match std::fs::metadata(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(&path)(error)),
        };
        if !found.is_file() || found.len() > limit {
            let message = format!("not a regular file of at most {limit} bytes");
            return Err(Error::io(&path)(std::io::Error::other(message)));
        }
        std::fs::read(&path).map(|bytes| Some(Cow::Owned(bytes))).map_err(Error::io(&path))
    }
}

impl<'a> From<&'a Path> for ModelFiles<'a> {
    fn from(folder: &'a Path) -> Self {
        Self::Folder(folder)
    }
}

impl<'a> From<&'a PathBuf> for ModelFiles<'a> {
    fn from(folder: &'a PathBuf) -> Self {
        Self::Folder(folder)
    }
}

impl<'a> From<&'a MemoryModel> for ModelFiles<'a> {
    fn from(model: &'a MemoryModel) -> Self {
        Self::Memory(model)
    }
}
