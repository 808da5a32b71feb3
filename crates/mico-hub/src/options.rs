//! Where the hub is, where its cache is, and who is asking.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::endpoint::Endpoint;
use crate::error::HubError;

/// The public hub.
pub const DEFAULT_ENDPOINT: &str = "https://huggingface.co";
/// How long looking up a host name, and then connecting to it, may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a server may take to begin its answer.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a running download may stand still.
pub const READ_TIMEOUT: Duration = Duration::from_mins(1);
/// A token file is one line; more than this is not read.
const MAX_TOKEN_BYTES: u64 = 4096;

/// Limits on waiting for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Limit for the name lookup and for connecting, each.
    pub connect: Duration,
    /// Limit until the answer's headers are here.
    pub response: Duration,
    /// Limit between two pieces of a body.
    pub read: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: CONNECT_TIMEOUT, response: RESPONSE_TIMEOUT, read: READ_TIMEOUT }
    }
}

/// An access token. It never shows in `Debug` output and has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Accepts what can be sent in a header, surrounding white space removed. `origin` names the
    /// source in the error.
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

/// Everything [`resolve`](crate::resolve) needs to know about its surroundings.
#[derive(Clone)]
pub struct HubOptions {
    pub(crate) endpoint: Endpoint,
    pub(crate) cache: PathBuf,
    pub(crate) token: Option<Token>,
    pub(crate) offline: bool,
    pub(crate) timeouts: Timeouts,
    pub(crate) proxy: Option<ureq::Proxy>,
    /// PEM file of the authorities to trust; the built-in list without one.
    pub(crate) certificates: Option<PathBuf>,
}

impl HubOptions {
    /// The public hub with this cache folder, no token, online, no proxy.
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

    /// Reads the process environment once: the variables of [`HubOptions::from_vars`] and the usual
    /// proxy variables.
    pub fn from_env() -> Result<Self, HubError> {
        let mut options = Self::from_vars(|name| std::env::var(name).ok())?;
        options.proxy = ureq::Proxy::try_from_env();
        Ok(options)
    }

    /// Reads the settings from `var`, which answers like the environment: `HF_HUB_CACHE`, else
    /// `HF_HOME`, else `XDG_CACHE_HOME`, else `HOME` for the cache; `HF_TOKEN`, else the file
    /// `HF_TOKEN_PATH` or `token` in the home folder of the hub's tools; `HF_ENDPOINT`;
    /// `HF_HUB_OFFLINE` and `TRANSFORMERS_OFFLINE`; `SSL_CERT_FILE` for the certificate authorities of a
    /// company's own network. An empty value counts as absent.
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

    /// Talks to the hub at this address, such as a mirror. Only `http` and `https` addresses
    /// without query or user information are accepted.
    pub fn with_endpoint(mut self, url: &str) -> Result<Self, HubError> {
        self.endpoint = Endpoint::parse(url)?;
        Ok(self)
    }

    /// Sends this token, to the endpoint only. An empty one sends none.
    pub fn with_token(mut self, token: &str) -> Result<Self, HubError> {
        self.token = Token::new(token, "the caller")?;
        Ok(self)
    }

    /// Whether to answer from the cache alone.
    pub fn with_offline(mut self, offline: bool) -> Self {
        self.offline = offline;
        self
    }

    /// Replaces the default limits on waiting.
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// The cache folder.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// The hub's address.
    pub fn endpoint(&self) -> &str {
        self.endpoint.url()
    }

    /// Whether the network is left alone.
    pub fn is_offline(&self) -> bool {
        self.offline
    }
}

/// The proxy is left out because its address may contain a password.
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

/// A token file that is not there means no token; one that cannot be read is an error.
fn read_token(path: &Path) -> Result<Option<Token>, HubError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(HubError::io(path)(error)),
    };
    let mut text = String::new();
    file.take(MAX_TOKEN_BYTES).read_to_string(&mut text).map_err(HubError::io(path))?;
    Token::new(&text, &path.display().to_string())
}
