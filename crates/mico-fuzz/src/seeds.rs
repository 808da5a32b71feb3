//! The committed inputs that mutations begin with.

use std::io;
use std::path::PathBuf;

/// The folder of a target's seeds, in the source tree.
pub fn folder(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target)
}

/// The seeds of a target with their names, in alphabetical order.
pub fn read(target: &str) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut seeds = Vec::new();
    for entry in std::fs::read_dir(folder(target))? {
        let entry = entry?;
        seeds
            .push((entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path())?));
    }
    seeds.sort();
    Ok(seeds)
}
