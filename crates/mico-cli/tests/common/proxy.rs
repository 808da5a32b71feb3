//! A small reverse proxy, for tests only: servers in turn, and the next one when a server is gone before it has answered.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Starts it in front of these ports; its own port.
pub(crate) fn proxy(ports: [u16; 2]) -> u16 {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let first = TURN.fetch_add(1, Ordering::Relaxed);
            std::thread::spawn(move || forward(client.unwrap(), ports, first));
        }
    });
    port
}

/// Reads a whole request or response: the head, and the bytes that its head promises.
fn message(stream: TcpStream) -> Option<Vec<u8>> {
    let mut reader = BufReader::new(stream);
    let (mut bytes, mut length) = (Vec::new(), None);
    loop {
        let start = bytes.len();
        if reader.read_until(b'\n', &mut bytes).ok()? == 0 {
            return None;
        }
        let line = String::from_utf8_lossy(&bytes[start..]).to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse::<usize>().ok();
        }
        if line == "\r\n" {
            break;
        }
    }
    let start = bytes.len();
    bytes.resize(start + length?, 0);
    reader.read_exact(&mut bytes[start..]).ok()?;
    Some(bytes)
}

fn forward(mut client: TcpStream, ports: [u16; 2], first: usize) {
    let request = message(client.try_clone().unwrap()).unwrap();
    let response = (first..first + 2).find_map(|turn| {
        let mut server = TcpStream::connect(("127.0.0.1", ports[turn % 2])).ok()?;
        server.write_all(&request).ok()?;
        message(server)
    });
    let lost = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";
    client.write_all(response.as_deref().unwrap_or(lost)).unwrap();
}
