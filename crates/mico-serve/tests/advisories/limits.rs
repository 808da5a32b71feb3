//! Slow, large and many.

use std::io::{BufReader, Write as _};
use std::time::Duration;

use crate::common::{Reply, Server, config, mock, text};

#[test]
fn advisory_14_heads_and_bodies_have_limits() {
    let mut config = config();
    config.max_body = 1000;
    config.body_timeout = Duration::from_millis(50);
    let server = Server::with(config, mock());
    let long = "x".repeat(33 << 10);
    let head = format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: {long}\r\n\r\n");
    assert_eq!(server.raw(head.as_bytes()).status, 431);
    let many = "X-Many: 1\r\n".repeat(65);
    let head = format!("GET /health HTTP/1.1\r\nHost: localhost\r\n{many}\r\n");
    assert_eq!(server.raw(head.as_bytes()).status, 431);
    let declared = "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1001\r\n\r\n";
    assert_eq!(
        server.raw(declared.as_bytes()).error(),
        (413, "request_too_large".to_owned(), None)
    );
    let chunk = format!("3e9\r\n{}\r\n0\r\n\r\n", "x".repeat(1001));
    let chunked = format!(
        "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}"
    );
    assert_eq!(server.raw(chunked.as_bytes()).status, 413);
    // The body never comes.
    let silent = "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{";
    assert_eq!(server.raw(silent.as_bytes()).error().1, "request_timeout");
}

#[test]
fn advisory_14_garbage_does_not_keep_others_out() {
    let server = Server::start(mock());
    let garbage: Vec<_> = (0..200)
        .map(|number| {
            let mut stream = server.connect();
            let bytes: &[u8] = match number % 4 {
                0 => b"\x16\x03\x01\x02\x00\x01",
                1 => b"GET / HTTP/1.1\r\nHost: loc",
                2 => b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
                _ => b"",
            };
            stream.write_all(bytes).unwrap();
            stream
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(server.chat(&text("what is this?")).status, 200);
    }
    drop(garbage);
}

#[test]
fn advisory_14_beyond_the_most_connections_nobody_is_accepted() {
    let mut config = config();
    config.max_connections = 2;
    let server = Server::with(config, mock());
    let mut held: Vec<_> = (0..2).map(|_| server.connect()).collect();
    // A response shows that both places are taken.
    for stream in &mut held {
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert_eq!(Reply::read(&mut BufReader::new(stream.try_clone().unwrap())).status, 200);
    }
    let mut third = server.connect();
    third.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    third.set_nonblocking(true).unwrap();
    let early = std::io::Read::read(&mut third, &mut [0; 1]).unwrap_err();
    assert_eq!(early.kind(), std::io::ErrorKind::WouldBlock);
    third.set_nonblocking(false).unwrap();
    drop(held);
    assert_eq!(Reply::read(&mut BufReader::new(third)).status, 200);
}
