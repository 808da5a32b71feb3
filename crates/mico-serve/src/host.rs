//! Which Host a request may name, and which web pages may read an answer.
//!
//! A page can make a browser resolve its own name to 127.0.0.1 and then talk to a server there as if it were its own
//! (DNS rebinding). The browser still sends the page's name as Host, so on a loopback address only loopback names pass.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri, header};

use crate::error::{Code, Result, ServeError};

/// The names of this machine's loopback interface.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The hosts that requests may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    /// `None` lets every name pass.
    accepted: Option<Vec<String>>,
}

impl HostRule {
    /// Loopback names and those listed, for a loopback address; any name otherwise.
    pub fn new(loopback: bool, allowed: &[String]) -> Self {
        let listed = allowed.iter().map(|host| host.to_ascii_lowercase());
        let names = LOOPBACK.into_iter().map(str::to_owned).chain(listed);
        Self { accepted: loopback.then(|| names.collect()) }
    }

    /// Refuses a request that names somebody else, twice, or nobody.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<()> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (first, second) = (hosts.next(), hosts.next());
        if second.is_some() {
            return Err(ServeError::new(Code::InvalidValue, "more than one Host header"));
        }
        if first.is_none() && uri.authority().is_none() {
            return Err(ServeError::new(Code::InvalidValue, "no Host header"));
        }
        let named =
            first.map(|host| host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()));
        let wrong =
            || ServeError::new(Code::WrongHost, "this server is not the host you asked for");
        let authorities = named.into_iter().chain(uri.authority().cloned().map(Some));
        for authority in authorities {
            let Some(accepted) = &self.accepted else { continue };
            let host = authority.map(|authority| authority.host().to_ascii_lowercase());
            let host = host.ok_or_else(wrong)?;
            if !accepted.contains(&host) {
                return Err(wrong());
            }
        }
        Ok(())
    }
}

/// The origin of a request, if it is one whose pages may read answers.
pub fn allowed_origin<'a>(origins: &[String], headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    let listed = origins.iter().any(|listed| listed.as_bytes() == origin.as_bytes());
    listed.then_some(origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: &HostRule, uri: &str, hosts: &[&str]) -> Option<Code> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, HeaderValue::from_str(host).unwrap());
        }
        rule.check(&uri.parse().unwrap(), &headers).err().map(|error| error.code)
    }

    #[test]
    fn on_loopback_only_loopback_names_pass() {
        let rule = HostRule::new(true, &["My.Test".to_owned()]);
        for host in ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000", "my.test"] {
            assert_eq!(check(&rule, "/", &[host]), None, "{host}");
        }
        for host in ["evil", "localhost.evil", "127.0.0.1.evil", "", "a b", "evil@localhost.x"] {
            assert_eq!(check(&rule, "/", &[host]), Some(Code::WrongHost), "{host}");
        }
        assert_eq!(check(&rule, "/", &["localhost", "evil"]), Some(Code::InvalidValue));
        assert_eq!(check(&rule, "/", &[]), Some(Code::InvalidValue));
        assert_eq!(check(&rule, "http://evil/", &["localhost"]), Some(Code::WrongHost));
    }

    #[test]
    fn elsewhere_any_single_name_passes() {
        let rule = HostRule::new(false, &[]);
        assert_eq!(check(&rule, "/", &["example.org"]), None);
        assert_eq!(check(&rule, "/", &["a", "b"]), Some(Code::InvalidValue));
    }
}
