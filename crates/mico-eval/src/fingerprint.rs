//! Which model answered.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use mico_model::ModelFiles;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};

/// Bytes read at once.
const BLOCK: usize = 1 << 20;
/// Endings of the files that decide answers.
const ENDINGS: [&str; 4] = ["json", "jinja", "safetensors", "model"];

/// A hash of a model's files: the same for the same files, wherever they are.
pub fn fingerprint(files: ModelFiles<'_>) -> Result<String> {
    let mut hash = Sha256::new();
    match files {
        ModelFiles::Memory(model) => {
            let mut files = model.files.to_vec();
            files.sort_unstable();
            for (name, bytes) in files {
                hash.update(name);
                hash.update((bytes.len() as u64).to_le_bytes());
                hash.update(bytes);
            }
        }
        ModelFiles::Folder(folder) => {
            for name in names(folder)? {
                hash.update(&name);
                let path = folder.join(name);
                add_file(&mut hash, &path).map_err(Error::io(&path))?;
            }
        }
    }
    Ok(hex(&hash.finalize()))
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::io(folder))? {
        let entry = entry.map_err(Error::io(folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let ending = Path::new(&name).extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| ENDINGS.contains(&ending)) && entry.path().is_file() {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn add_file(hash: &mut Sha256, path: &Path) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    hash.update(file.metadata()?.len().to_le_bytes());
    let mut block = vec![0_u8; BLOCK];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(()),
            read => hash.update(&block[..read]),
        }
    }
}
