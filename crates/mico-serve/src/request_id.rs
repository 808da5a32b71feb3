//! The id of a request: the client's own where it is harmless, else a new one.

use axum::http::{HeaderMap, HeaderName};
use uuid::Uuid;

/// The header that carries it, both ways.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id that is taken over.
const MAX_BYTES: usize = 128;

/// The id that a client gave, if it can stand in a log as it is; else a new one.
pub fn request_id(headers: &HeaderMap) -> String {
    let harmless = |id: &&str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        !id.is_empty() && id.len() <= MAX_BYTES && id.bytes().all(plain)
    };
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).filter(harmless);
    given.map_or_else(|| Uuid::now_v7().simple().to_string(), str::to_owned)
}

/// The id of a new answer.
pub fn completion_id() -> String {
    format!("chatcmpl-{}", Uuid::now_v7().simple())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn only_harmless_ids_are_taken_over() {
        let of = |bytes: &[u8]| {
            let value = HeaderValue::from_bytes(bytes).unwrap();
            request_id(&HeaderMap::from_iter([(REQUEST_ID, value)]))
        };
        assert_eq!(of(b"A.b_c-9"), "A.b_c-9");
        for bad in [b"".as_slice(), b"a b", b"a\tb", b"\xff", b"a;b", &[b'a'; 129]] {
            assert_eq!(of(bad).len(), 32, "{bad:?}");
        }
    }
}
