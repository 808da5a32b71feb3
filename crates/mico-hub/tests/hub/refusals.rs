//! Hubs that say no, say nothing, or say something wrong.

use std::time::Duration;

use mico_hub::{HubError, HubOptions, Timeouts};
use tempfile::TempDir;

use crate::repo::FakeHub;
use crate::server::{Reply, Server};
use crate::{SHARD, downloads, fetch, leftovers, options, repo};

#[test]
fn what_is_missing_is_named_before_anything_is_downloaded() {
    for (file, named) in [
        ("config.json", "no config.json"),
        ("tokenizer.json", "no tokenizer.json"),
        ("model.safetensors.index.json", "no model.safetensors or model.safetensors.index.json"),
    ] {
        for lists_files in [true, false] {
            let mut hub = FakeHub::new();
            hub.lists_files = lists_files;
            hub.files.remove(file);
            let (server, cache) = (hub.serve(), TempDir::new().unwrap());
            let error = fetch("org/name", &options(&server, cache.path())).unwrap_err();
            assert!(matches!(error, HubError::MissingFile { .. }), "{error:?}");
            assert!(error.to_string().contains(named), "{error}");
            assert!(!lists_files || downloads(&server).is_empty());
        }
    }
    let mut hub = FakeHub::new();
    hub.files.remove(SHARD);
    let (server, cache) = (hub.serve(), TempDir::new().unwrap());
    let error = fetch("org/name", &options(&server, cache.path())).unwrap_err();
    assert!(error.to_string().contains(SHARD), "{error}");
}

#[test]
fn an_index_cannot_reach_outside() {
    let mut hub = FakeHub::new();
    let index = br#"{"weight_map": {"a": "../../../evil.safetensors"}}"#;
    hub.files.insert("model.safetensors.index.json".into(), index.to_vec());
    let (server, cache) = (hub.serve(), TempDir::new().unwrap());
    let error = fetch("org/name", &options(&server, cache.path())).unwrap_err();
    assert!(matches!(error, HubError::BadIndex { .. }), "{error:?}");
    assert!(!downloads(&server).iter().any(|path| path.contains("evil")));
}

/// The error of a server that answers everything alike.
fn refusal(reply: Reply) -> HubError {
    let server = Server::start(move |_| reply.clone());
    let cache = TempDir::new().unwrap();
    let error = fetch("org/name@v9", &options(&server, cache.path())).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&server.host()) && !text.contains('\n'), "{text}");
    assert!(!repo(&cache).exists(), "nothing is left behind");
    error
}

#[test]
fn refusals_say_what_they_mean() {
    let error = refusal(Reply::status(404));
    assert!(matches!(error, HubError::NotFound { .. }), "{error:?}");
    assert!(error.to_string().contains("org/name@v9"), "{error}");
    assert!(matches!(refusal(Reply::status(403)), HubError::Denied { status: 403, .. }));
    assert!(matches!(refusal(Reply::status(503)), HubError::Status { status: 503, .. }));
    for body in ["", "<html>", "{}", r#"{"sha": "main"}"#, r#"{"sha": "../../x"}"#] {
        let error = refusal(Reply::status(200).body(body));
        assert!(matches!(error, HubError::BadAnswer { .. }), "{error:?}");
    }
    let around = Reply::status(302).header("Location", "/api/models/org/name/revision/v9");
    assert!(refusal(around).to_string().contains("too many redirects"));
    let elsewhere = Reply::status(302).header("Location", "ftp://x/y");
    assert!(matches!(refusal(elsewhere), HubError::BadAnswer { .. }));
}

#[test]
fn hostile_headers_are_refused() {
    for etag in ["\"../../../x\"", "\"a/b\"", "\"\"", "\".hidden\""] {
        let hub = FakeHub::new();
        let server = Server::start(move |asked| match asked.method.as_str() {
            "HEAD" => Reply::status(200).header("ETag", etag).body("{}"),
            _ => hub.answer(asked),
        });
        let cache = TempDir::new().unwrap();
        let error = fetch("org/name", &options(&server, cache.path())).unwrap_err();
        assert!(error.to_string().contains("no usable ETag"), "{error}");
    }
    // More bytes than announced, in a file without checksum.
    let hub = FakeHub::new();
    let server = Server::start(move |asked| {
        let mut reply = hub.answer(asked);
        if asked.method == "GET" && asked.path.ends_with("/config.json") {
            reply.body = vec![b' '; 1000];
        }
        reply
    });
    let cache = TempDir::new().unwrap();
    let error = fetch("org/name", &options(&server, cache.path())).unwrap_err();
    assert!(matches!(error, HubError::Corrupt { .. }), "{error:?}");
    assert!(leftovers(&cache).is_empty());
}

#[test]
fn a_silent_server_does_not_hang_us() {
    let server = Server::start(|_| Reply { silent: true, ..Reply::default() });
    let cache = TempDir::new().unwrap();
    let short = Duration::from_millis(100);
    let timeouts = Timeouts { connect: short, response: short, read: short };
    let error = fetch("org/name", &options(&server, cache.path()).with_timeouts(timeouts));
    let error = error.unwrap_err();
    assert!(matches!(error, HubError::Network { .. }), "{error:?}");
    assert!(error.to_string().contains("timeout"), "{error}");
    assert!(error.to_string().starts_with("cannot fetch org/name"), "{error}");
}

#[test]
fn a_sign_of_life_is_any_answer_of_the_endpoint() {
    let server = Server::start(|_| Reply::status(503));
    let cache = TempDir::new().unwrap();
    let options = options(&server, cache.path()).with_token("hf_secret").unwrap();
    assert!(mico_hub::probe(&options).is_ok());
    let asked = server.take_log();
    assert_eq!((asked.len(), asked[0].method.as_str()), (1, "HEAD"));
    drop(server);
    let error = mico_hub::probe(&options).unwrap_err();
    assert!(matches!(error, HubError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("cannot be reached: "), "{error}");
}

#[test]
fn unusable_certificates_are_named() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("authorities.pem");
    let ask = || {
        let vars = |name: &str| match name {
            "HF_HOME" => Some(folder.path().to_str()?.to_owned()),
            "SSL_CERT_FILE" => Some(file.to_str()?.to_owned()),
            _ => None,
        };
        fetch("org/name", &HubOptions::from_vars(vars).unwrap()).unwrap_err()
    };
    let error = ask();
    assert!(matches!(&error, HubError::Io { path, .. } if *path == file), "{error:?}");
    std::fs::write(&file, "no certificate").unwrap();
    let error = ask().to_string();
    assert!(
        error.starts_with("SSL_CERT_FILE is `") && error.contains("authorities.pem"),
        "{error}"
    );
}
