//! Writing result files: whole or not at all.

use std::path::{Path, PathBuf};

use mico_util::files::{resolve, write_atomic};

use crate::failure::Failure;

/// The file that `path` leads to, links followed; refused before any work is done if it cannot be
/// written there or is no regular file.
pub(crate) fn check(flag: &str, path: &Path) -> Result<PathBuf, Failure> {
    resolve(path).map_err(|error| Failure::failed(format!("{flag} {}: {error}", path.display())))
}

/// Writes the file that `path` leads to, whole or not at all.
pub(crate) fn write(flag: &str, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let target = check(flag, path)?;
    write_atomic(&target, bytes)
        .map_err(|error| Failure::failed(format!("{flag} {}: {error}", path.display())))
}

/// Whether files can be written to a folder; nothing in it is touched.
#[cfg(feature = "eval")]
pub(crate) fn probe(flag: &str, folder: &Path) -> Result<(), Failure> {
    let part = folder.join(format!(".mico.{}.part", std::process::id()));
    let written = std::fs::File::create(&part).and_then(|_| std::fs::remove_file(&part));
    written.map_err(|error| Failure::failed(format!("{flag} {}: {error}", folder.display())))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn links_are_followed_and_devices_refused() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real");
        fs::write(&real, "old").unwrap();
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&real, &link).unwrap();
            write("--out", &link, b"new").unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read(&real).unwrap(), b"new");
            assert!(write("--out", Path::new("/dev/null"), b"x").is_err());
        }
        assert!(write("--out", folder.path(), b"x").is_err());
        assert!(check("--out", &folder.path().join("no/such")).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), if cfg!(unix) { 2 } else { 1 });
    }
}
