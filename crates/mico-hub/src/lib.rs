//! Local folders for models on the Hugging Face hub: [`resolve`] returns the folder of a
//! [`ModelRef`], from the cache if that is complete, otherwise after downloading what is missing.
//!
//! Files are stored in the cache layout of the hub's own tools (`models--org--name/` with `refs/`,
//! `snapshots/<commit>/<file>` linking to `blobs/<etag>`), so both share one copy. The `hf-hub`
//! crate is not used because its version 1.0 brings an async runtime and a second transfer protocol
//! (over two hundred crates), and it does not resume, verify or time out a plain download.
//!
//! This is the only crate of the workspace that uses HTTP and TLS (`ureq` with `rustls`, whose
//! cryptography needs a C compiler); nothing below the command line depends on it.
//!
//! ```no_run
//! use mico_hub::{HubOptions, ModelRef, resolve};
//!
//! let model = ModelRef::parse("llava-hf/llava-1.5-7b-hf")?;
//! let folder = resolve(&model, &HubOptions::from_env()?, &mut |_event| {})?;
//! # Ok::<(), mico_hub::HubError>(())
//! ```
#![forbid(unsafe_code)]

mod cache;
mod client;
mod download;
mod endpoint;
mod error;
mod files;
mod model_ref;
mod options;

pub use error::HubError;
pub use model_ref::{DEFAULT_REVISION, HubId, ModelRef};
pub use options::{
    CONNECT_TIMEOUT, DEFAULT_ENDPOINT, HubOptions, READ_TIMEOUT, RESPONSE_TIMEOUT, Timeouts, Token,
};

use std::path::{Path, PathBuf};
use std::time::Duration;

use cache::RepoCache;
use client::{Client, Revision};
use download::Downloader;
use files::{CONFIG_FILE, INDEX_FILE, OPTIONAL, SINGLE_FILE, TOKENIZERS, shards};

/// A progress event while a model is being fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The hub cannot be reached; a complete cached copy is used instead.
    Unreachable {
        /// Why the hub could not be reached.
        reason: String,
    },
    /// Another process is downloading this file, and we wait for it.
    Waiting {
        /// The file's name in the repository.
        file: &'a str,
    },
    /// The download of a file starts or resumes.
    Started {
        /// The file's name in the repository.
        file: &'a str,
        /// The file's length in bytes; `None` if the hub does not announce it.
        size: Option<u64>,
        /// The number of bytes kept from an earlier attempt.
        resumed: u64,
    },
    /// More bytes have arrived. The count decreases if the server cannot resume a transfer.
    Advanced {
        /// The file's name in the repository.
        file: &'a str,
        /// The number of bytes received so far, including resumed ones.
        received: u64,
    },
    /// The file has been verified and is in the cache.
    Finished {
        /// The file's name in the repository.
        file: &'a str,
    },
}

/// Returns a local folder with everything needed to load the model: configuration, tokenizer, chat
/// template and weights.
///
/// Offline, only the cache is used. Online, one request asks which commit the revision refers to,
/// and only the files missing from that commit's snapshot are downloaded, the weights last. If the
/// hub cannot be reached, a complete cached copy is used and [`Event::Unreachable`] is reported.
pub fn resolve(
    model: &ModelRef,
    options: &HubOptions,
    progress: &mut dyn FnMut(Event<'_>),
) -> Result<PathBuf, HubError> {
    let id = match model {
        ModelRef::Folder(path) => return Ok(path.clone()),
        ModelRef::Hub(id) => id,
    };
    let cache = RepoCache::new(&options.cache, id);
    if options.offline {
        return from_cache(id, &cache);
    }
    let client = Client::new(options, id)?;
    match client.revision() {
        Ok(revision) => from_hub(id, &cache, &client, &revision, progress),
        Err(error) if error.is_outage() => {
            let Ok(folder) = from_cache(id, &cache) else { return Err(error) };
            progress(Event::Unreachable { reason: error.to_string() });
            Ok(folder)
        }
        Err(error) => Err(error),
    }
}

/// How long [`probe`] waits for the hub.
pub const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether the hub answers at all: one request without a token, of at most [`PROBE_TIMEOUT`]. Offline mode
/// is not looked at; asking is the caller's decision.
pub fn probe(options: &HubOptions) -> Result<(), HubError> {
    client::probe(options, PROBE_TIMEOUT)
}

/// The repository's folder in a cache if `folder` is one of its snapshots, whose files are links into it.
pub fn repository_of(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let snapshots = folder.parent().filter(|above| above.ends_with("snapshots"))?;
    let repository = snapshots.parent()?;
    repository.join("blobs").is_dir().then(|| repository.to_owned())
}

/// The cached snapshot of the revision; an error if a required file is missing.
fn from_cache(id: &HubId, cache: &RepoCache) -> Result<PathBuf, HubError> {
    let missing = |file: &str| HubError::NotCached {
        model: id.to_string(),
        missing: file.to_owned(),
        cache: cache.root().to_path_buf(),
    };
    let commit = cache
        .commit_of(id.revision())
        .ok_or_else(|| missing(&format!("{}/refs/{}", id.folder(), id.revision())))?;
    let folder = cache.snapshot(&commit);
    let require = |file: &str| {
        if cache.has(&commit, file) { Ok(()) } else { Err(missing(file)) }
    };
    require(CONFIG_FILE)?;
    let all = |files: &&[&str]| files.iter().all(|file| cache.has(&commit, file));
    if !TOKENIZERS.iter().any(all) {
        return Err(missing(TOKENIZERS[0][0]));
    }
    if !cache.has(&commit, SINGLE_FILE) {
        let index = folder.join(INDEX_FILE);
        if !index.is_file() {
            return Err(missing(SINGLE_FILE));
        }
        shards(&index)?.iter().try_for_each(|shard| require(shard))?;
    }
    Ok(folder)
}

fn from_hub(
    id: &HubId,
    cache: &RepoCache,
    client: &Client<'_>,
    revision: &Revision,
    progress: &mut dyn FnMut(Event<'_>),
) -> Result<PathBuf, HubError> {
    let Revision { commit, files } = revision;
    let missing = |file: &str| HubError::MissingFile {
        host: client.host(),
        model: id.to_string(),
        file: file.to_owned(),
    };
    let may_have = |file: &str| files.as_ref().is_none_or(|list| list.contains(file));
    let no_weights = || missing(&format!("{SINGLE_FILE} or {INDEX_FILE}"));
    // Missing files are reported before anything is downloaded.
    if !may_have(CONFIG_FILE) {
        return Err(missing(CONFIG_FILE));
    }
    let tokenizers = TOKENIZERS.iter().filter(|files| files.iter().all(|file| may_have(file)));
    let tokenizers: Vec<&&[&str]> = tokenizers.collect();
    if tokenizers.is_empty() {
        return Err(missing(TOKENIZERS[0][0]));
    }
    if !may_have(SINGLE_FILE) && !may_have(INDEX_FILE) {
        return Err(no_weights());
    }

    let mut download = Downloader { client, cache, commit, progress };
    let mut fetch = |file: &str| if may_have(file) { download.fetch(file) } else { Ok(false) };
    if !fetch(CONFIG_FILE)? {
        return Err(missing(CONFIG_FILE));
    }
    let mut found = false;
    for files in tokenizers {
        found = files.iter().try_fold(true, |all, file| Ok(all && fetch(file)?))?;
        if found {
            break;
        }
    }
    if !found {
        return Err(missing(TOKENIZERS[0][0]));
    }
    for file in OPTIONAL {
        fetch(file)?;
    }
    if !fetch(SINGLE_FILE)? {
        if !fetch(INDEX_FILE)? {
            return Err(no_weights());
        }
        for shard in shards(&cache.snapshot(commit).join(INDEX_FILE))? {
            if !fetch(&shard)? {
                return Err(missing(&shard));
            }
        }
    }
    // Stored last, so that a revision always refers to a complete snapshot.
    cache.remember(id.revision(), commit)?;
    Ok(cache.snapshot(commit))
}
