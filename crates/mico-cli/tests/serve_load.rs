//! The server as a process, under more load than it takes, and when it ends in the middle of it.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common {
    pub(crate) mod proxy;
    pub(crate) mod served;
}

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::proxy::proxy;
use common::served::{
    Answering, EXAMPLES, QUESTION, Served, answer, body, endless, post, read, sent,
};
use serde_json::{Value, json};

/// Tokens of an answer that goes on for long enough.
const LONG: usize = 1000;
/// Clients that send garbage.
const VANDALS: usize = 200;

/// What the command itself answers under a budget.
fn own(flags: &[&str]) -> String {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("mico"));
    let picture = format!("{EXAMPLES}/shapes.png");
    let output = command
        .args(["run", "--image", &picture, QUESTION, "--json"])
        .args(flags)
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    told["answer"].as_str().unwrap().to_owned()
}

fn long() -> String {
    own(&["--budget", "128", "--method", "visionzip", "--max-new-tokens", &LONG.to_string()])
}

fn pruned() -> Value {
    json!({ "mico": { "budget": 64 } })
}

#[test]
fn under_overload_the_accepted_finish_and_the_others_are_told_at_once() {
    let served = Served::start(&["--max-sequences", "1", "--max-queue", "2"]);
    let mut accepted = vec![served.running(&endless(LONG))];
    accepted.extend((0..2).map(|_| Answering::of(served.begin(&endless(LONG)))));
    served.until_metric("mico_requests_waiting 2");
    for _ in 0..20 {
        let (status, head, body) = served.ask(&pruned());
        assert_eq!(status, 429, "{body}");
        assert!(head.contains("\r\nretry-after: "), "{head}");
        assert!(body.contains(r#""code":"overloaded""#), "{body}");
    }
    // They were told before any of the accepted had ended.
    assert!(served.get("/metrics").1.lines().any(|line| line == "mico_requests_waiting 2"));
    let expected = long();
    for answering in accepted {
        assert_eq!(answering.whole(), expected);
    }
    served.until_metric("mico_kv_bytes 0");
    served.until_metric(r#"mico_requests_rejected_total{reason="overloaded"} 20"#);
}

#[test]
fn a_burst_ends_in_answers_and_refusals_and_nothing_else() {
    let served = Served::start(&["--max-sequences", "2", "--max-queue", "4"]);
    let expected = own(&["--budget", "64"]);
    let burst: Vec<_> = (0..60).map(|_| served.begin(&pruned())).collect();
    let (mut answered, mut refused) = (0, 0);
    for stream in burst {
        match read(stream) {
            (200, _, body) => {
                assert_eq!(answer(&body), expected);
                answered += 1;
            }
            (429, head, _) => {
                assert!(head.contains("\r\nretry-after: "), "{head}");
                refused += 1;
            }
            other => panic!("neither answered nor refused: {other:?}"),
        }
    }
    // The queue was empty, so at least its four places were given away; what leaves it for the engine makes room for more.
    assert!(answered >= 4, "{answered} answered, {refused} refused");
    assert_eq!(served.ask(&pruned()).0, 200);
}

/// What such a client sends, and whether the server is expected to close the connection by itself.
fn garbage(number: usize) -> (&'static [u8], bool) {
    const HALF: &[u8] = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n\
        Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{";
    const NO_JSON: &[u8] = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n\
        Content-Type: application/json\r\nContent-Length: 5\r\nConnection: close\r\n\r\n{{]\0\xff";
    match number % 6 {
        0 => (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", true),
        1 => (NO_JSON, true),
        2 => (b"GET /%00/../..//v1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", true),
        3 => (b"GET / HTTP/1.1\r\nHost: loc", false),
        4 => (HALF, false),
        _ => (b"", false),
    }
}

/// Sends garbage again and again until told to stop; whoever sends half of something holds its connection as well.
fn vandal(port: u16, number: usize, stop: &AtomicBool, sent: &AtomicUsize) {
    let (bytes, closed) = garbage(number);
    let mut held = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        // The server may have closed it already.
        let _ = stream.write_all(bytes);
        sent.fetch_add(1, Ordering::Relaxed);
        if closed {
            let _ = stream.read_to_end(&mut Vec::new());
        } else {
            held.truncate(1);
            held.push(stream);
        }
    }
}

#[test]
fn two_hundred_that_send_garbage_do_not_disturb_the_others() {
    let served = Served::start(&[]);
    let expected = own(&["--budget", "64"]);
    let (stop, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for number in 0..VANDALS {
            let (stop, sent) = (&stop, &sent);
            scope.spawn(move || vandal(served.port, number, stop, sent));
        }
        while sent.load(Ordering::Relaxed) < VANDALS {
            std::thread::yield_now();
        }
        let asked: Vec<_> = (0..10).map(|_| served.ask(&pruned())).collect();
        stop.store(true, Ordering::Relaxed);
        for (status, _, body) in asked {
            assert_eq!((status, answer(&body)), (200, expected.clone()));
        }
    });
    assert_eq!(served.get("/health").0, 200);
    served.until_metric("mico_panics_total 0");
}

#[test]
fn terminated_under_load_it_finishes_what_runs_and_tells_the_rest() {
    let mut served = Served::start(&["--max-sequences", "3"]);
    let running: Vec<_> = (0..3).map(|_| served.running(&endless(LONG))).collect();
    let waiting: Vec<_> = (0..5).map(|_| served.begin(&pruned())).collect();
    served.until_metric("mico_requests_waiting 5");
    served.terminate();
    for stream in waiting {
        let (status, head, body) = read(stream);
        assert_eq!(status, 503, "{body}");
        assert!(body.contains(r#""code":"draining""#), "{body}");
        assert!(head.contains("\r\nretry-after: "), "{head}");
    }
    let expected = long();
    for answering in running {
        assert_eq!(answering.whole(), expected);
    }
    assert!(served.ended().success());
    assert!(TcpStream::connect(("127.0.0.1", served.port)).is_err());
}

#[test]
fn killed_under_load_it_leaves_nothing_and_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let start = |port: &str| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("mico"));
        for name in ["HOME", "TMPDIR", "XDG_CACHE_HOME"] {
            command.env(name, folder.path());
        }
        Served::of(command.current_dir(folder.path()).args(["serve", "--port", port]))
    };
    let mut served = start("0");
    let answering = served.running(&endless(LONG));
    served.child.kill().unwrap();
    assert!(!served.ended().success());
    drop(answering);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let again = start(&served.port.to_string());
    assert_eq!(again.ask(&json!({})).0, 200);
}

#[test]
fn the_socket_file_of_a_killed_server_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mico.sock");
    let command = || {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("mico"));
        command.args(["serve", "--unix-socket"]).arg(&path);
        command
    };
    let health = || {
        let mut stream = loop {
            match UnixStream::connect(&path) {
                Ok(stream) => break stream,
                Err(_) => std::thread::yield_now(),
            }
        };
        stream.write_all(&get_health()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    for _ in 0..2 {
        let mut child = command().stderr(std::process::Stdio::null()).spawn().unwrap();
        assert!(health().starts_with("HTTP/1.1 200 "));
        // A socket that is listened on is not taken away from its server.
        let second = command().output().unwrap();
        assert!(!second.status.success() && health().starts_with("HTTP/1.1 200 "));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(path.exists());
    }
}

fn get_health() -> Vec<u8> {
    b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_vec()
}

#[test]
fn two_behind_a_proxy_survive_the_loss_of_one() {
    let (mut one, two) = (Served::start(&[]), Served::start(&[]));
    let port = proxy([one.port, two.port]);
    let expected = own(&["--budget", "64"]);
    let request = post(&body(&pruned()));
    let ask = |count| (0..count).map(|_| sent(port, &request)).collect::<Vec<_>>();
    let before = ask(6);
    one.child.kill().unwrap();
    for stream in before.into_iter().chain(ask(6)) {
        let (status, _, body) = read(stream);
        assert_eq!((status, answer(&body)), (200, expected.clone()));
    }
}
