//! Fetching from a hub that a server on this machine plays.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicUsize;

use mico_hub::{Event, HubError, ModelRef, resolve};
use tempfile::TempDir;

use crate::repo::{COMMIT, FakeHub, sha256};
use crate::server::{Reply, Server};
use crate::{SHARD, downloads, fetch, leftovers, options, repo};

#[test]
fn a_model_is_fetched_once_and_laid_out_as_the_hubs_tools_do() {
    let files = FakeHub::new().files;
    let (server, cache) = (FakeHub::new().serve(), TempDir::new().unwrap());
    let options = options(&server, cache.path());
    let folder = fetch("org/name", &options).unwrap();
    assert_eq!(folder, repo(&cache).join("snapshots").join(COMMIT));
    assert_eq!(fs::read_to_string(repo(&cache).join("refs/main")).unwrap(), COMMIT);

    for (file, bytes) in files.iter().filter(|(file, _)| *file != "README.md") {
        let etag = FakeHub::etag(file, bytes);
        assert_eq!(&fs::read(folder.join(file)).unwrap(), bytes, "{file}");
        assert_eq!(&fs::read(repo(&cache).join("blobs").join(&etag)).unwrap(), bytes, "{file}");
        if cfg!(unix) {
            let link = fs::read_link(folder.join(file)).unwrap();
            assert_eq!(link, Path::new("../../blobs").join(etag), "{file}");
        }
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), files.len() - 1, "only what is needed");
    assert!(leftovers(&cache).is_empty());

    let log = server.take_log();
    assert_eq!(log.iter().filter(|asked| asked.path.starts_with("/api/")).count(), 1);
    let gets =
        |path: &str| log.iter().filter(|a| a.method == "GET" && a.path.ends_with(path)).count();
    assert!(files.keys().filter(|f| *f != "README.md").all(|f| gets(&format!("/{f}")) == 1));

    assert_eq!(fetch("org/name", &options).unwrap(), folder);
    let again = server.take_log();
    assert_eq!(again.len(), 1, "one question about the revision: {again:?}");
    assert_eq!(again[0].path, "/api/models/org/name/revision/main");

    assert_eq!(fetch("org/name", &options.clone().with_offline(true)).unwrap(), folder);
    assert_eq!(fetch("org/name@refs/pr/1", &options).unwrap(), folder);
    let log = server.take_log();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0].path, "/api/models/org/name/revision/refs%2Fpr%2F1");
    assert_eq!(fs::read_to_string(repo(&cache).join("refs/refs/pr/1")).unwrap(), COMMIT);
}

#[test]
fn a_hub_that_lists_no_files_is_asked_for_each() {
    let mut hub = FakeHub::new();
    hub.lists_files = false;
    let (server, cache) = (hub.serve(), TempDir::new().unwrap());
    let options = options(&server, cache.path());
    let folder = fetch("org/name", &options).unwrap();
    assert!(folder.join("chat_template.jinja").is_file());
    assert!(!folder.join("chat_template.json").exists());
    server.take_log();
    fetch("org/name", &options).unwrap();
    assert!(downloads(&server).is_empty());
}

#[test]
fn one_weight_file_is_preferred_to_an_index() {
    let mut hub = FakeHub::new();
    hub.files.insert("model.safetensors".into(), vec![1; 100]);
    let (server, cache) = (hub.serve(), TempDir::new().unwrap());
    let folder = fetch("org/name", &options(&server, cache.path())).unwrap();
    assert!(folder.join("model.safetensors").is_file());
    assert!(!folder.join(SHARD).exists());
}

#[test]
fn only_the_hub_sees_the_token() {
    let store = FakeHub::new().serve();
    let mut hub = FakeHub::new();
    hub.store = store.url();
    hub.token = Some("Bearer hf_secret".into());
    let (server, cache) = (hub.serve(), TempDir::new().unwrap());
    let options = options(&server, cache.path());

    let error = fetch("org/name", &options).unwrap_err();
    assert!(matches!(error, HubError::Denied { status: 401, .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("org/name@main") && text.contains("HF_TOKEN"), "{text}");
    assert!(!text.contains('\n'));

    fetch("org/name", &options.with_token("hf_secret").unwrap()).unwrap();
    let (asked, stored) = (server.take_log(), store.take_log());
    assert!(asked.iter().skip(1).all(|a| a.token.as_deref() == Some("Bearer hf_secret")));
    assert_eq!(stored.len(), 2, "both shards come from the other server");
    assert!(stored.iter().all(|a| a.token.is_none()), "{stored:?}");
}

#[test]
fn redirects_within_the_hub_are_followed() {
    let hub = FakeHub::new();
    let server = Server::start(move |asked| {
        // The repository was renamed, and small files are answered from a cache of the hub's own.
        if let Some(rest) = asked.path.strip_prefix("/api/models/org/old/") {
            return Reply::status(307).header("Location", format!("/api/models/org/name/{rest}"));
        }
        if let Some(rest) = asked.path.strip_prefix("/org/old/") {
            return Reply::status(307).header("Location", format!("/org/name/{rest}"));
        }
        hub.answer(asked)
    });
    let cache = TempDir::new().unwrap();
    let folder =
        fetch("org/old", &options(&server, cache.path()).with_token("t").unwrap()).unwrap();
    assert!(folder.starts_with(cache.path().join("models--org--old")));
    for (file, bytes) in FakeHub::new().files.iter().filter(|(file, _)| *file != "README.md") {
        assert_eq!(&fs::read(folder.join(file)).unwrap(), bytes, "{file}");
    }
    assert!(server.take_log().iter().all(|asked| asked.token.as_deref() == Some("Bearer t")));
}

#[test]
fn a_broken_transfer_continues_where_it_stopped() {
    let mut hub = FakeHub::new();
    hub.breaks = AtomicUsize::new(2);
    let whole = hub.files[SHARD].clone();
    let (server, cache) = (hub.serve(), TempDir::new().unwrap());
    let folder = fetch("org/name", &options(&server, cache.path())).unwrap();
    assert_eq!(fs::read(folder.join(SHARD)).unwrap(), whole);
    let log = server.take_log();
    let of_shard = log.iter().filter(|asked| asked.path.ends_with(&sha256(&whole)));
    let from: Vec<_> = of_shard.map(|asked| asked.from).collect();
    assert_eq!(from, [None, Some(45_000), Some(67_500)]);
}

#[test]
fn a_server_that_starts_over_is_followed() {
    let mut hub = FakeHub::new();
    hub.breaks = AtomicUsize::new(1);
    hub.starts_over = true;
    let whole = hub.files[SHARD].clone();
    let (server, cache) = (hub.serve(), TempDir::new().unwrap());
    let folder = fetch("org/name", &options(&server, cache.path())).unwrap();
    assert_eq!(fs::read(folder.join(SHARD)).unwrap(), whole);
}

#[test]
fn a_later_run_continues_an_earlier_one() {
    let mut hub = FakeHub::new();
    hub.breaks = AtomicUsize::new(5);
    let whole = hub.files[SHARD].clone();
    let etag = sha256(&whole);
    let (server, cache) = (hub.serve(), TempDir::new().unwrap());
    let options = options(&server, cache.path());
    let error = fetch("org/name", &options).unwrap_err();
    assert!(matches!(error, HubError::Network { .. }), "{error:?}");
    assert!(error.to_string().contains(&server.host()), "{error}");
    assert_eq!(leftovers(&cache), [format!("{etag}.incomplete")]);
    let kept = fs::metadata(repo(&cache).join(format!("blobs/{etag}.incomplete"))).unwrap().len();
    assert!(kept > 80_000 && kept < 90_000, "{kept}");
    assert!(!repo(&cache).join("refs/main").exists(), "an incomplete snapshot has no reference");
    let error = fetch("org/name", &options.clone().with_offline(true)).unwrap_err();
    assert!(matches!(error, HubError::NotCached { .. }), "{error:?}");

    server.take_log();
    let mut resumed = None;
    let model = ModelRef::parse("org/name").unwrap();
    let folder = resolve(&model, &options, &mut |event| {
        if let Event::Started { file: SHARD, resumed: from, .. } = event {
            resumed = Some(from);
        }
    });
    assert_eq!(fs::read(folder.unwrap().join(SHARD)).unwrap(), whole);
    assert_eq!(resumed, Some(kept));
    assert!(server.take_log().iter().any(|asked| asked.from == Some(kept)));
    assert!(leftovers(&cache).is_empty());
}

#[test]
fn damaged_leftovers_are_not_trusted() {
    let hub = FakeHub::new();
    let whole = hub.files[SHARD].clone();
    let etag = sha256(&whole);
    let server = hub.serve();
    for left in [vec![9; 50], vec![0; 90_000], vec![0; 90_001], whole.clone(), Vec::new()] {
        let cache = TempDir::new().unwrap();
        let blobs = repo(&cache).join("blobs");
        fs::create_dir_all(&blobs).unwrap();
        fs::write(blobs.join(format!("{etag}.incomplete")), &left).unwrap();
        // A blob of the wrong length is replaced, too.
        fs::write(blobs.join(&etag), b"short").unwrap();
        let folder = fetch("org/name", &options(&server, cache.path())).unwrap();
        assert_eq!(fs::read(folder.join(SHARD)).unwrap(), whole, "{} left", left.len());
        assert!(leftovers(&cache).is_empty());
    }
}

#[test]
fn wrong_content_is_refused_and_removed() {
    let mut hub = FakeHub::new();
    hub.lies = true;
    let (server, cache) = (hub.serve(), TempDir::new().unwrap());
    let error = fetch("org/name", &options(&server, cache.path())).unwrap_err();
    assert!(matches!(error, HubError::Corrupt { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(SHARD) && text.contains("SHA-256"), "{text}");
    assert!(leftovers(&cache).is_empty());
    assert!(!repo(&cache).join("snapshots").join(COMMIT).join(SHARD).exists());
}

#[test]
fn a_complete_copy_helps_out_when_the_hub_is_down() {
    let cache = TempDir::new().unwrap();
    let server = FakeHub::new().serve();
    let options = options(&server, cache.path());
    let folder = fetch("org/name", &options).unwrap();
    let host = server.host();
    drop(server);

    let mut events = Vec::new();
    let model = ModelRef::parse("org/name").unwrap();
    let again = resolve(&model, &options, &mut |event| events.push(format!("{event:?}"))).unwrap();
    assert_eq!(again, folder);
    assert!(events.len() == 1 && events[0].starts_with("Unreachable"), "{events:?}");

    fs::remove_file(folder.join("tokenizer.json")).unwrap();
    let error = fetch("org/name", &options).unwrap_err();
    assert!(matches!(error, HubError::Network { .. }), "{error:?}");
    assert!(error.to_string().contains(&host), "{error}");
}

#[test]
fn several_at_once_do_not_disturb_each_other() {
    let files = FakeHub::new().files;
    let (server, cache) = (FakeHub::new().serve(), TempDir::new().unwrap());
    let options = options(&server, cache.path());
    let folders: Vec<_> = std::thread::scope(|scope| {
        let run = || fetch("org/name", &options).unwrap();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(folders.iter().all(|folder| *folder == folders[0]));
    for (file, bytes) in files.iter().filter(|(file, _)| *file != "README.md") {
        assert_eq!(&fs::read(folders[0].join(file)).unwrap(), bytes, "{file}");
    }
    assert!(leftovers(&cache).is_empty());
    let mut got = downloads(&server);
    let asked = got.len();
    got.sort();
    got.dedup();
    assert_eq!(got.len(), asked, "nothing is downloaded twice");
}
