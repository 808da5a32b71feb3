//! One thread that answers one request per connection and remembers what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// No request of these tests is longer.
const MAX_REQUEST_BYTES: u64 = 16 << 10;
/// Keeps a broken test from standing still.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request as the server saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) token: Option<String>,
    /// First byte of the range asked for.
    pub(crate) from: Option<u64>,
}

/// What the server answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Close the connection after so many bytes of the body.
    pub(crate) cut: Option<usize>,
    /// Say nothing at all until the client gives up.
    pub(crate) silent: bool,
}

impl Reply {
    pub(crate) fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }
}

/// Runs until dropped.
pub(crate) struct Server {
    address: SocketAddr,
    log: Arc<Mutex<Vec<Asked>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(answer: impl Fn(&Asked) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (seen, stopped) = (log.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                // A client that hangs up is part of the tests.
                let _ = stream.and_then(|stream| serve(stream, &answer, &seen));
            }
        });
        Self { address, log, stop, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// Everything asked since the last call.
    pub(crate) fn take_log(&self) -> Vec<Asked> {
        std::mem::take(&mut self.log.lock().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(
    mut stream: TcpStream,
    answer: &impl Fn(&Asked) -> Reply,
    log: &Mutex<Vec<Asked>>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let asked = read_request(&stream)?;
    log.lock().unwrap().push(asked.clone());
    let reply = answer(&asked);
    if reply.silent {
        // Returns when the client closes the connection.
        return stream.read_to_end(&mut Vec::new()).map(drop);
    }
    let mut head = vec![format!("HTTP/1.1 {} X", reply.status), "Connection: close".to_owned()];
    head.push(format!("Content-Length: {}", reply.body.len()));
    head.extend(reply.headers.iter().map(|(name, value)| format!("{name}: {value}")));
    stream.write_all((head.join("\r\n") + "\r\n\r\n").as_bytes())?;
    if asked.method != "HEAD" {
        stream.write_all(&reply.body[..reply.cut.unwrap_or(reply.body.len())])?;
    }
    stream.flush()
}

fn read_request(stream: &TcpStream) -> std::io::Result<Asked> {
    let mut lines = BufReader::new(stream.take(MAX_REQUEST_BYTES)).lines();
    let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let mut words = first.split(' ').map(str::to_owned);
    let mut asked = Asked {
        method: words.next().unwrap_or_default(),
        path: words.next().unwrap_or_default(),
        token: None,
        from: None,
    };
    for line in lines {
        let line = line?;
        let Some((name, value)) = line.split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => asked.token = Some(value.to_owned()),
            "range" => {
                let start = value.strip_prefix("bytes=").and_then(|v| v.strip_suffix('-'));
                asked.from = Some(start.unwrap().parse().unwrap());
            }
            _ => {}
        }
    }
    Ok(asked)
}
