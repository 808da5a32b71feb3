//! A server with a scripted model on a port of its own, and a client that sees every byte.
#![allow(dead_code, unreachable_pub)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use mico_serve::app::App;
use mico_serve::backend::{Backend, Finish};
use mico_serve::config::{Config, Listen};
use mico_serve::mock::{Gate, Mock, Script, Step};
use mico_serve::server::{Listener, serve};

/// A picture of one pixel, as a BMP file in base64.
pub const PIXEL: &str =
    "Qk06AAAAAAAAADYAAAAoAAAAAQAAAAEAAAABABgAAAAAAAQAAAATCwAAEwsAAAAAAAAAAAAA////AA==";

pub struct Server {
    pub address: SocketAddr,
    pub app: Arc<App>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<bool>>,
}

impl Server {
    /// Loopback, no key, the names `tiny` and `tiny@fast`.
    pub fn start(backend: impl Backend) -> Self {
        Self::with(config(), backend)
    }

    pub fn with(config: Config, backend: impl Backend) -> Self {
        let server = Self::loading(config);
        server.app.set_backend(Arc::new(backend));
        server
    }

    /// A server whose model is not there yet.
    pub fn loading(config: Config) -> Self {
        let app = Arc::new(App::new(config));
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let (told, address) = std::sync::mpsc::channel();
        let served = Arc::clone(&app);
        let thread = std::thread::spawn(move || {
            let runtime = mico_serve::run::runtime().unwrap();
            let drained = runtime.block_on(async {
                let listener = Listener::bind(&served.config.listen).await.unwrap();
                told.send(listener.address().unwrap().unwrap()).unwrap();
                let stop = async {
                    // A test that ends without a word stops its server, too.
                    let _ = stopped.await;
                };
                serve(served, listener, stop).await.unwrap()
            });
            runtime.shutdown_background();
            drained
        });
        let address = address.recv().unwrap();
        Self { address, app, stop: Some(stop), thread: Some(thread) }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        // Nothing takes that long; a server that hangs fails its test.
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        stream
    }

    /// Sends bytes and reads one response.
    pub fn raw(&self, request: &[u8]) -> Reply {
        let mut stream = self.connect();
        // A server that has seen enough may close before all is sent.
        let _ = stream.write_all(request);
        Reply::read(&mut BufReader::new(stream))
    }

    pub fn get(&self, path: &str) -> Reply {
        self.raw(
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                .as_bytes(),
        )
    }

    pub fn post(&self, path: &str, body: &str) -> Reply {
        self.raw(posted(path, body).as_bytes())
    }

    pub fn chat(&self, body: &str) -> Reply {
        self.post("/v1/chat/completions", body)
    }

    /// Begins the shutdown.
    pub fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits for the end; whether everything had ended by itself.
    pub fn join(mut self) -> bool {
        self.stop();
        self.thread.take().unwrap().join().unwrap()
    }
}

/// The settings of tests.
pub fn config() -> Config {
    let mut config = Config::local("tiny");
    config.listen = Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
    let fast = mico_serve::wire::Wanted::Pruned("mico T=64".parse().unwrap());
    config.names.profiles.insert("fast".to_owned(), fast);
    config
}

/// A model with an answer for every test of the protocol.
pub fn mock() -> Mock {
    let stopped = Script { finish: Finish::Stop("END".to_owned()), ..Script::says(&["before "]) };
    let long = Script { finish: Finish::Length, ..Script::says(&["one", " two"]) };
    let broken = Script { steps: vec![Step::Say("half"), Step::Fail], finish: Finish::End };
    let broken_first = Script { steps: vec![Step::Fail], finish: Finish::End };
    let panics = Script { steps: vec![Step::Panic], finish: Finish::End };
    let late = Script { steps: vec![Step::TimeOut], finish: Finish::End };
    Mock::default()
        .answering("what is this?", Script::says(&["A cat", " on a mat."]))
        .answering("say nothing", Script::says(&[]))
        .answering("stop", stopped)
        .answering("long", long)
        .answering("break", broken)
        .answering("break first", broken_first)
        .answering("panic", panics)
        .answering("late", late)
        .answering("inject", Script::says(&["a\n\ndata: [DONE]\n\n", "\u{2028}\"\\"]))
}

/// A model that waits at a gate after its first word.
pub fn waiting(gate: &Gate) -> Mock {
    let steps = vec![Step::Say("first"), Step::Wait(gate.clone()), Step::Say(" last")];
    Mock::default().answering("wait", Script { steps, finish: Finish::End })
}

pub fn posted(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// A request about text.
pub fn text(question: &str) -> String {
    format!(r#"{{"messages":[{{"role":"user","content":"{question}"}}]}}"#)
}

/// A request about the image at a URL.
pub fn about(url: &str) -> String {
    let url = serde_json::to_string(url).unwrap();
    format!(
        r#"{{"messages":[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":{url}}}}},{{"type":"text","text":"what is this?"}}]}}]}}"#
    )
}

/// The same request with a further field.
pub fn with(request: &str, field: &str) -> String {
    format!("{},{field}}}", request.strip_suffix('}').unwrap())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub head: Vec<String>,
    pub body: String,
}

impl Reply {
    /// A closed connection without a response has status 0.
    pub fn read(stream: &mut BufReader<TcpStream>) -> Self {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).unwrap_or(0) == 0 {
                break;
            }
            let line = line.trim_end().to_owned();
            if line.is_empty() {
                break;
            }
            head.push(line);
        }
        let status = head.first().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let mut reply = Self { status: status.unwrap_or(0), head, body: String::new() };
        reply.body = String::from_utf8(reply.read_body(stream)).unwrap();
        reply
    }

    fn read_body(&self, stream: &mut BufReader<TcpStream>) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(length) = self.header("content-length") {
            bytes.resize(length.parse().unwrap(), 0);
            let _ = stream.read_exact(&mut bytes);
        } else if self.header("transfer-encoding").is_some() {
            while let Some(chunk) = read_chunk(stream) {
                bytes.extend(chunk);
            }
        }
        bytes
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.iter().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Status, code and field of an error.
    pub fn error(&self) -> (u16, String, Option<String>) {
        let error = &self.json()["error"];
        let text = |key: &str| error[key].as_str().map(str::to_owned);
        (self.status, text("code").unwrap_or_default(), text("param"))
    }
}

/// The next chunk of a chunked body; `None` at its end.
pub fn read_chunk(stream: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let length = usize::from_str_radix(line.trim(), 16).ok()?;
    let mut bytes = vec![0; length + 2];
    stream.read_exact(&mut bytes).ok()?;
    bytes.truncate(length);
    (length > 0).then_some(bytes)
}
