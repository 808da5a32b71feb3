//! One repository's folder in the standard Hugging Face cache: `refs/`, `snapshots/` and `blobs/`.
//!
//! A file gets its final name only by renaming a complete file, so a process that is killed at any
//! moment leaves nothing half-written that a later one would trust.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mico_util::files::write_atomic_via;
use mico_util::input::open_regular;

use crate::error::HubError;
use crate::model_ref::{HubId, is_commit};

/// The most bytes read from a reference file, which holds one commit hash.
const MAX_REF_BYTES: u64 = 128;
/// The number of names tried for a temporary file before giving up.
const MAX_TEMP_NAMES: u32 = 10_000;
/// The interval at which a lock held by another process is tried again.
const LOCK_POLL: Duration = Duration::from_millis(100);
/// How long the holder of a lock may show no progress before we continue without it. Locks only
/// avoid duplicate work; safety comes from the renames.
const LOCK_PATIENCE: Duration = Duration::from_mins(1);
/// The file ending of incomplete files.
const INCOMPLETE: &str = ".incomplete";

pub(crate) struct RepoCache {
    root: PathBuf,
    folder: String,
}

impl RepoCache {
    pub(crate) fn new(root: &Path, id: &HubId) -> Self {
        Self { root: root.to_path_buf(), folder: id.folder() }
    }

    /// The root folder of the cache, for messages.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn repo(&self) -> PathBuf {
        self.root.join(&self.folder)
    }

    fn blobs(&self) -> PathBuf {
        self.repo().join("blobs")
    }

    pub(crate) fn snapshot(&self, commit: &str) -> PathBuf {
        self.repo().join("snapshots").join(commit)
    }

    pub(crate) fn blob(&self, etag: &str) -> PathBuf {
        self.blobs().join(etag)
    }

    /// The path of an incomplete blob that a later run may resume.
    pub(crate) fn partial(&self, etag: &str) -> PathBuf {
        self.blobs().join(format!("{etag}{INCOMPLETE}"))
    }

    /// Whether the snapshot has this file and the blob that it links to exists.
    pub(crate) fn has(&self, commit: &str, file: &str) -> bool {
        self.snapshot(commit).join(file).is_file()
    }

    /// The commit that a revision referred to when it was last fetched; `None` if it never was.
    pub(crate) fn commit_of(&self, revision: &str) -> Option<String> {
        if is_commit(revision) {
            return Some(revision.to_owned());
        }
        let mut text = String::new();
        let file = open_regular(&self.repo().join("refs").join(revision)).ok()?;
        file.take(MAX_REF_BYTES).read_to_string(&mut text).ok()?;
        let commit = text.trim();
        is_commit(commit).then(|| commit.to_owned())
    }

    /// Stores which commit a revision refers to.
    pub(crate) fn remember(&self, revision: &str, commit: &str) -> Result<(), HubError> {
        if self.commit_of(revision).as_deref() == Some(commit) {
            return Ok(());
        }
        let path = self.repo().join("refs").join(revision);
        make_parent(&path)?;
        // Other programs treat every file in `refs` as a revision, so the temporary file lies elsewhere.
        let staging = self.blobs();
        fs::create_dir_all(&staging).map_err(HubError::io(&staging))?;
        write_atomic_via(&staging, &path, commit).map_err(HubError::io(path))
    }

    /// Adds a blob to a snapshot under a file name: as a relative symbolic link, or as a copy where
    /// the file system has no links.
    pub(crate) fn link(&self, commit: &str, file: &str, etag: &str) -> Result<(), HubError> {
        let path = self.snapshot(commit).join(file);
        make_parent(&path)?;
        let target = Path::new("..").join("..").join("blobs").join(etag);
        let temp = match self.temp(etag, |temp| symlink(&target, temp)) {
            Ok(((), temp)) => temp,
            Err(_) => self.copy(etag)?,
        };
        fs::rename(&temp, &path).map_err(HubError::io(path))
    }

    fn copy(&self, etag: &str) -> Result<PathBuf, HubError> {
        let blob = self.blob(etag);
        let mut source = File::open(&blob).map_err(HubError::io(&blob))?;
        let (mut copy, temp) = self.temp_file(etag)?;
        io::copy(&mut source, &mut copy).map_err(HubError::io(&temp))?;
        copy.sync_all().map_err(HubError::io(&temp))?;
        Ok(temp)
    }

    /// Creates a temporary file in `blobs/` under a name not in use.
    pub(crate) fn temp_file(&self, stem: &str) -> Result<(File, PathBuf), HubError> {
        let create = |path: &Path| File::options().write(true).create_new(true).open(path);
        self.temp(stem, create)
    }

    fn temp<T>(
        &self,
        stem: &str,
        create: impl Fn(&Path) -> io::Result<T>,
    ) -> Result<(T, PathBuf), HubError> {
        let folder = self.blobs();
        fs::create_dir_all(&folder).map_err(HubError::io(&folder))?;
        let process = std::process::id();
        let mut path = folder.clone();
        for n in 0..MAX_TEMP_NAMES {
            path = folder.join(format!("{stem}.{process}-{n}{INCOMPLETE}"));
            match create(&path) {
                Ok(made) => return Ok((made, path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(HubError::io(path)(error)),
            }
        }
        Err(HubError::io(path)(io::ErrorKind::AlreadyExists.into()))
    }

    /// Waits until no other process downloads this blob, calling `on_wait` once if one does. The
    /// lock file is the one that the hub's Python tools use. The lock is released when the returned
    /// file is dropped; `None` means that the file system has no locks, or that the holder seems
    /// stuck.
    pub(crate) fn lock(
        &self,
        etag: &str,
        on_wait: impl FnOnce(),
    ) -> Result<Option<File>, HubError> {
        let path = self.root.join(".locks").join(&self.folder).join(format!("{etag}.lock"));
        make_parent(&path)?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(HubError::io(&path))?;
        let mut on_wait = Some(on_wait);
        let mut seen = self.unfinished_bytes(etag);
        let mut since = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(fs::TryLockError::WouldBlock) => {}
                Err(fs::TryLockError::Error(_)) => return Ok(None),
            }
            if let Some(tell) = on_wait.take() {
                tell();
            }
            let now = self.unfinished_bytes(etag);
            if now != seen {
                (seen, since) = (now, Instant::now());
            } else if since.elapsed() > LOCK_PATIENCE {
                return Ok(None);
            }
            std::thread::sleep(LOCK_POLL);
        }
    }

    fn unfinished_bytes(&self, etag: &str) -> u64 {
        let Ok(entries) = fs::read_dir(self.blobs()) else { return 0 };
        entries
            .flatten()
            .filter(|entry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                name.starts_with(etag) && name.ends_with(INCOMPLETE)
            })
            .filter_map(|entry| Some(entry.metadata().ok()?.len()))
            .sum()
    }
}

fn make_parent(path: &Path) -> Result<(), HubError> {
    path.parent().map_or(Ok(()), |parent| fs::create_dir_all(parent).map_err(HubError::io(parent)))
}

#[cfg(unix)]
fn symlink(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

/// Symbolic links need a privilege on other systems, so this fails and the file is copied instead.
#[cfg(not(unix))]
fn symlink(_target: &Path, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
