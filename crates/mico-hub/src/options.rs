//! Settings for accessing the hub: endpoint, cache folder, token, timeouts and proxy.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mico_util::input::open_regular;

use crate::endpoint::Endpoint;
use crate::error::HubError;
use crate::model_ref::HubId;

/// The base URL of the public Hugging Face hub.
pub const DEFAULT_ENDPOINT: &str = "https://huggingface.co";
/// The default limit for resolving a host name, and again for connecting to it.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The default limit for a server to begin its response.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// The default limit for a download without any progress.
pub const READ_TIMEOUT: Duration = Duration::from_mins(1);
/// The most bytes read from a token file, which holds one line.
const MAX_TOKEN_BYTES: u64 = 4096;

/// Time limits for network operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// The limit for resolving the host name, and again for connecting.
    pub connect: Duration,
    /// The limit until the response headers have arrived.
    pub response: Duration,
    /// The limit between two chunks of the response body.
    pub read: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: CONNECT_TIMEOUT, response: RESPONSE_TIMEOUT, read: READ_TIMEOUT }
    }
}

/// An access token. It is hidden in `Debug` output and has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Accepts a token that can be sent in a header, after trimming; `None` if it is empty.
    /// `origin` names its source in the error.
    fn new(text: &str, origin: &str) -> Result<Option<Self>, HubError> {
        let text = text.trim();
        if !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(HubError::InvalidToken { origin: origin.to_owned() });
        }
        Ok((!text.is_empty()).then(|| Self(text.to_owned())))
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

/// The settings that [`resolve`](crate::resolve) needs.
#[derive(Clone)]
pub struct HubOptions {
    pub(crate) endpoint: Endpoint,
    pub(crate) cache: PathBuf,
    pub(crate) token: Option<Token>,
    pub(crate) offline: bool,
    pub(crate) timeouts: Timeouts,
    pub(crate) proxy: Option<ureq::Proxy>,
    /// A PEM file of certificate authorities to trust; `None` for the built-in list.
    pub(crate) certificates: Option<PathBuf>,
}

impl HubOptions {
    /// Settings for the public hub with this cache folder: online, without token or proxy.
    pub fn new(cache: impl Into<PathBuf>) -> Self {
        Self {
            endpoint: Endpoint::public(),
            cache: cache.into(),
            token: None,
            offline: false,
            timeouts: Timeouts::default(),
            proxy: None,
            certificates: None,
        }
    }

    /// The folder of the cache that holds a repository: its snapshots and the files that they link to.
    pub fn repository(&self, id: &HubId) -> PathBuf {
        self.cache.join(id.folder())
    }

    /// Reads the process environment: the variables of [`HubOptions::from_vars`] and the usual
    /// proxy variables.
    pub fn from_env() -> Result<Self, HubError> {
        let mut options = Self::from_vars(|name| std::env::var(name).ok())?;
        options.proxy = ureq::Proxy::try_from_env();
        Ok(options)
    }

    /// Reads the settings from `var`, which returns the value of an environment variable:
    /// `HF_HUB_CACHE`, else `HF_HOME`, else `XDG_CACHE_HOME`, else `HOME` for the cache;
    /// `HF_TOKEN`, else the file `HF_TOKEN_PATH` or `token` in the home folder of the hub's tools;
    /// `HF_ENDPOINT`; `HF_HUB_OFFLINE` and `TRANSFORMERS_OFFLINE`; `SSL_CERT_FILE` for the
    /// certificate authorities to trust instead of the built-in list, such as those of a company
    /// network. An empty value counts as unset.
    pub fn from_vars(var: impl Fn(&str) -> Option<String>) -> Result<Self, HubError> {
        let var = |name: &str| var(name).filter(|value| !value.trim().is_empty());
        let user_home = var("HOME").or_else(|| var("USERPROFILE")).map(PathBuf::from);
        let path = |name: &str| var(name).map(|value| expand(&value, user_home.as_deref()));
        let hub_home = path("HF_HOME")
            .or_else(|| path("XDG_CACHE_HOME").map(|cache| cache.join("huggingface")))
            .or_else(|| user_home.as_ref().map(|home| home.join(".cache").join("huggingface")));
        let cache = path("HF_HUB_CACHE")
            .or_else(|| hub_home.as_ref().map(|home| home.join("hub")))
            .ok_or(HubError::NoCacheFolder)?;

        let mut options = Self::new(cache);
        options.certificates = path("SSL_CERT_FILE");
        if let Some(url) = var("HF_ENDPOINT") {
            options.endpoint = Endpoint::parse(&url)?;
        }
        options.token = match var("HF_TOKEN") {
            Some(text) => Token::new(&text, "HF_TOKEN")?,
            None => path("HF_TOKEN_PATH")
                .or_else(|| hub_home.map(|home| home.join("token")))
                .map_or(Ok(None), |file| read_token(&file))?,
        };
        options.offline = ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"]
            .iter()
            .any(|name| var(name).is_some_and(|value| is_true(&value)));
        Ok(options)
    }

    /// Uses the hub at this URL, such as a mirror. Only `http` and `https` URLs without query or
    /// user information are accepted.
    pub fn with_endpoint(mut self, url: &str) -> Result<Self, HubError> {
        self.endpoint = Endpoint::parse(url)?;
        Ok(self)
    }

    /// Sends this token, to the endpoint only; an empty text means no token.
    pub fn with_token(mut self, token: &str) -> Result<Self, HubError> {
        self.token = Token::new(token, "the caller")?;
        Ok(self)
    }

    /// Sets whether only the cache is used and the network is not.
    pub fn with_offline(mut self, offline: bool) -> Self {
        self.offline = offline;
        self
    }

    /// Replaces the default time limits.
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// The root folder of the cache.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// The base URL of the hub, without a trailing slash.
    pub fn endpoint(&self) -> &str {
        self.endpoint.url()
    }

    /// Whether network access is disabled.
    pub fn is_offline(&self) -> bool {
        self.offline
    }
}

/// The proxy is omitted because its URL may contain a password.
impl fmt::Debug for HubOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubOptions")
            .field("endpoint", &self.endpoint())
            .field("cache", &self.cache)
            .field("token", &self.token)
            .field("offline", &self.offline)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

fn is_true(value: &str) -> bool {
    ["1", "true", "yes", "on"].iter().any(|word| value.trim().eq_ignore_ascii_case(word))
}

fn expand(value: &str, user_home: Option<&Path>) -> PathBuf {
    match (value.strip_prefix("~/"), user_home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(value),
    }
}

/// Reads a token file; a missing file means no token, an unreadable one is an error.
fn read_token(path: &Path) -> Result<Option<Token>, HubError> {
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(HubError::io(path)(error)),
    };
    let mut text = String::new();
    file.take(MAX_TOKEN_BYTES).read_to_string(&mut text).map_err(HubError::io(path))?;
    Token::new(&text, &path.display().to_string())
}
