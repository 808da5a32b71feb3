//! Every way in which finding a model can fail.

use std::path::PathBuf;

/// Why a model could not be found or fetched. Each message is one line; none contains a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// The value reads as a path, but there is no folder.
    #[error(
        "model `{value}`: {found}; accepted: an existing folder or a hub id org/name[@revision]"
    )]
    NotAFolder {
        /// What was given.
        value: String,
        /// What is there instead.
        found: &'static str,
    },

    /// The value is neither a folder nor a well-formed hub id.
    #[error(
        "model `{value}`: {reason}; accepted: an existing folder or a hub id org/name[@revision]"
    )]
    InvalidId {
        /// What was given.
        value: String,
        /// What is wrong with it as a hub id.
        reason: String,
    },

    /// A setting has a value that cannot be used.
    #[error("{name} is `{value}`; accepted: {accepted}")]
    InvalidSetting {
        /// The environment variable the setting comes from.
        name: &'static str,
        /// Its value.
        value: String,
        /// What would do.
        accepted: &'static str,
    },

    /// The access token cannot be sent in a header. Its value is withheld.
    #[error("the access token from {origin} is malformed; accepted: visible ASCII characters only")]
    InvalidToken {
        /// Where the token was read.
        origin: String,
    },

    /// No folder for the cache can be derived.
    #[error("no cache folder: none of HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME and HOME is set")]
    NoCacheFolder,

    /// The network may not be used and the cache lacks something.
    #[error(
        "model {model} is not cached: `{missing}` is not in {}, and offline mode forbids fetching it",
        cache.display()
    )]
    NotCached {
        /// The model, with its revision.
        model: String,
        /// The first file found missing.
        missing: String,
        /// The cache folder that was searched.
        cache: PathBuf,
    },

    /// The hub refused access.
    #[error(
        "{host} refused access to {model} (status {status}): it does not exist, or is private or gated \
         and a token may be needed (set HF_TOKEN)"
    )]
    Denied {
        /// The hub.
        host: String,
        /// The model, with its revision.
        model: String,
        /// 401 or 403.
        status: u16,
    },

    /// The hub knows no such model or revision.
    #[error("{host} has no model {model} (status 404): check the id and the revision")]
    NotFound {
        /// The hub.
        host: String,
        /// The model, with its revision.
        model: String,
    },

    /// The model's repository lacks a file the engine cannot do without.
    #[error("model {model} on {host} has no {file}")]
    MissingFile {
        /// The hub.
        host: String,
        /// The model, with its revision.
        model: String,
        /// The file, or the alternatives any of which would do.
        file: String,
    },

    /// A server could not be reached, or the connection broke.
    #[error("cannot fetch from {host}: {reason}")]
    Network {
        /// The server.
        host: String,
        /// What the connection said.
        reason: String,
    },

    /// A server answered with a status that is neither success nor explained above.
    #[error("{host} answered {what} with status {status}")]
    Status {
        /// The server.
        host: String,
        /// What was asked for.
        what: String,
        /// The status.
        status: u16,
    },

    /// A server's answer makes no sense.
    #[error("{host} gave an unusable answer for {what}: {reason}")]
    BadAnswer {
        /// The server.
        host: String,
        /// What was asked for.
        what: String,
        /// What is wrong with the answer.
        reason: String,
    },

    /// The received bytes are not the announced ones.
    #[error("{file}: received {found}, the hub announced {expected}; nothing was kept")]
    Corrupt {
        /// The file.
        file: String,
        /// Length or checksum received.
        found: String,
        /// Length or checksum announced.
        expected: String,
    },

    /// The list of weight shards cannot be used.
    #[error("{}: {reason}", path.display())]
    BadIndex {
        /// The index file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// The cache could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
}

impl HubError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// Whether the server is out of reach or out of order, rather than saying no.
    pub(crate) fn is_outage(&self) -> bool {
        match self {
            Self::Network { .. } => true,
            Self::Status { status, .. } => *status >= 500 || *status == 429,
            _ => false,
        }
    }
}
