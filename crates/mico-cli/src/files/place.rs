//! Whether two paths lead to the same file, however they are spelled.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// Links that are followed from one path.
const MAX_LINKS: usize = 40;
/// Entries of a folder that are held against an output; more than any model or video folder has.
const MAX_ENTRIES: usize = 100_000;

/// What the operating system knows a file by: its device and its number there.
type FileId = (u64, u64);

/// A file or folder, or where one would be.
#[derive(Debug, Clone)]
pub(super) struct Place {
    path: PathBuf,
    id: Option<FileId>,
}

impl Place {
    pub(super) fn of(path: &Path) -> Self {
        let id = std::fs::metadata(path).ok().as_ref().and_then(id);
        Self { path: absolute(path, MAX_LINKS), id }
    }

    /// Whether both are one file, be it through links of either kind.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        same(&self.path, &other.path) || self.id.is_some() && self.id == other.id
    }

    pub(super) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// The path of that name in the same folder.
    pub(super) fn sibling(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }
}

/// A folder, and the files that it has.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    path: PathBuf,
    files: BTreeSet<FileId>,
}

impl Folder {
    pub(super) fn of(path: &Path) -> Self {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten().take(MAX_ENTRIES);
        // Links are followed: what they lead to is read.
        let found = entries.filter_map(|entry| std::fs::metadata(entry.path()).ok());
        let files = found.filter(Metadata::is_file).filter_map(|found| id(&found)).collect();
        Self { path: absolute(path, MAX_LINKS), files }
    }

    /// Whether a place is this folder, or anywhere below it.
    pub(super) fn contains(&self, place: &Place) -> bool {
        place.path.ancestors().any(|above| same(above, &self.path))
    }

    /// Whether a place elsewhere is one of the folder's files through a link.
    pub(super) fn holds(&self, place: &Place) -> bool {
        place.id.is_some_and(|id| self.files.contains(&id))
    }
}

/// The path with all links followed and without `.` and `..`, also where its end does not exist yet.
fn absolute(path: &Path, links: usize) -> PathBuf {
    if let Ok(found) = std::fs::canonicalize(path) {
        return found;
    }
    let above = mico_util::files::folder(path);
    if let (Ok(target), Some(links)) = (std::fs::read_link(path), links.checked_sub(1)) {
        return absolute(&above.join(target), links);
    }
    match path.file_name() {
        Some(name) if path != above => absolute(above, links).join(name),
        // The path ends in `..`, or is nothing but the root.
        None if path.parent().is_some() => {
            let above = absolute(above, links);
            above.parent().map_or_else(|| above.clone(), Path::to_owned)
        }
        _ => path.to_owned(),
    }
}

/// Whether two absolute paths are one. Where the file system usually ignores case, so does this: a path that
/// does not exist yet has no number to know it by.
fn same(left: &Path, right: &Path) -> bool {
    if cfg!(any(windows, target_os = "macos")) {
        return left.to_string_lossy().to_lowercase() == right.to_string_lossy().to_lowercase();
    }
    left == right
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems tell no number")]
fn id(found: &Metadata) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt as _;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn id(_: &Metadata) -> Option<FileId> {
    None
}
