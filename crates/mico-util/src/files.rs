//! Atomic file writes: a file appears complete or not at all.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// Links that are followed from one path, as many as Linux follows.
const MAX_LINKS: usize = 40;
/// Characters of a file's name in the name of its temporary file, which must not become too long for the
/// file system.
const NAME_PART: usize = 60;

/// Writes a file atomically: to a temporary file in the same folder, flushed to disk, then renamed over the
/// old file. A failure leaves the old file unchanged and no temporary file behind.
///
/// On Linux the temporary file has no name while it is written, so that a process that is killed leaves
/// nothing behind; elsewhere, and on file systems without such files, it is a hidden `.NAME.*.part`.
///
/// The file gets the default permissions of new files of this process.
pub fn write_atomic(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    write_atomic_via(folder(path), path, bytes)
}

/// As [`write_atomic`], with the temporary file in `staging`, a folder on the same file system. For
/// folders in which other programs interpret every entry.
pub fn write_atomic_via(staging: &Path, path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let bytes = bytes.as_ref();
    #[cfg(target_os = "linux")]
    if let Some(whole) = linux::unnamed(staging, bytes)? {
        // A name that is not in use, for the moment between the two system calls.
        let named = unfinished(path, |builder| builder.make_in(staging, |name| whole.link(name)));
        if let Ok(named) = named {
            return named.persist(path).map(drop).map_err(|failed| failed.error);
        }
    }
    let mut file = unfinished(path, |builder| builder.tempfile_in(staging))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|failed| failed.error)
}

/// The file that `path` refers to, with links followed, also where the last of them leads to nothing yet. It is
/// an error if that is not a regular file, or if it does not exist and neither does its folder.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => {
                let target = fs::read_link(&path)?;
                path = folder(&path).join(target);
            }
            Ok(found) if found.is_file() => return fs::canonicalize(&path),
            Ok(found) if found.is_dir() => return Err(io::Error::other("is a folder")),
            Ok(_) => return Err(io::Error::other("is no regular file")),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Err(_) => {
                let name = path.file_name();
                let name = name.ok_or_else(|| io::Error::other("names no file"))?;
                let folder = fs::canonicalize(folder(&path)).ok().filter(|folder| folder.is_dir());
                let folder = folder.ok_or_else(|| io::Error::other("its folder does not exist"))?;
                return Ok(folder.join(name));
            }
        }
    }
    Err(io::Error::other("too many links"))
}

/// Atomically writes the file that `path` refers to; a link is kept and its target replaced.
pub fn write_resolved(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    write_atomic(&resolve(path)?, bytes)
}

/// Makes a folder, with those above it, and finds out whether files can be written there. No entry of the
/// folder is changed.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut file: File = tempfile::tempfile_in(folder)?;
    file.write_all(b"?")
}

/// The folder that contains a path; `.` for a bare file name.
pub fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes a temporary file for `path` under a name of its own; it is deleted when dropped.
fn unfinished<F>(
    path: &Path,
    make: impl FnOnce(&Builder<'_, '_>) -> io::Result<NamedTempFile<F>>,
) -> io::Result<NamedTempFile<F>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(NAME_PART).collect();
    let prefix = format!(".{name}.");
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(".part");
    // Temporary files are private to their owner by default, but results should not be; the
    // process's umask still applies, as for any new file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    make(&builder)
}

/// Files without a name, which the system removes if the process ends before they get one.
#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::{self, Write};
    use std::os::fd::AsRawFd as _;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

    pub(super) struct Unnamed(File);

    /// A file with this content and no name; `None` where the file system has no such files.
    pub(super) fn unnamed(folder: &Path, bytes: &[u8]) -> io::Result<Option<Unnamed>> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        // The process's umask applies, as for any new file.
        let Ok(file) = open(folder, flags, Mode::from_raw_mode(0o666)) else { return Ok(None) };
        let mut file = File::from(file);
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(Some(Unnamed(file)))
    }

    impl Unnamed {
        /// Gives it a name; an error if that is in use, or if `/proc` is not there.
        pub(super) fn link(&self, name: &Path) -> io::Result<()> {
            let own = format!("/proc/self/fd/{}", self.0.as_raw_fd());
            Ok(linkat(CWD, own, CWD, name, AtFlags::SYMLINK_FOLLOW)?)
        }
    }
}

#[cfg(test)]
mod tests {
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

    #[cfg(unix)]
    #[test]
    fn links_lead_to_the_file_that_is_written() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::os::unix::fs::symlink("second", at("first")).unwrap();
        std::os::unix::fs::symlink("third", at("second")).unwrap();
        // The last link leads to nothing yet.
        write_resolved(&at("first"), "new").unwrap();
        assert_eq!(fs::read(at("third")).unwrap(), b"new");
        assert!(fs::symlink_metadata(at("first")).unwrap().is_symlink());
        assert_eq!(resolve(&at("first")).unwrap(), resolve(&at("./third")).unwrap());
        std::os::unix::fs::symlink("loop", at("loop")).unwrap();
        assert!(resolve(&at("loop")).unwrap_err().to_string().contains("links"));
        assert!(resolve(root.path()).unwrap_err().to_string().contains("folder"));
    }

    #[test]
    fn long_names_are_written() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("n".repeat(250));
        write_atomic(&path, "whole").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
    }

    #[test]
    fn a_folder_is_made_and_left_empty() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        make_folder(&folder).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::write(root.path().join("file"), "").unwrap();
        assert!(make_folder(&root.path().join("file")).is_err());
    }
}
