//! Downloads one file into the cache: resumes or starts, verifies, then moves it into place.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use mico_util::digest::Hasher;

use crate::Event;
use crate::cache::RepoCache;
use crate::client::{Client, Remote};
use crate::error::HubError;

/// The number of times a broken transfer is resumed before its error is reported.
const ATTEMPTS: usize = 5;
/// The largest accepted file, in bytes, if its length is not announced.
const MAX_UNSIZED_BYTES: u64 = 64 << 20;
/// The size of the transfer buffer in bytes.
const CHUNK: usize = 256 << 10;
/// The length of a SHA-256 in hexadecimal digits.
const SHA256_LEN: usize = 64;

/// Downloads files of one commit.
pub(crate) struct Downloader<'a> {
    pub(crate) client: &'a Client<'a>,
    pub(crate) cache: &'a RepoCache,
    pub(crate) commit: &'a str,
    pub(crate) progress: &'a mut dyn FnMut(Event<'_>),
}

impl Downloader<'_> {
    /// Adds a file to the snapshot unless it is there already. Returns `false` if the hub has no
    /// such file.
    pub(crate) fn fetch(&mut self, file: &str) -> Result<bool, HubError> {
        if self.cache.has(self.commit, file) {
            return Ok(true);
        }
        let Some(remote) = self.client.describe(self.commit, file)? else { return Ok(false) };
        self.fetch_blob(file, &remote)?;
        self.cache.link(self.commit, file, &remote.etag)?;
        Ok(true)
    }

    fn fetch_blob(&mut self, file: &str, remote: &Remote) -> Result<(), HubError> {
        let blob = self.cache.blob(&remote.etag);
        if is_complete(&blob, remote.size) {
            return Ok(());
        }
        let _lock = self.cache.lock(&remote.etag, || (self.progress)(Event::Waiting { file }))?;
        if is_complete(&blob, remote.size) {
            return Ok(());
        }
        let mut partial = Partial::open(self.cache, remote)?;
        let inherited = partial.len > 0;
        let mut result = self.transfer(file, remote, &mut partial);
        if inherited && matches!(result, Err(HubError::Corrupt { .. })) {
            // The incomplete file left by an earlier run was damaged.
            partial.restart()?;
            result = self.transfer(file, remote, &mut partial);
        }
        if matches!(result, Err(HubError::Corrupt { .. })) {
            partial.discard();
        }
        result?;
        partial.finish(&blob, remote.size)?;
        (self.progress)(Event::Finished { file });
        Ok(())
    }

    /// Fills `partial` and verifies it, resuming broken transfers where they stopped.
    fn transfer(
        &mut self,
        file: &str,
        remote: &Remote,
        partial: &mut Partial,
    ) -> Result<(), HubError> {
        if remote.size.is_some_and(|size| partial.len > size) {
            partial.restart()?;
        }
        (self.progress)(Event::Started { file, size: remote.size, resumed: partial.len });
        let mut attempt = 1;
        while remote.size.is_none_or(|size| partial.len < size) {
            match self.receive(file, remote, partial) {
                Ok(()) => break,
                // "Range not satisfiable": the local bytes are not the start of this file.
                Err(HubError::Status { status: 416, .. }) if partial.len > 0 => {
                    partial.restart()?;
                }
                Err(error) if error.is_outage() && attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
            }
        }
        partial.check(file, &remote.etag)
    }

    fn receive(
        &mut self,
        file: &str,
        remote: &Remote,
        partial: &mut Partial,
    ) -> Result<(), HubError> {
        let mut stream = self.client.open(self.commit, file, partial.len)?;
        if stream.start != partial.len {
            partial.restart()?;
        }
        let expected = remote.size.or(stream.total);
        let limit = expected.unwrap_or(MAX_UNSIZED_BYTES);
        let broken = |reason: String| self.client.broken(stream.host.clone(), reason);
        let mut chunk = vec![0; CHUNK];
        loop {
            let n = stream.body.read(&mut chunk).map_err(|error| broken(error.to_string()))?;
            if n == 0 {
                break;
            }
            if partial.len + n as u64 > limit {
                return Err(too_long(file, limit, expected.is_some()));
            }
            partial.write(&chunk[..n])?;
            (self.progress)(Event::Advanced { file, received: partial.len });
        }
        match expected {
            Some(size) if partial.len < size => {
                Err(broken(format!("{file} ended after {} of {size} bytes", partial.len)))
            }
            _ => Ok(()),
        }
    }
}

fn too_long(file: &str, limit: u64, announced: bool) -> HubError {
    let expected = if announced {
        format!("the hub announced {limit} bytes")
    } else {
        format!("accepted where the hub announces no length: at most {limit} bytes")
    };
    HubError::Corrupt { file: file.to_owned(), found: format!("more than {limit} bytes"), expected }
}

/// Whether a blob is complete. One under its final name always is, unless its length is wrong
/// because it was tampered with.
fn is_complete(blob: &Path, size: Option<u64>) -> bool {
    blob.metadata().is_ok_and(|found| found.is_file() && size.is_none_or(|s| s == found.len()))
}

fn is_sha256(etag: &str) -> bool {
    etag.len() == SHA256_LEN && etag.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// A blob that is being written.
///
/// Only content with a checksum is kept for a later run to resume, under a name that the run can
/// find. Bytes are written at their own offset and never truncated, so two writers that ignore the
/// lock write the same bytes. Content without a checksum goes to a unique name and is removed on
/// failure.
struct Partial {
    path: PathBuf,
    file: File,
    len: u64,
    checksum: Option<Hasher>,
    is_kept: bool,
}

impl Partial {
    fn open(cache: &RepoCache, remote: &Remote) -> Result<Self, HubError> {
        if !is_sha256(&remote.etag) {
            let (file, path) = cache.temp_file(&remote.etag)?;
            return Ok(Self { path, file, len: 0, checksum: None, is_kept: false });
        }
        let path = cache.partial(&remote.etag);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(HubError::io(parent))?;
        }
        let mut partial = Self {
            file: open_shared(&path)?,
            path,
            len: 0,
            checksum: Some(Hasher::new()),
            is_kept: true,
        };
        partial.read_existing()?;
        Ok(partial)
    }

    /// Reads the bytes that are already in the file, to update length and checksum.
    fn read_existing(&mut self) -> Result<(), HubError> {
        let mut chunk = vec![0; CHUNK];
        loop {
            let n = self.file.read(&mut chunk).map_err(HubError::io(&self.path))?;
            if n == 0 {
                return Ok(());
            }
            self.len += n as u64;
            if let Some(checksum) = &mut self.checksum {
                checksum.update(&chunk[..n]);
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), HubError> {
        self.file.write_all(bytes).map_err(HubError::io(&self.path))?;
        self.len += bytes.len() as u64;
        if let Some(checksum) = &mut self.checksum {
            checksum.update(bytes);
        }
        Ok(())
    }

    /// Starts again with an empty file.
    fn restart(&mut self) -> Result<(), HubError> {
        if self.is_kept {
            fs::remove_file(&self.path).map_err(HubError::io(&self.path))?;
            self.file = open_shared(&self.path)?;
            self.checksum = Some(Hasher::new());
        } else {
            self.file.set_len(0).map_err(HubError::io(&self.path))?;
            self.file.seek(SeekFrom::Start(0)).map_err(HubError::io(&self.path))?;
        }
        self.len = 0;
        Ok(())
    }

    fn check(&self, file: &str, etag: &str) -> Result<(), HubError> {
        let Some(checksum) = &self.checksum else { return Ok(()) };
        let found = checksum.clone().hex();
        if found == etag {
            return Ok(());
        }
        Err(HubError::Corrupt {
            file: file.to_owned(),
            found: format!("SHA-256 {found}"),
            expected: format!("the hub announced SHA-256 {etag}"),
        })
    }

    fn discard(&mut self) {
        self.is_kept = false;
    }

    /// Flushes the content to disk, then renames it to its final name.
    fn finish(mut self, blob: &Path, size: Option<u64>) -> Result<(), HubError> {
        self.file.sync_all().map_err(HubError::io(&self.path))?;
        match fs::rename(&self.path, blob) {
            // Another process that ignores the lock finished first.
            Err(_) if is_complete(blob, size) => {}
            result => result.map_err(HubError::io(blob))?,
        }
        self.is_kept = true;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_kept {
            // A failure to remove the file is ignored, since its name marks it as incomplete.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn open_shared(path: &Path) -> Result<File, HubError> {
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(HubError::io(path))
}

#[cfg(test)]
mod tests {
    use super::too_long;

    #[test]
    fn only_what_was_announced_is_called_so() {
        assert!(too_long("a", 7, true).to_string().contains("the hub announced 7 bytes"));
        let unannounced = too_long("a", 7, false).to_string();
        assert!(unannounced.contains("announces no length: at most 7 bytes"), "{unannounced}");
    }
}
