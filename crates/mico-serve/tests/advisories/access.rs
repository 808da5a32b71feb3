//! Keys, paths, leaks, numbers and what the server does not take at all.

use mico_serve::auth::Keys;
use mico_serve::routes::{OPEN, ROUTES};

use super::media::promising;
use crate::common::{PIXEL, Server, about, config, mock, posted, text, with};

#[test]
fn advisory_07_a_panic_is_one_request_s_own() {
    let server = Server::start(mock());
    assert_eq!(server.chat(&text("panic while preparing")).error().1, "internal_error");
    assert_eq!(server.chat(&text("panic")).error().1, "internal_error");
    assert_eq!(server.chat(&text("what is this?")).status, 200);
    assert_eq!(server.get("/health").status, 200);
    assert_eq!(server.chat(&about(&promising(0, 1))).status, 400);
    assert_eq!(server.chat(&about(&format!("data:image/bmp;base64,{PIXEL}"))).status, 200);
}

#[test]
fn advisory_10_errors_tell_nothing_of_the_inside() {
    let server = Server::start(mock());
    for body in [text("break first"), about("data:image/png;base64,iVBORw0KGgoAAAAA")] {
        let reply = server.chat(&body);
        for leak in ["0x", "/root", "/home", "secret", ".rs", "panicked", "Error {"] {
            assert!(!reply.body.contains(leak), "{leak} in {}", reply.body);
        }
    }
    let clip = about("data:video/mp4;base64,AAAAIGZ0eXBpc29t");
    assert_eq!(server.chat(&clip).error().1, "unsupported_content");
}

#[test]
fn advisory_16_without_a_key_only_the_open_routes_answer() {
    let mut config = config();
    config.keys = Keys::new(["secret"]).unwrap();
    let server = Server::with(config, mock());
    let ask = |method: &str, path: &str, header: &str| {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{header}Content-Length: 0\r\nConnection: close\r\n\r\n"
        );
        server.raw(head.as_bytes()).status
    };
    for (_, path) in ROUTES {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
            let status = ask(method, path, "");
            if OPEN.contains(&path) {
                assert_ne!(status, 401, "{method} {path}");
            } else {
                assert_eq!(status, 401, "{method} {path}");
                assert_eq!(
                    ask(method, path, "Authorization: Bearer wrong\r\n"),
                    401,
                    "{method} {path}"
                );
            }
        }
    }
    for path in [
        "/v1/../metrics",
        "//v1/models",
        "/%76%31/models",
        "/v1/models/",
        "/V1/MODELS",
        "/metrics/",
        "/health/../metrics",
        "/health/..%2fmetrics",
        "/%2e%2e/metrics",
        "/metrics;x",
        "/metrics?/health",
        "http://localhost/metrics",
        "http://localhost/v1/models",
        "/health%00/../metrics",
        "*",
    ] {
        let status = ask("GET", path, "");
        assert!([400, 401, 421].contains(&status), "{path}: {status}");
    }
    for hosts in ["Host: evil.example\r\n", "Host: localhost\r\nHost: localhost\r\n", ""] {
        let head = format!("GET /health HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
        assert!([400, 421].contains(&server.raw(head.as_bytes()).status), "{hosts}");
    }
}

#[test]
fn advisory_17_templates_come_with_the_model_alone() {
    let server = Server::start(mock());
    for field in [r#""chat_template":"{% for x in y %}""#, r#""chat_template_kwargs":{"x":1}"#] {
        assert_eq!(server.chat(&with(&text("x"), field)).error().1, "unsupported_parameter");
    }
}

#[test]
fn advisory_18_numbers_that_are_none_are_refused_by_name() {
    let server = Server::start(mock());
    for (field, value) in [
        ("temperature", "NaN"),
        ("temperature", "Infinity"),
        ("temperature", "1e999"),
        ("temperature", "-0.0"),
        ("max_tokens", "9223372036854775808000"),
        ("max_tokens", "-5"),
        ("max_tokens", "1.5"),
        ("n", "1000000000"),
        ("top_logprobs", "21"),
        ("top_k", "1e3"),
        ("seed", "1e3"),
    ] {
        let reply = server.chat(&with(&text("x"), &format!(r#""{field}":{value}"#)));
        assert_eq!(reply.error().0, 400, "{field}={value}: {}", reply.body);
        assert_eq!(reply.error().2.as_deref(), Some(field), "{field}={value}: {}", reply.body);
    }
    let stops = vec![r#""x""#; 100_000].join(",");
    let reply = server.chat(&with(&text("x"), &format!(r#""stop":[{stops}]"#)));
    assert!(reply.error().2.unwrap().starts_with("stop"), "{}", reply.body);
    for (field, value) in [
        ("budget", "0"),
        ("budget", "1152921504606846976000"),
        ("keep", "NaN"),
        ("refine_layer", "0"),
    ] {
        let reply = server.chat(&with(&text("x"), &format!(r#""mico":{{"{field}":{value}}}"#)));
        assert_eq!(reply.error().0, 400, "{field}={value}: {}", reply.body);
        let param = reply.error().2.unwrap();
        assert_eq!(param, format!("mico.{field}"), "{field}={value}: {}", reply.body);
    }
}

#[test]
fn advisory_21_nothing_is_uploaded() {
    let server = Server::start(mock());
    for kind in [
        "multipart/form-data; boundary=x",
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/octet-stream",
    ] {
        let request = posted("/v1/chat/completions", &text("x")).replace("application/json", kind);
        assert_eq!(server.raw(request.as_bytes()).status, 415, "{kind}");
    }
    let packed = posted("/v1/chat/completions", &text("x"))
        .replace("Connection: close", "Content-Encoding: gzip\r\nConnection: close");
    assert_eq!(server.raw(packed.as_bytes()).status, 415);
    for path in ["/v1/files", "/upload", "/v1/load", "/admin"] {
        assert_eq!(server.post(path, "{}").status, 404, "{path}");
    }
}

#[test]
fn advisory_23_what_has_had_advisories_is_absent_or_fixed() {
    let lock =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
    let version = |name: &str| -> Vec<(u32, u32, u32)> {
        let mark = format!("name = \"{name}\"\nversion = \"");
        let found = lock.split(&mark).skip(1).map(|rest| rest.split('"').next().unwrap());
        found
            .map(|text| {
                let mut parts = text.split(['.', '-', '+']).map(|part| part.parse().unwrap_or(0));
                let mut next = || parts.next().unwrap_or(0);
                (next(), next(), next())
            })
            .collect()
    };
    assert!(version("h2").is_empty(), "HTTP/2 is a proxy's job");
    for (name, fixed) in [
        ("memmap2", (0, 9, 11)),
        ("bytes", (1, 11, 1)),
        ("idna", (1, 0, 0)),
        ("hyper", (1, 0, 0)),
        ("rustls-webpki", (0, 103, 0)),
    ] {
        for found in version(name) {
            assert!(found >= fixed, "{name} {found:?}, at least {fixed:?}");
        }
    }
}

#[test]
fn request_ids_cannot_inject_lines() {
    let server = Server::start(mock());
    for id in ["a b", "a\tb", "a;b", "x\u{e4}"] {
        let head = format!(
            "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: {id}\r\nConnection: close\r\n\r\n"
        );
        let reply = server.raw(head.as_bytes());
        assert_ne!(reply.header("x-request-id"), Some(id));
    }
}
