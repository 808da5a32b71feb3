//! Every kind of request with its response, byte for byte. Each file of `wire/` holds a request and, behind a line of
//! equals signs, what came back. `MICO_BLESS=1` writes the responses anew; read the difference before committing it.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::{Reply, Server, config, mock};
use mico_serve::auth::Keys;

const SEPARATOR: &str = "\n=====\n";

#[test]
fn requests_and_responses_byte_for_byte() {
    let mut config = config();
    config.keys = Keys::new(["secret"]).unwrap();
    config.check.lenient = vec!["tools".to_owned()];
    let server = Server::with(config, mock());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire");
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 40, "{} files", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let (request, expected) = text.split_once(SEPARATOR).unwrap_or((&text, ""));
        let found = shown(&server.raw(&bytes(request)));
        if found != expected {
            if std::env::var_os("MICO_BLESS").is_some() {
                std::fs::write(&file, format!("{request}{SEPARATOR}{found}")).unwrap();
            }
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            wrong.push(format!("{name}:\n{found}\ninstead of\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    server.join();
}

/// The request as it is sent: line ends, the length of the body, and the picture in place of its name.
fn bytes(request: &str) -> Vec<u8> {
    let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
    let body = body.replace("PIXEL", common::PIXEL);
    let mut text = head.replace('\n', "\r\n");
    if !head.contains("Host:") {
        text += "\r\nHost: localhost";
    }
    if !body.is_empty() {
        write!(text, "\r\nContent-Length: {}", body.len()).unwrap();
    }
    format!("{text}\r\nConnection: close\r\n\r\n{body}").into_bytes()
}

/// The response without what differs from run to run: ids, dates and times.
fn shown(reply: &Reply) -> String {
    let skipped = ["date:", "connection:", "transfer-encoding:"];
    let head = reply.head.iter().filter(|line| !skipped.iter().any(|name| line.starts_with(name)));
    let mut text = head.map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
    text = replaced(&text, "x-request-id: 0", |c| c.is_ascii_hexdigit());
    let mut body = replaced(&reply.body, "chatcmpl-", |c| c.is_ascii_hexdigit());
    body = replaced(&body, "\"created\":", |c| c.is_ascii_digit());
    body = replaced(&body, "\"seconds\":{", |c| c != '}');
    let length = reply.header("content-length").unwrap_or_default();
    text = text.replace(&format!("content-length: {length}\n"), "");
    format!("{text}\n{body}")
}

fn replaced(text: &str, mark: &str, varies: impl Fn(char) -> bool) -> String {
    let mut parts = text.split(mark);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += mark;
        out.push('…');
        out += part.trim_start_matches(&varies);
    }
    out
}
