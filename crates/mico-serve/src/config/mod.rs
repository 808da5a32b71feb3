//! The server's settings, checked. Open `flags` to add one, `file` for how files and variables become flags.

mod file;
mod flags;
mod naming;

pub use file::{Merged, Setting, merged};
pub use flags::{
    AccessFlags, CapacityFlags, ListenFlags, LogFormat, MediaFlags, NamingFlags, RequestFlags,
    ServeFlags,
};

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mico_select::pruner::PruningSpec;

use crate::auth::Keys;
use crate::host::HostRule;
use crate::media::remote::{HostPattern, Remote};
use crate::media::root::MediaRoot;
use crate::media::{MediaLimits, MediaSources};
use crate::names::Names;
use crate::wire::CheckLimits;

/// Largest file with keys.
const MAX_KEY_FILE: u64 = 1 << 20;

/// Where the server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// On a port of an address.
    Tcp(SocketAddr),
    /// On a socket file.
    Unix(PathBuf),
}

/// Everything that decides how the server behaves, apart from the model.
#[derive(Debug)]
#[non_exhaustive]
pub struct Config {
    /// Where the server listens.
    pub listen: Listen,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// The keys that let requests in.
    pub keys: Keys,
    /// The names that requests may have as Host.
    pub hosts: HostRule,
    /// Origins whose pages may read answers.
    pub cors_origins: Vec<String>,
    /// Whether `/metrics` asks for no key.
    pub public_metrics: bool,
    /// Whether there is a page at `/`.
    pub playground: bool,
    /// The names of the model and the pruning they imply.
    pub names: Names,
    /// What one request may ask for.
    pub check: CheckLimits,
    /// Where images may come from.
    pub media: MediaSources,
    /// Most bytes of a body.
    pub max_body: usize,
    /// How long a body may pause.
    pub body_timeout: Duration,
    /// Most connections at once.
    pub max_connections: usize,
    /// How long a request may take.
    pub request_timeout: Duration,
    /// How long running requests may take after a signal to end.
    pub shutdown_timeout: Duration,
    /// How long one step of the model may take before the server counts as ill.
    pub stall: Duration,
}

impl Config {
    /// Settings for tests and for embedding: loopback, a free port, no key, one name.
    pub fn local(name: &str) -> Self {
        Self {
            listen: Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 0))),
            log_format: LogFormat::Text,
            keys: Keys::default(),
            hosts: HostRule::new(true, &[]),
            cors_origins: Vec::new(),
            public_metrics: false,
            playground: true,
            names: Names::of(name),
            check: CheckLimits::default(),
            media: MediaSources::default(),
            max_body: 64 << 20,
            body_timeout: Duration::from_secs(30),
            max_connections: 512,
            request_timeout: Duration::from_hours(1),
            shutdown_timeout: Duration::from_mins(1),
            stall: Duration::from_mins(5),
        }
    }

    /// Checks flags. `model` is the name served unless others are given, `pruning` what holds for requests that say
    /// nothing. An error is one line that names the flag.
    pub fn new(
        flags: &ServeFlags,
        model: &str,
        pruning: Option<PruningSpec>,
    ) -> Result<Self, String> {
        let listen = listen(&flags.listen)?;
        let keys = keys(&flags.access)?;
        let loopback = matches!(&listen, Listen::Tcp(address) if address.ip().is_loopback());
        if let (Listen::Tcp(address), true) = (&listen, keys.is_empty())
            && !loopback
            && !flags.access.allow_no_auth
        {
            let ip: IpAddr = address.ip();
            return Err(format!(
                "--host {ip} can be reached by others: give --api-key, or --allow-no-auth"
            ));
        }
        for origin in &flags.access.cors_origin {
            check_origin(origin)?;
        }
        let (request, capacity) = (&flags.request, &flags.capacity);
        let at_least_one = [
            ("--max-messages", request.max_messages),
            ("--max-tokens", request.max_tokens),
            ("--default-max-tokens", request.default_max_tokens),
            ("--max-connections", capacity.max_connections),
            ("--max-sequences", capacity.max_sequences),
        ];
        if let Some((flag, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
            return Err(format!("{flag} is 0, accepted: at least 1"));
        }
        Ok(Self {
            listen,
            log_format: flags.listen.log_format,
            keys,
            hosts: HostRule::new(loopback, &flags.access.allowed_host),
            cors_origins: flags.access.cors_origin.clone(),
            public_metrics: flags.access.public_metrics,
            playground: !flags.access.no_playground,
            names: naming::names(&flags.naming, model, pruning)?,
            check: CheckLimits {
                messages: request.max_messages,
                text_bytes: request.max_text,
                images: flags.media.max_images,
                max_tokens: request.max_tokens,
                default_max_tokens: request.default_max_tokens,
                lenient: request.lenient.clone(),
            },
            media: media(&flags.media)?,
            max_body: capacity.max_body,
            body_timeout: Duration::from_secs(capacity.body_timeout),
            max_connections: capacity.max_connections,
            request_timeout: Duration::from_secs(request.request_timeout),
            shutdown_timeout: Duration::from_secs(flags.listen.shutdown_timeout),
            stall: Duration::from_secs(flags.listen.stall),
        })
    }
}

fn listen(flags: &ListenFlags) -> Result<Listen, String> {
    if let Some(path) = &flags.unix_socket {
        return Ok(Listen::Unix(path.clone()));
    }
    let bare = flags.host.trim_start_matches('[').trim_end_matches(']');
    let found = (bare, flags.port).to_socket_addrs().ok().and_then(|mut found| found.next());
    found.map(Listen::Tcp).ok_or_else(|| {
        let host = mico_util::text::quoted(&flags.host);
        format!("--host '{host}' is no address of this machine")
    })
}

fn keys(flags: &AccessFlags) -> Result<Keys, String> {
    let text = flags.api_key_file.as_deref().map(key_file).transpose()?.unwrap_or_default();
    let given = flags.api_key.iter().map(String::as_str);
    if flags.api_key_file.is_some() && Keys::lines(&text).next().is_none() {
        return Err("--api-key-file has no key".to_owned());
    }
    Keys::new(given.chain(Keys::lines(&text)))
}

/// The text of a file with keys, which nobody but its owner may read.
fn key_file(path: &Path) -> Result<String, String> {
    let failed = |why: String| format!("--api-key-file {}: {why}", path.display());
    let about = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if !about.is_file() || about.len() > MAX_KEY_FILE {
        return Err(failed("accepted: a file of at most 1 MiB".to_owned()));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = about.permissions().mode();
        if mode & 0o077 != 0 {
            let mode = mode & 0o777;
            return Err(failed(format!("mode is {mode:o}, others can read it; accepted: 600")));
        }
    }
    std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))
}

/// An origin is a scheme and a host, as browsers send it.
fn check_origin(origin: &str) -> Result<(), String> {
    let parsed = url::Url::parse(origin).ok();
    let plain = parsed.is_some_and(|url| {
        ["http", "https"].contains(&url.scheme()) && url.origin().ascii_serialization() == origin
    });
    if plain {
        return Ok(());
    }
    let origin = mico_util::text::quoted(origin);
    Err(format!("--cors-origin '{origin}', accepted: https://HOST or http://HOST:PORT"))
}

fn media(flags: &MediaFlags) -> Result<MediaSources, String> {
    let patterns = flags
        .allow_media_host
        .iter()
        .map(|host| host.parse::<HostPattern>().map_err(|why| format!("--allow-media-host {why}")));
    let patterns = patterns.collect::<Result<Vec<_>, _>>()?;
    let timeout = Duration::from_secs(flags.media_timeout);
    let root = flags.media_root.as_deref().map(|path| {
        let failed = |error| format!("--media-root {}: {error}", path.display());
        MediaRoot::open(path).map_err(failed)
    });
    let limits = MediaLimits {
        image_bytes: flags.max_image_bytes,
        image_pixels: flags.max_image_pixels,
        total_pixels: flags.max_total_pixels,
    };
    let remote = (!patterns.is_empty()).then(|| Remote::new(patterns, timeout));
    Ok(MediaSources { limits, remote, root: root.transpose()? })
}

#[cfg(test)]
mod tests;
