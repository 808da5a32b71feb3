//! URLs of the hub and of the hosts that it redirects to.

use ureq::http::Uri;

use crate::error::HubError;
use crate::options::DEFAULT_ENDPOINT;

/// Scheme, host and port, which decide whether a server may receive the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    https: bool,
    host: String,
    port: u16,
}

impl Origin {
    pub(crate) fn of(uri: &Uri) -> Option<Self> {
        let https = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let port = uri.port_u16().unwrap_or(if https { 443 } else { 80 });
        Some(Self { https, host: uri.host()?.to_ascii_lowercase(), port })
    }

    /// The host for messages, with its port if that is not the default.
    pub(crate) fn name(&self) -> String {
        match (self.https, self.port) {
            (true, 443) | (false, 80) => self.host.clone(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }
}

/// The base URL of a hub.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    url: String,
    origin: Origin,
}

impl Endpoint {
    pub(crate) fn public() -> Self {
        let origin = Origin { https: true, host: "huggingface.co".into(), port: 443 };
        Self { url: DEFAULT_ENDPOINT.into(), origin }
    }

    pub(crate) fn parse(url: &str) -> Result<Self, HubError> {
        let url = url.trim().trim_end_matches('/');
        let invalid = || HubError::InvalidSetting {
            name: "HF_ENDPOINT",
            value: without_credentials(url).to_owned(),
            accepted: "an address such as https://huggingface.co, without user, query or fragment",
        };
        if url.contains(['#', '@', '?']) {
            return Err(invalid());
        }
        let uri: Uri = url.parse().map_err(|_| invalid())?;
        let origin = Origin::of(&uri).ok_or_else(invalid)?;
        Ok(Self { url: url.to_owned(), origin })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The hub's host name for messages.
    pub(crate) fn host(&self) -> String {
        self.origin.name()
    }
}

/// The URL after its last `@`, because a password may precede it.
fn without_credentials(url: &str) -> &str {
    url.rsplit_once('@').map_or(url, |(_, rest)| rest)
}

/// Resolves a `Location` header relative to `from`. A redirect from https to http is refused, so
/// that nobody on the network can replace a file that has no checksum.
pub(crate) fn redirected(from: &Uri, location: &str) -> Result<Uri, String> {
    let scheme = from.scheme_str().unwrap_or("https");
    let authority = from.authority().map_or("", |a| a.as_str());
    let target = if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else {
        location.to_owned()
    };
    let target: Uri = target.parse().map_err(|_| "a redirect to no valid address".to_owned())?;
    let (Some(old), Some(new)) = (Origin::of(from), Origin::of(&target)) else {
        return Err("a redirect to no http address".into());
    };
    if old.https && !new.https {
        return Err(format!("a redirect to {} without encryption", new.name()));
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_checked_and_trimmed() {
        let endpoint = Endpoint::parse(" https://Mirror.example:8443/hf/ ").unwrap();
        assert_eq!(endpoint.url(), "https://Mirror.example:8443/hf");
        assert_eq!(endpoint.host(), "mirror.example:8443");
        for bad in ["", "huggingface.co", "ftp://x", "https://", "https://h/?a=1", "file:///etc"] {
            let error = Endpoint::parse(bad).unwrap_err().to_string();
            assert!(error.starts_with("HF_ENDPOINT is `"), "{error}");
        }
        let error = Endpoint::parse("https://user:secret@h").unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn redirects_are_joined_and_never_lose_encryption() {
        let from: Uri = "https://hub.example:8443/a/b?c".parse().unwrap();
        let to = |location| redirected(&from, location).map(|uri| uri.to_string());
        assert_eq!(to("/x?y").unwrap(), "https://hub.example:8443/x?y");
        assert_eq!(to("//cdn.example/x").unwrap(), "https://cdn.example/x");
        assert_eq!(to("https://cdn.example/x").unwrap(), "https://cdn.example/x");
        assert!(to("http://hub.example:8443/x").unwrap_err().contains("without encryption"));
        for bad in ["x/y", "ftp://h/x", "", "https://", "javascript:1"] {
            assert!(to(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn origin_is_scheme_host_and_port() {
        let origin = |text: &str| Origin::of(&text.parse().unwrap()).unwrap();
        assert_eq!(origin("https://Hub.example/x"), origin("https://hub.example:443/y"));
        assert_ne!(origin("https://hub.example"), origin("http://hub.example"));
        assert_ne!(origin("http://hub.example"), origin("http://hub.example:81"));
    }
}
