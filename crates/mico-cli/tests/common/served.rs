//! A server process, and requests to it, for tests only.
#![allow(dead_code, reason = "not every test file asks everything")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
pub(crate) const QUESTION: &str = "What letter is on the purple circle?";

/// A pruning under which the embedded model goes on until it is stopped: an answer that takes long.
pub(crate) fn endless(max_tokens: usize) -> Value {
    json!({ "max_tokens": max_tokens, "stream": true, "mico": { "budget": 128, "method": "visionzip" } })
}

/// A request about an example picture, with further fields.
pub(crate) fn body(fields: &Value) -> String {
    let url = format!("file://{}/shapes.png", std::fs::canonicalize(EXAMPLES).unwrap().display());
    let content = json!([
        { "type": "image_url", "image_url": { "url": url } },
        { "type": "text", "text": QUESTION },
    ]);
    let mut body = json!({ "messages": [{ "role": "user", "content": content }] });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body.to_string()
}

/// `mico serve` on a port of its own; killed when it is dropped.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) port: u16,
}

impl Served {
    pub(crate) fn start(flags: &[&str]) -> Self {
        Self::of(
            Command::new(assert_cmd::cargo::cargo_bin("mico"))
                .args(["serve", "--port", "0"])
                .args(flags),
        )
    }

    /// Starts a prepared call, and waits until requests are accepted.
    pub(crate) fn of(command: &mut Command) -> Self {
        for (name, _) in std::env::vars() {
            if name.starts_with("MICO_") || name.starts_with("HF_") {
                command.env_remove(name);
            }
        }
        let command = command.args(["--media-root", EXAMPLES]).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let port = lines.by_ref().find_map(|line| {
            let line = line.unwrap();
            line.strip_prefix("listening on http://127.0.0.1:").map(|port| port.parse().unwrap())
        });
        // A pipe that nobody reads would stop the server once it is full.
        std::thread::spawn(move || lines.for_each(drop));
        let served = Self { child, port: port.unwrap() };
        served.until(|served| served.get("/ready").0 == 200);
        served
    }

    /// Asks again and again; a server that never gets there fails the test by its runner's limit.
    pub(crate) fn until(&self, reached: impl Fn(&Self) -> bool) {
        while !reached(self) {
            std::thread::yield_now();
        }
    }

    pub(crate) fn until_metric(&self, line: &str) {
        self.until(|served| served.get("/metrics").1.lines().any(|told| told == line));
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let (status, _, body) = read(sent(self.port, &head));
        (status, body)
    }

    pub(crate) fn begin(&self, fields: &Value) -> TcpStream {
        sent(self.port, &post(&body(fields)))
    }

    pub(crate) fn ask(&self, fields: &Value) -> (u16, String, String) {
        read(self.begin(fields))
    }

    /// Begins a stream and reads to its first word, so that the request is known to run.
    pub(crate) fn running(&self, fields: &Value) -> Answering {
        let mut answering = Answering::of(self.begin(fields));
        while answering.text.is_empty() {
            assert!(answering.next(), "closed before the first word");
        }
        answering
    }

    pub(crate) fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }

    pub(crate) fn ended(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn post(body: &str) -> String {
    let length = body.len();
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

pub(crate) fn sent(port: u16, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(2))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Status, head and body of a response on a connection that is closed after it.
pub(crate) fn read(mut stream: TcpStream) -> (u16, String, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), head.to_ascii_lowercase(), body.to_owned())
}

/// The answer in a body that is not streamed.
pub(crate) fn answer(body: &str) -> String {
    let told: Value = serde_json::from_str(body).unwrap();
    told["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}

/// A streamed answer on its way.
pub(crate) struct Answering {
    stream: BufReader<TcpStream>,
    pub(crate) text: String,
    done: bool,
}

impl Answering {
    pub(crate) fn of(stream: TcpStream) -> Self {
        Self { stream: BufReader::new(stream), text: String::new(), done: false }
    }

    /// Reads one more line; whether there was one.
    fn next(&mut self) -> bool {
        let mut line = String::new();
        if self.stream.read_line(&mut line).unwrap() == 0 {
            return false;
        }
        let Some(data) = line.trim_end().strip_prefix("data: ") else { return true };
        if data == "[DONE]" {
            self.done = true;
        } else {
            let chunk: Value = serde_json::from_str(data).unwrap();
            assert!(chunk.get("error").is_none(), "{chunk}");
            self.text += chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default();
        }
        true
    }

    /// The whole answer of a stream that must have its end.
    pub(crate) fn whole(mut self) -> String {
        while self.next() {}
        assert!(self.done, "the stream broke off after {:?}", self.text);
        self.text
    }
}
