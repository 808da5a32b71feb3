//! What the server promises about queues, streams, disconnections and ends, with a scripted model. No sleeps: whatever
//! must have happened is waited for by its own sign.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};

use common::{Reply, Server, config, mock, posted, read_chunk, text, waiting, with};
use mico_serve::mock::{Gate, Mock, Script, Step};

/// Waits until the metrics have a line; a server that never has it fails by the time limit of the harness.
fn await_metric(server: &Server, line: &str) {
    while !server.get("/metrics").body.lines().any(|found| found == line) {
        std::thread::yield_now();
    }
}

fn streaming(question: &str) -> String {
    posted("/v1/chat/completions", &with(&text(question), r#""stream":true"#))
}

/// Begins a stream and reads up to the first word.
fn first_word(server: &Server) -> BufReader<std::net::TcpStream> {
    let mut stream = server.connect();
    stream.write_all(streaming("wait").as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while line.trim() != "" || line.is_empty() {
        line.clear();
        reader.read_line(&mut line).unwrap();
    }
    let mut seen = String::new();
    while !seen.contains("first") {
        seen += &String::from_utf8(read_chunk(&mut reader).unwrap()).unwrap();
    }
    reader
}

#[test]
fn a_word_arrives_before_the_next_one_is_made() {
    let gate = Gate::default();
    let server = Server::start(waiting(&gate));
    let mut reader = first_word(&server);
    gate.open();
    let mut rest = String::new();
    while let Some(chunk) = read_chunk(&mut reader) {
        rest += &String::from_utf8(chunk).unwrap();
    }
    assert!(rest.contains(" last") && rest.ends_with("data: [DONE]\n\n"), "{rest}");
    assert!(server.join());
}

#[test]
fn a_client_that_leaves_ends_its_request() {
    let gate = Gate::default();
    let server = Server::start(waiting(&gate));
    let reader = first_word(&server);
    await_metric(&server, "mico_requests_running 1");
    drop(reader);
    await_metric(&server, "mico_requests_running 0");
    await_metric(&server, r#"mico_requests_finished_total{reason="cancelled"} 1"#);
    // The same for one that waits for a whole answer.
    let mut stream = server.connect();
    stream.write_all(posted("/v1/chat/completions", &text("wait")).as_bytes()).unwrap();
    await_metric(&server, "mico_requests_running 1");
    drop(stream);
    await_metric(&server, "mico_requests_running 0");
    await_metric(&server, r#"mico_requests_finished_total{reason="cancelled"} 2"#);
    assert!(server.join());
}

#[test]
fn beyond_the_queue_requests_are_refused_at_once_and_none_is_lost() {
    let gate = Gate::default();
    let server = Server::start(waiting(&gate).with_room(3, 2));
    let asked: Vec<_> = (0..5)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(posted("/v1/chat/completions", &text("wait")).as_bytes()).unwrap();
            stream
        })
        .collect();
    await_metric(&server, "mico_requests_waiting 3");
    for _ in 0..4 {
        let reply = server.chat(&text("wait"));
        assert_eq!(reply.error(), (429, "overloaded".to_owned(), None));
        assert_eq!(reply.header("retry-after"), Some("7"));
    }
    gate.open();
    for stream in asked {
        let reply = Reply::read(&mut BufReader::new(stream));
        assert_eq!(reply.json()["choices"][0]["message"]["content"], "first last");
    }
    await_metric(&server, r#"mico_requests_rejected_total{reason="overloaded"} 4"#);
    assert!(server.join());
}

#[test]
fn a_drain_finishes_what_runs_and_refuses_what_waits() {
    let gate = Gate::default();
    let mut server = Server::start(waiting(&gate).with_room(8, 3));
    let ask = |request: String| {
        let mut stream = server.connect();
        stream.write_all(request.as_bytes()).unwrap();
        BufReader::new(stream)
    };
    let whole = || posted("/v1/chat/completions", &text("wait"));
    let mut running: Vec<_> = (0..3).map(|_| ask(whole())).collect();
    await_metric(&server, "mico_requests_running 3");
    let mut waiting: Vec<_> = (0..4).map(|_| ask(whole())).collect();
    waiting.push(ask(streaming("wait")));
    await_metric(&server, "mico_requests_waiting 5");
    server.stop();
    for reader in &mut waiting {
        let reply = Reply::read(reader);
        assert_eq!(reply.error(), (503, "draining".to_owned(), None));
        assert_eq!(reply.header("retry-after"), Some("5"));
    }
    gate.open();
    for reader in &mut running {
        assert_eq!(Reply::read(reader).json()["choices"][0]["message"]["content"], "first last");
    }
    assert!(server.join());
}

#[test]
fn while_the_model_loads_health_is_good_and_requests_are_told_to_wait() {
    let server = Server::loading(config());
    server.app.set_progress(0.4);
    let ready = server.get("/ready");
    assert_eq!(
        (ready.status, ready.body.as_str()),
        (503, r#"{"status":"loading","progress":0.4}"#)
    );
    assert_eq!(ready.header("retry-after"), Some("5"));
    assert_eq!(server.get("/health").status, 200);
    assert_eq!(server.chat(&text("x")).error(), (503, "loading".to_owned(), None));
    server.app.set_backend(std::sync::Arc::new(mock()));
    assert_eq!(server.get("/ready").status, 200);
    assert_eq!(server.chat(&text("x")).status, 200);
}

#[test]
fn three_panics_in_a_minute_make_the_server_ill() {
    let server = Server::start(mock());
    for _ in 0..2 {
        assert_eq!(server.chat(&text("panic")).error(), (500, "internal_error".to_owned(), None));
        assert_eq!(server.get("/health").status, 200);
    }
    assert_eq!(server.chat(&text("what is this?")).status, 200);
    assert_eq!(server.chat(&text("panic")).status, 500);
    assert_eq!(server.get("/health").status, 503);
    assert!(server.get("/metrics").body.contains("mico_panics_total 3"));
}

#[test]
fn one_connection_serves_many_requests() {
    let server = Server::start(mock());
    let mut stream = server.connect();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    for _ in 0..3 {
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert_eq!(Reply::read(&mut reader).status, 200);
    }
}

#[test]
fn the_usual_counts_are_in_the_metrics() {
    let server = Server::start(mock());
    let image = common::about(&format!("data:image/bmp;base64,{}", common::PIXEL));
    assert_eq!(server.chat(&with(&image, r#""mico":{"budget":1}"#)).status, 200);
    let body = server.get("/metrics").body;
    for line in [
        "mico_prompt_tokens_total 5",
        "mico_generation_tokens_total 2",
        "mico_images_total 1",
        r#"mico_visual_tokens_total{stage="kept"} 1"#,
        r#"mico_requests_finished_total{reason="stop"} 1"#,
        r#"mico_encoder_cache_total{result="miss"} 1"#,
        r#"mico_http_requests_total{route="/v1/chat/completions",method="POST",status="200"} 1"#,
        "mico_time_to_first_token_seconds_count 1",
        "mico_budget_tokens_count 1",
        "mico_ready 1",
        "# EOF",
    ] {
        assert!(body.lines().any(|found| found == line), "{line} in\n{body}");
    }
}

#[test]
fn the_page_is_served_with_its_policy_or_not_at_all() {
    let server = Server::start(mock());
    for path in ["/", "/app.js", "/app.css", "/icon.svg"] {
        let reply = server.get(path);
        assert_eq!(reply.status, 200, "{path}");
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'self'; img-src 'self' data: blob:;"), "{policy}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
    }
    let mut config = config();
    config.playground = false;
    assert_eq!(Server::with(config, mock()).get("/").error().1, "not_found");
}

#[test]
fn pages_of_other_origins_read_answers_only_where_they_are_listed() {
    let mut config = config();
    config.cors_origins = vec!["https://good.example".to_owned()];
    let server = Server::with(config, mock());
    let ask = |method: &str, origin: &str| {
        let head = format!(
            "{method} /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\n\
             Access-Control-Request-Method: POST\r\nConnection: close\r\n\r\n"
        );
        server.raw(head.as_bytes())
    };
    let allowed = "access-control-allow-origin";
    assert_eq!(ask("GET", "https://good.example").header(allowed), Some("https://good.example"));
    assert_eq!(ask("GET", "https://evil.example").header(allowed), None);
    assert_eq!(ask("OPTIONS", "https://good.example").status, 204);
    let refused = ask("OPTIONS", "https://evil.example");
    assert_eq!((refused.status, refused.header(allowed)), (405, None));
}

#[test]
fn a_slow_reader_holds_up_nobody_else() {
    const LONG: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let steps = vec![Step::Say(LONG); 100_000];
    let long = Script { steps, ..Script::says(&[]) };
    let server = Server::start(Mock::default().answering("much", long));
    let mut slow = server.connect();
    slow.write_all(streaming("much").as_bytes()).unwrap();
    let mut first = [0; 12];
    slow.read_exact(&mut first).unwrap();
    assert_eq!(server.chat(&text("x")).status, 200);
    drop(slow);
    await_metric(&server, "mico_requests_running 0");
}

#[test]
fn the_description_of_the_api_is_the_committed_one() {
    let found = serde_json::to_string_pretty(&mico_serve::openapi::document()).unwrap() + "\n";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
    if std::env::var_os("MICO_BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(found == committed, "openapi.json is not that of the types; MICO_BLESS=1 writes it");
}
