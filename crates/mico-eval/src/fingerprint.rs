//! Which model answered.

use std::fs::File;
use std::path::Path;

use mico_engine::Engine;
use mico_model::ModelFiles;
use mico_util::digest::Hasher;

use crate::error::Result;
use crate::file_error::FileError;

/// Endings of the files that decide answers.
const ENDINGS: [&str; 4] = ["json", "jinja", "safetensors", "model"];

/// Which model answers, for manifests and keys.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelIdentity {
    /// The model as it was named.
    pub name: String,
    /// A hash of its files; of a tower in a folder of its own another one.
    pub fingerprint: String,
    /// What of loading decides answers, such as `quantize=q4k dtype=f32`.
    pub loaded: String,
}

impl ModelIdentity {
    /// That of a loaded model, from its files.
    pub fn new(
        name: impl Into<String>,
        files: ModelFiles<'_>,
        loaded: impl Into<String>,
        engine: &Engine,
    ) -> Result<Self> {
        let mut hash = fingerprint(files)?;
        let tower = engine.model().config().vision.tower_folder();
        if let Some(tower) = tower.filter(|folder| folder.is_dir()) {
            hash = format!("{hash} {}", fingerprint(tower.into())?);
        }
        Ok(Self { name: name.into(), fingerprint: hash, loaded: loaded.into() })
    }
}

/// A hash of a model's files: the same for the same files, wherever they are.
pub fn fingerprint(files: ModelFiles<'_>) -> Result<String> {
    let mut hash = Hasher::new();
    match files {
        ModelFiles::Memory(model) => {
            let mut files = model.files.to_vec();
            files.sort_unstable();
            for (name, bytes) in files {
                hash.update(name);
                hash.update_part(bytes);
            }
        }
        ModelFiles::Folder(folder) => {
            for name in names(folder)? {
                hash.update(&name);
                let path = folder.join(name);
                add_file(&mut hash, &path).map_err(FileError::io(&path))?;
            }
        }
    }
    Ok(hash.hex())
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(FileError::io(folder))? {
        let entry = entry.map_err(FileError::io(folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let ending = Path::new(&name).extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| ENDINGS.contains(&ending)) && entry.path().is_file() {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn add_file(hash: &mut Hasher, path: &Path) -> std::io::Result<()> {
    let file = File::open(path)?;
    hash.update_number(file.metadata()?.len());
    hash.update_from(file).map(drop)
}
