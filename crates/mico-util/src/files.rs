//! Atomic file writes: a file appears complete or not at all.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// Writes a file atomically: to a hidden temporary file beside it, flushed to disk, then renamed
/// over the old file. A failure leaves the old file unchanged and no temporary file behind.
///
/// The file gets the default permissions of new files of this process.
pub fn write_atomic(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    write_atomic_via(folder(path), path, bytes)
}

/// As [`write_atomic`], with the temporary file in `staging`, a folder on the same file system. For
/// folders in which other programs interpret every entry.
pub fn write_atomic_via(staging: &Path, path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = unfinished(staging, path)?;
    file.write_all(bytes.as_ref())?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|failed| failed.error)
}

/// The file that `path` refers to, with links followed. It is an error if that is not a regular
/// file, or if it does not exist and neither does its folder.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => std::fs::canonicalize(path),
        Ok(_) => Err(io::Error::other("is no regular file")),
        Err(_) if folder(path).is_dir() => Ok(path.to_owned()),
        Err(_) => Err(io::Error::other("its folder does not exist")),
    }
}

/// Atomically writes the file that `path` refers to; a link is kept and its target replaced.
pub fn write_resolved(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    write_atomic(&resolve(path)?, bytes)
}

/// The folder that contains a path; `.` for a bare file name.
pub fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Creates a temporary file under a unique name; it is deleted when dropped.
fn unfinished(staging: &Path, path: &Path) -> io::Result<NamedTempFile> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.");
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(".part");
    // Temporary files are private to their owner by default, but results should not be; the
    // process's umask still applies, as for any new file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(staging)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_was_there_is_replaced_and_nothing_is_left_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        write_atomic(&path, "one").unwrap();
        write_atomic(&path, "two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_leaves_what_was_there() {
        let root = tempfile::tempdir().unwrap();
        let taken = root.path().join("taken");
        fs::create_dir(&taken).unwrap();
        fs::write(taken.join("inside"), "kept").unwrap();
        // A folder that is not empty cannot be renamed over.
        assert!(write_atomic(&taken, "x").is_err());
        assert!(write_atomic(&root.path().join("no/such/file"), "x").is_err());
        assert_eq!(fs::read(taken.join("inside")).unwrap(), b"kept");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_of_any_new_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        let (plain, atomic) = (folder.path().join("plain"), folder.path().join("atomic"));
        fs::write(&plain, "x").unwrap();
        write_atomic(&atomic, "x").unwrap();
        assert_eq!(mode(&plain), mode(&atomic));
    }

    #[test]
    fn a_bare_name_is_in_the_present_folder() {
        assert_eq!(folder(Path::new("a")), Path::new("."));
        assert_eq!(folder(Path::new("a/b")), Path::new("a"));
    }
}
