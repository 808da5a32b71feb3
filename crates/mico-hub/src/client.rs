//! The HTTP requests made to a hub: resolve a revision, describe a file, download a file.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use mico_util::input::read_regular;
use serde_json::Value;
use ureq::http::{Method, Request, Response, Uri, header};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use crate::endpoint::{Endpoint, Origin, redirected};
use crate::error::HubError;
use crate::model_ref::{HubId, is_commit};
use crate::options::{HubOptions, Token};

/// The most redirects that are followed for one request.
const MAX_REDIRECTS: usize = 5;
/// The largest accepted repository description in bytes; it lists the repository's files.
const MAX_DESCRIPTION_BYTES: u64 = 16 << 20;
/// The longest entity tag (`ETag`) that is used as a file name.
const MAX_ETAG_LEN: usize = 128;
/// The largest accepted file of certificates, in bytes; a full list has a quarter of a million.
const MAX_PEM_BYTES: u64 = 16 << 20;
const USER_AGENT: &str = concat!("mico/", env!("CARGO_PKG_VERSION"));

/// The commit that a revision refers to, and its files.
pub(crate) struct Revision {
    pub(crate) commit: String,
    /// The files of the repository; `None` if the hub does not list them.
    pub(crate) files: Option<BTreeSet<String>>,
}

/// The metadata that the hub returns for a file.
#[derive(Debug)]
pub(crate) struct Remote {
    /// The name of its blob: the SHA-256 of a large file, the git hash of a small one.
    pub(crate) etag: String,
    pub(crate) size: Option<u64>,
}

/// The response to a download request, whose body is read in pieces.
pub(crate) struct Stream {
    pub(crate) body: Box<dyn Read>,
    /// The offset of the first byte: the one requested, or 0 if the server starts over.
    pub(crate) start: u64,
    /// The length of the whole file in bytes; `None` if it is not announced.
    pub(crate) total: Option<u64>,
    /// The host that sends the file, for messages.
    pub(crate) host: String,
}

/// A client for one hub and one model.
pub(crate) struct Client<'a> {
    agent: Agent,
    endpoint: &'a Endpoint,
    token: Option<&'a Token>,
    id: &'a HubId,
}

impl<'a> Client<'a> {
    pub(crate) fn new(options: &'a HubOptions, id: &'a HubId) -> Result<Self, HubError> {
        let agent = agent(options, None)?;
        Ok(Self { agent, endpoint: &options.endpoint, token: options.token.as_ref(), id })
    }

    pub(crate) fn host(&self) -> String {
        self.endpoint.host()
    }

    /// A connection to a host that failed or broke, for the reason given.
    pub(crate) fn broken(&self, host: String, reason: String) -> HubError {
        HubError::Network { model: self.id.to_string(), host, reason }
    }

    fn network(&self, at: &Origin, error: &ureq::Error) -> HubError {
        self.broken(at.name(), error.to_string())
    }

    /// Asks the hub which commit the revision refers to and which files it has.
    pub(crate) fn revision(&self) -> Result<Revision, HubError> {
        let what = self.id.to_string();
        let path =
            format!("/api/models/{}/revision/{}", self.id.repo(), self.id.revision_segment());
        let (origin, mut response) = self.follow(&path, None, &what)?;
        self.check(&origin, &response, &what)?;
        let bad = |reason: &str| bad_answer(&origin, &what, reason);
        let bytes = response
            .body_mut()
            .with_config()
            .limit(MAX_DESCRIPTION_BYTES)
            .read_to_vec()
            .map_err(|error| self.network(&origin, &error))?;
        let info: Value = serde_json::from_slice(&bytes).map_err(|_| bad("not JSON"))?;
        let commit = info
            .get("sha")
            .and_then(Value::as_str)
            .filter(|sha| is_commit(sha))
            .ok_or_else(|| bad("`sha` is missing or no commit hash"))?;
        let files = info.get("siblings").and_then(Value::as_array).map(|list| {
            let name = |file: &Value| Some(file.get("rfilename")?.as_str()?.to_owned());
            list.iter().filter_map(name).collect()
        });
        Ok(Revision { commit: commit.to_owned(), files })
    }

    /// Asks for a file's entity tag and length; `None` if there is no such file. For a large file
    /// the hub answers with a redirect to another host that carries both, so redirects are followed
    /// only within the hub, and only until both are known.
    pub(crate) fn describe(&self, commit: &str, file: &str) -> Result<Option<Remote>, HubError> {
        let mut uri = self.uri(&self.file_path(commit, file), file)?;
        let mut linked_etag = None;
        for _ in 0..=MAX_REDIRECTS {
            let (origin, response) = self.send(&Method::HEAD, &uri, None)?;
            if response.status().as_u16() == 404 {
                return Ok(None);
            }
            let bad = |reason: &str| bad_answer(&origin, file, reason);
            linked_etag = linked_etag.or_else(|| text(&response, "x-linked-etag"));
            let linked_size = text(&response, "x-linked-size").and_then(|s| s.parse().ok());
            if let Some(next) = location(&response) {
                let next = redirected(&uri, next).map_err(|reason| bad(&reason))?;
                let leaves = Origin::of(&next).as_ref() != Some(&origin);
                if !leaves && (linked_etag.is_none() || linked_size.is_none()) {
                    uri = next;
                    continue;
                }
            } else {
                self.check(&origin, &response, file)?;
            }
            let etag = linked_etag.or_else(|| text(&response, "etag"));
            let etag =
                etag.as_deref().and_then(blob_name).ok_or_else(|| bad("it has no usable ETag"))?;
            let length = || text(&response, "content-length").and_then(|s| s.parse().ok());
            let own_length = if location(&response).is_none() { length() } else { None };
            return Ok(Some(Remote { etag, size: linked_size.or(own_length) }));
        }
        Err(bad_answer(self.endpoint.origin(), file, "too many redirects"))
    }

    /// Opens a download from byte `from` on, following redirects to other hosts.
    pub(crate) fn open(&self, commit: &str, file: &str, from: u64) -> Result<Stream, HubError> {
        let range = (from > 0).then_some(from);
        let (origin, response) = self.follow(&self.file_path(commit, file), range, file)?;
        self.check(&origin, &response, file)?;
        let (start, total) = if response.status().as_u16() == 206 {
            text(&response, "content-range")
                .as_deref()
                .and_then(content_range)
                .filter(|(start, _)| *start == from)
                .ok_or_else(|| bad_answer(&origin, file, "the wrong part of the file"))?
        } else {
            (0, response.body().content_length())
        };
        let body = response.into_body().into_with_config().limit(u64::MAX).reader();
        Ok(Stream { body: Box::new(body), start, total, host: origin.name() })
    }

    fn file_path(&self, commit: &str, file: &str) -> String {
        format!("/{}/resolve/{commit}/{file}", self.id.repo())
    }

    fn uri(&self, path: &str, what: &str) -> Result<Uri, HubError> {
        format!("{}{path}", self.endpoint.url())
            .parse()
            .map_err(|_| bad_answer(self.endpoint.origin(), what, "no valid address"))
    }

    fn follow(
        &self,
        path: &str,
        from: Option<u64>,
        what: &str,
    ) -> Result<(Origin, Response<Body>), HubError> {
        let mut uri = self.uri(path, what)?;
        for _ in 0..=MAX_REDIRECTS {
            let (origin, response) = self.send(&Method::GET, &uri, from)?;
            let Some(next) = location(&response) else { return Ok((origin, response)) };
            uri = redirected(&uri, next).map_err(|reason| bad_answer(&origin, what, &reason))?;
        }
        Err(bad_answer(self.endpoint.origin(), what, "too many redirects"))
    }

    /// Sends one request. The token is sent only to the hub itself, never to a host it redirects to.
    fn send(
        &self,
        method: &Method,
        uri: &Uri,
        from: Option<u64>,
    ) -> Result<(Origin, Response<Body>), HubError> {
        let origin = Origin::of(uri).unwrap_or_else(|| self.endpoint.origin().clone());
        let mut request = Request::builder().method(method).uri(uri);
        if let Some(from) = from {
            request = request.header(header::RANGE, format!("bytes={from}-"));
        }
        if let Some(token) = self.token.filter(|_| origin == *self.endpoint.origin()) {
            request = request.header(header::AUTHORIZATION, token.bearer());
        }
        let request = request.body(()).map_err(|error| self.network(&origin, &error.into()))?;
        let response = self.agent.run(request).map_err(|error| self.network(&origin, &error))?;
        Ok((origin, response))
    }

    /// Converts a status other than success into the error that explains it.
    fn check(&self, at: &Origin, response: &Response<Body>, what: &str) -> Result<(), HubError> {
        let status = response.status();
        let (host, model) = (at.name(), self.id.to_string());
        match status.as_u16() {
            _ if status.is_success() => Ok(()),
            status @ (401 | 403) if at == self.endpoint.origin() => {
                Err(HubError::Denied { host, model, status })
            }
            404 if what == model => Err(HubError::NotFound { host, model }),
            404 => Err(HubError::MissingFile { host, model, file: what.to_owned() }),
            status => Err(HubError::Status { host, what: what.to_owned(), status }),
        }
    }
}

/// Asks the hub for its front page, without a token; any answer at all is a sign of life.
pub(crate) fn probe(options: &HubOptions, limit: Duration) -> Result<(), HubError> {
    let endpoint = &options.endpoint;
    let agent = agent(options, Some(limit))?;
    agent
        .head(endpoint.url())
        .call()
        .map(|_| ())
        .map_err(|error| HubError::Unreachable { host: endpoint.host(), reason: error.to_string() })
}

/// The HTTP library, set up as the options say; `whole` limits a request from its beginning to its end.
fn agent(options: &HubOptions, whole: Option<Duration>) -> Result<Agent, HubError> {
    let limits = options.timeouts;
    let roots = options.certificates.as_deref().map_or(Ok(RootCerts::WebPki), trusted)?;
    let config = Agent::config_builder()
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .proxy(options.proxy.clone())
        .user_agent(USER_AGENT)
        .accept_encoding("identity")
        .http_status_as_error(false)
        // Redirects are followed by hand, so that each step decides whether the token is sent.
        .max_redirects(0)
        .timeout_global(whole)
        .timeout_resolve(Some(limits.connect))
        .timeout_connect(Some(limits.connect))
        .timeout_send_request(Some(limits.response))
        .timeout_recv_response(Some(limits.response))
        .timeout_per_read(Some(limits.read))
        .timeout_per_write(Some(limits.read));
    Ok(config.build().new_agent())
}

/// Reads the certificate authorities in a PEM file.
fn trusted(path: &Path) -> Result<RootCerts, HubError> {
    let pem = read_regular(path, MAX_PEM_BYTES).map_err(HubError::io(path))?;
    let mut found = Vec::new();
    for item in parse_pem(&pem).flatten() {
        if let PemItem::Certificate(certificate) = item {
            found.push(certificate);
        }
    }
    if found.is_empty() {
        return Err(HubError::InvalidSetting {
            name: "SSL_CERT_FILE",
            value: path.display().to_string(),
            accepted: "a PEM file with at least one certificate",
        });
    }
    Ok(found.into())
}

fn bad_answer(at: &Origin, what: &str, reason: &str) -> HubError {
    HubError::BadAnswer { host: at.name(), what: what.to_owned(), reason: reason.to_owned() }
}

fn text(response: &Response<Body>, name: &str) -> Option<String> {
    Some(response.headers().get(name)?.to_str().ok()?.to_owned())
}

fn location(response: &Response<Body>) -> Option<&str> {
    let redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    redirect.then(|| response.headers().get(header::LOCATION)?.to_str().ok()).flatten()
}

/// The entity tag without quotes; `None` if it cannot serve as a file name.
fn blob_name(etag: &str) -> Option<String> {
    let etag = etag.trim().trim_start_matches("W/").trim_matches('"');
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let usable = (1..=MAX_ETAG_LEN).contains(&etag.len())
        && etag.bytes().all(plain)
        && !etag.starts_with('.');
    usable.then(|| etag.to_owned())
}

/// The first byte and the total length in a header such as `bytes 10-99/100`.
fn content_range(value: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
    Some((range.split_once('-')?.0.parse().ok()?, total.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tags_that_are_file_names_are_used() {
        assert_eq!(blob_name("\"abc123\"").as_deref(), Some("abc123"));
        assert_eq!(blob_name("W/\"a-b_c\"").as_deref(), Some("a-b_c"));
        for bad in ["", "\"\"", "\"../x\"", "\"a/b\"", "\".\"", "\"a b\"", "\"a\\b\"", "\"é\""] {
            assert_eq!(blob_name(bad), None, "{bad}");
        }
        assert_eq!(blob_name(&"a".repeat(129)), None);
    }

    #[test]
    fn content_ranges_are_read() {
        assert_eq!(content_range("bytes 10-99/100"), Some((10, Some(100))));
        assert_eq!(content_range("bytes 10-99/*"), Some((10, None)));
        for bad in ["", "bytes */100", "10-99/100", "bytes x-9/10", "bytes 10"] {
            assert_eq!(content_range(bad), None, "{bad}");
        }
    }
}
