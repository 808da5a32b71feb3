//! The errors of finding or downloading a model.

use std::path::PathBuf;

use mico_util::text::quoted;

/// Why a model could not be found or downloaded. Each message is one line and never contains a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// The value is written like a path, but no such folder exists.
    #[error(
        "model `{}`: {found}; accepted: an existing folder or a hub id org/name[@revision]",
        quoted(value)
    )]
    NotAFolder {
        /// The model name or path that was given.
        value: String,
        /// What is at that path instead, for instance "no such folder".
        found: &'static str,
    },

    /// The value is neither a folder nor a well-formed hub id.
    #[error(
        "model `{}`: {reason}; accepted: an existing folder or a hub id org/name[@revision]",
        quoted(value)
    )]
    InvalidId {
        /// The model name or path that was given.
        value: String,
        /// Why it is not a valid hub id.
        reason: String,
    },

    /// An environment variable has an unusable value.
    #[error("{name} is `{}`; accepted: {accepted}", quoted(value))]
    InvalidSetting {
        /// The name of the environment variable.
        name: &'static str,
        /// The value found, without credentials.
        value: String,
        /// A description of the accepted values.
        accepted: &'static str,
    },

    /// The access token has characters that cannot be sent in a header. Its value is not shown.
    #[error("the access token from {origin} is malformed; accepted: visible ASCII characters only")]
    InvalidToken {
        /// Where the token was read from: a variable, a file or the caller.
        origin: String,
    },

    /// No cache folder can be derived because no relevant environment variable is set.
    #[error("no cache folder: none of HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME and HOME is set")]
    NoCacheFolder,

    /// Offline mode forbids network access, and a file is not in the cache.
    #[error(
        "model {model} is not cached: `{missing}` is not in {}, and offline mode forbids fetching it",
        cache.display()
    )]
    NotCached {
        /// The model with its revision, as `org/name@revision`.
        model: String,
        /// The first file found missing.
        missing: String,
        /// The cache folder that was searched.
        cache: PathBuf,
    },

    /// The hub refused access: the model is private or gated, or does not exist.
    #[error(
        "{host} refused access to {model} (status {status}): it does not exist, or is private or gated \
         and a token may be needed (set HF_TOKEN)"
    )]
    Denied {
        /// The host name of the hub.
        host: String,
        /// The model with its revision, as `org/name@revision`.
        model: String,
        /// The HTTP status, 401 or 403.
        status: u16,
    },

    /// The hub has no such model or revision.
    #[error("{host} has no model {model} (status 404): check the id and the revision")]
    NotFound {
        /// The host name of the hub.
        host: String,
        /// The model with its revision, as `org/name@revision`.
        model: String,
    },

    /// The model's repository lacks a file that is required to load it.
    #[error("model {model} on {host} has no {}", quoted(file))]
    MissingFile {
        /// The host name of the hub.
        host: String,
        /// The model with its revision, as `org/name@revision`.
        model: String,
        /// The missing file, or the alternatives of which one is required.
        file: String,
    },

    /// A server could not be reached, or the connection broke.
    #[error("cannot fetch {model} from {host}: {}", quoted(reason))]
    Network {
        /// The model with its revision, as `org/name@revision`.
        model: String,
        /// The host that was contacted.
        host: String,
        /// The message of the HTTP library.
        reason: String,
    },

    /// The hub was asked for nothing but a sign of life, and gave none.
    #[error("{host} cannot be reached: {}", quoted(reason))]
    Unreachable {
        /// The host that was contacted.
        host: String,
        /// The message of the HTTP library.
        reason: String,
    },

    /// A server answered with a status that is neither success nor covered by another variant.
    #[error("{host} answered {} with status {status}", quoted(what))]
    Status {
        /// The host that answered.
        host: String,
        /// The model or file that was requested.
        what: String,
        /// The HTTP status code.
        status: u16,
    },

    /// A server's response is malformed or lacks required information.
    #[error("{host} gave an unusable answer for {}: {}", quoted(what), quoted(reason))]
    BadAnswer {
        /// The host that answered.
        host: String,
        /// The model or file that was requested.
        what: String,
        /// What is wrong with the response.
        reason: String,
    },

    /// The downloaded bytes do not have the announced length or checksum, or are too many where no length was
    /// announced.
    #[error("{}: received {found}, {expected}; nothing was kept", quoted(file))]
    Corrupt {
        /// The file's name in the repository.
        file: String,
        /// The length or checksum of the downloaded bytes.
        found: String,
        /// What the hub announced, or how much is accepted where it announced nothing.
        expected: String,
    },

    /// The index of weight shards is malformed.
    #[error("{}: {reason}", path.display())]
    BadIndex {
        /// The path of the index file.
        path: PathBuf,
        /// What is wrong with the index, as text for a message.
        reason: String,
    },

    /// A file or folder of the cache could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder that could not be accessed.
        path: PathBuf,
        /// The error reported by the operating system.
        source: std::io::Error,
    },
}

impl HubError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// Whether the server is unreachable or overloaded, rather than refusing the request.
    pub(crate) fn is_outage(&self) -> bool {
        match self {
            Self::Network { .. } => true,
            Self::Status { status, .. } => *status >= 500 || *status == 429,
            _ => false,
        }
    }
}
