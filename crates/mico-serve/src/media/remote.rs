//! Images behind URLs, from hosts that the operator has listed and addresses that are out in the world.
//!
//! One parser reads a URL; the host it finds is the one that is checked, resolved and connected to. Names are resolved
//! once, and the connection goes to exactly the addresses that were checked.

use std::fmt;
use std::io::Read as _;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ureq::http::{Uri, header};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, config::Config};
use url::{Host, Url};

use super::address::is_global;
use crate::error::{Code, Result, ServeError};

/// Most redirects of one fetch.
const MAX_REDIRECTS: usize = 3;
/// Longest URL, in bytes.
const MAX_URL_BYTES: usize = 8192;
/// Most addresses of one name.
const MAX_ADDRESSES: usize = 16;
/// The ports that need no mention.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// A host that URLs may name: `images.example.org`, `*.example.org` or `example.org:8443`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    host: String,
    subdomains: bool,
    port: Option<u16>,
}

impl FromStr for HostPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let accepted = || format!("'{text}' is no host, accepted: HOST, HOST:PORT or *.HOST");
        // An address of IPv6 has colons of its own, inside brackets.
        let behind = text.rfind(']').map_or(0, |bracket| bracket + 1);
        let (name, port) = match text[behind..].rfind(':').map(|at| behind + at) {
            Some(at) => (&text[..at], Some(text[at + 1..].parse().map_err(|_| accepted())?)),
            None => (text, None),
        };
        let (subdomains, name) = match name.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, name),
        };
        let host = Host::parse(name).map_err(|_| accepted())?;
        if matches!(&host, Host::Domain(name) if !is_domain(name)) {
            return Err(accepted());
        }
        if subdomains && !matches!(host, Host::Domain(_)) {
            return Err(accepted());
        }
        Ok(Self { host: host.to_string(), subdomains, port })
    }
}

/// Letters, digits, hyphens and single dots.
fn is_domain(name: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.split('.').all(label)
}

impl HostPattern {
    fn admits(&self, host: &str, port: u16) -> bool {
        let named = if self.subdomains {
            host.strip_suffix(&self.host).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        } else {
            host == self.host
        };
        named && self.port.map_or(USUAL_PORTS.contains(&port), |own| own == port)
    }
}

/// Finds the addresses of a name.
pub type Lookup = dyn Fn(&str, u16) -> std::io::Result<Vec<SocketAddr>> + Send + Sync;

/// Fetches images from hosts that the operator has listed.
pub struct Remote {
    hosts: Vec<HostPattern>,
    timeout: Duration,
    lookup: Arc<Lookup>,
    admits: fn(IpAddr) -> bool,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl Remote {
    /// For these hosts; `timeout` is for everything that one fetch takes, redirects included.
    pub fn new(hosts: Vec<HostPattern>, timeout: Duration) -> Self {
        let lookup = |host: &str, port: u16| Ok((host, port).to_socket_addrs()?.collect());
        Self { hosts, timeout, lookup: Arc::new(lookup), admits: is_global }
    }

    /// The same with another way to find addresses.
    pub fn with_lookup(self, lookup: Arc<Lookup>) -> Self {
        Self { lookup, ..self }
    }

    /// Fetches at most `most` bytes. Blocks.
    pub fn fetch(&self, url: &str, most: usize) -> Result<Vec<u8>> {
        let end = Instant::now() + self.timeout;
        let mut at = self.check(url)?;
        for _ in 0..=MAX_REDIRECTS {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(failed("out of time"));
            }
            match self.get(&at, left, most)? {
                Fetched::Bytes(bytes) => return Ok(bytes),
                Fetched::Redirect(to) => {
                    let next = at.join(&to).map_err(|_| failed("a redirect to no URL"))?;
                    if at.scheme() == "https" && next.scheme() != "https" {
                        return Err(failed("a redirect from https to http"));
                    }
                    // Only the written form of a redirect can hide something from the parser.
                    if to.contains(['\\', '\t', '\n', '\r']) {
                        return Err(failed("a redirect with control characters"));
                    }
                    at = self.check(next.as_str())?;
                }
            }
        }
        Err(failed("too many redirects"))
    }

    /// Reads a URL, strictly, and refuses hosts that are not listed.
    fn check(&self, text: &str) -> Result<Url> {
        let odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
        if text.len() > MAX_URL_BYTES || text.contains(odd) || !text.is_ascii() {
            return Err(refused("the URL is too long or has characters that a URL must not have"));
        }
        let mut url = Url::parse(text).map_err(|_| refused("not a URL"))?;
        url.set_fragment(None);
        let slashes = text
            .split_once(':')
            .is_some_and(|(_, rest)| rest.starts_with("//") && !rest.starts_with("///"));
        let plain = url.username().is_empty() && url.password().is_none();
        let authority = text.split_once("//").map_or("", |(_, rest)| rest);
        let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
        if !slashes || !plain || authority.contains(['@', '%']) {
            return Err(refused("the URL has user data, or no host"));
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(refused("the URL has no host"));
        };
        if !self.hosts.iter().any(|pattern| pattern.admits(host, port)) {
            let message = "the host of the URL is not one that this server fetches from";
            return Err(ServeError::new(Code::HostNotAllowed, message));
        }
        Ok(url)
    }

    fn get(&self, url: &Url, left: Duration, most: usize) -> Result<Fetched> {
        let uri: Uri = url.as_str().parse().map_err(|_| refused("not a URL"))?;
        // Two parsers that disagree about the host would let one be checked and another be asked.
        if uri.host() != url.host_str() {
            return Err(refused("the URL's host can be read in two ways"));
        }
        let config = Agent::config_builder()
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .proxy(None)
            .timeout_global(Some(left))
            .build();
        let resolver = Checked { lookup: Arc::clone(&self.lookup), admits: self.admits };
        let agent = Agent::with_parts(config, DefaultConnector::default(), resolver);
        let mut response = agent.get(uri).call().map_err(|error| failed(&error.to_string()))?;
        let status = response.status();
        if status.is_redirection() {
            let to = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
            let to = to.ok_or_else(|| failed("a redirect to nowhere"))?;
            return Ok(Fetched::Redirect(to.to_owned()));
        }
        if !status.is_success() {
            return Err(failed(&format!("status {status}")));
        }
        let mut bytes = Vec::new();
        let reader = response.body_mut().as_reader();
        reader
            .take(most as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| failed(&error.to_string()))?;
        if bytes.len() > most {
            let message = format!("a file of more than {most} bytes");
            return Err(ServeError::new(Code::ImageTooLarge, message));
        }
        Ok(Fetched::Bytes(bytes))
    }
}

enum Fetched {
    Bytes(Vec<u8>),
    Redirect(String),
}

/// One text for everything that happens behind a URL, so that nobody learns what is inside.
fn failed(cause: &str) -> ServeError {
    let message = "the media behind the URL could not be fetched";
    ServeError::new(Code::MediaFetchFailed, message).because(cause)
}

fn refused(message: &str) -> ServeError {
    ServeError::new(Code::HostNotAllowed, message)
}

/// Hands the connector only addresses that have been checked; a name with a single local one is refused.
struct Checked {
    lookup: Arc<Lookup>,
    admits: fn(IpAddr) -> bool,
}

impl fmt::Debug for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Checked")
    }
}

impl Resolver for Checked {
    fn resolve(
        &self,
        uri: &Uri,
        _: &Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().ok_or(ureq::Error::HostNotFound)?;
        let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let found = (self.lookup)(bare, uri.port_u16().unwrap_or(usual))?;
        if !found.iter().all(|address| (self.admits)(address.ip())) {
            return Err(ureq::Error::HostNotFound);
        }
        let mut addresses = self.empty();
        for address in found.into_iter().take(MAX_ADDRESSES) {
            addresses.push(address);
        }
        if addresses.is_empty() { Err(ureq::Error::HostNotFound) } else { Ok(addresses) }
    }
}

#[cfg(test)]
mod tests;
