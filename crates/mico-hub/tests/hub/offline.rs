//! The model cache without a network: laid out by hand, read offline, and the settings behind it.

use std::fs;
use std::path::{Path, PathBuf};

use mico_hub::{HubError, HubOptions, ModelRef, resolve};
use tempfile::TempDir;

const COMMIT: &str = "89abcdef0123456789abcdef0123456789abcdef";
const FILES: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];

struct Cache {
    root: TempDir,
}

impl Cache {
    /// `models--org--name` with these files in one snapshot, as the hub's own tools lay it out.
    fn with(files: &[(&str, &str)], revision: Option<&str>) -> Self {
        let root = TempDir::new().unwrap();
        let repo = root.path().join("models--org--name");
        let snapshot = repo.join("snapshots").join(COMMIT);
        fs::create_dir_all(repo.join("blobs")).unwrap();
        fs::create_dir_all(&snapshot).unwrap();
        for (n, (file, text)) in files.iter().enumerate() {
            let blob = repo.join("blobs").join(format!("{n:040x}"));
            fs::write(&blob, text).unwrap();
            link(&blob, &format!("../../blobs/{n:040x}"), &snapshot.join(file));
        }
        if let Some(revision) = revision {
            let path = repo.join("refs").join(revision);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, COMMIT).unwrap();
        }
        Self { root }
    }

    fn complete(revision: Option<&str>) -> Self {
        Self::with(&FILES.map(|file| (file, "{}")), revision)
    }

    fn resolve(&self, model: &str) -> Result<PathBuf, HubError> {
        let options = HubOptions::new(self.root.path()).with_offline(true);
        let quiet = &mut |event: mico_hub::Event<'_>| panic!("offline: {event:?}");
        resolve(&ModelRef::parse(model).unwrap(), &options, quiet)
    }

    fn snapshot(&self) -> PathBuf {
        self.root.path().join("models--org--name").join("snapshots").join(COMMIT)
    }
}

#[cfg(unix)]
fn link(_blob: &Path, target: &str, path: &Path) {
    std::os::unix::fs::symlink(target, path).unwrap();
}

#[cfg(not(unix))]
fn link(blob: &Path, _target: &str, path: &Path) {
    fs::copy(blob, path).unwrap();
}

#[track_caller]
fn assert_missing(result: Result<PathBuf, HubError>, cache: &Cache, expected: &str) {
    let error = result.unwrap_err();
    assert!(matches!(error, HubError::NotCached { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("org/name@"), "{text}");
    assert!(text.contains(&format!("`{expected}`")), "{text}");
    assert!(text.contains(&cache.root.path().display().to_string()), "{text}");
    assert!(!text.contains('\n'), "{text}");
}

#[test]
fn a_folder_is_itself() {
    let folder = TempDir::new().unwrap();
    let model = ModelRef::parse(folder.path().to_str().unwrap()).unwrap();
    assert_eq!(model, ModelRef::Folder(folder.path().to_path_buf()));
    let options = HubOptions::new("/nonexistent").with_offline(true);
    assert_eq!(resolve(&model, &options, &mut |_| {}).unwrap(), folder.path());

    let file = folder.path().join("config.json");
    fs::write(&file, "{}").unwrap();
    let error = ModelRef::parse(file.to_str().unwrap()).unwrap_err();
    assert!(error.to_string().contains("a file, not a folder"), "{error}");
}

#[test]
fn a_cached_revision_needs_no_network() {
    let cache = Cache::complete(Some("main"));
    assert_eq!(cache.resolve("org/name").unwrap(), cache.snapshot());
    assert_eq!(cache.resolve("org/name@main").unwrap(), cache.snapshot());
    assert_eq!(cache.resolve(&format!("org/name@{COMMIT}")).unwrap(), cache.snapshot());
    assert_missing(cache.resolve("org/name@v2"), &cache, "models--org--name/refs/v2");

    let cache = Cache::complete(Some("refs/pr/7"));
    assert_eq!(cache.resolve("org/name@refs/pr/7").unwrap(), cache.snapshot());
}

#[test]
fn without_a_reference_only_the_commit_finds_it() {
    let cache = Cache::complete(None);
    assert_eq!(cache.resolve(&format!("org/name@{COMMIT}")).unwrap(), cache.snapshot());
    assert_missing(cache.resolve("org/name"), &cache, "models--org--name/refs/main");
}

#[test]
fn a_damaged_reference_is_no_reference() {
    for text in ["", "main", "../../../../etc", &COMMIT[..39], &"f".repeat(1000)] {
        let cache = Cache::complete(None);
        let refs = cache.root.path().join("models--org--name/refs");
        fs::create_dir_all(&refs).unwrap();
        fs::write(refs.join("main"), text).unwrap();
        assert_missing(cache.resolve("org/name"), &cache, "models--org--name/refs/main");
    }
}

#[test]
fn every_missing_file_is_named() {
    for absent in FILES {
        let files: Vec<_> = FILES.iter().filter(|f| **f != absent).map(|f| (*f, "{}")).collect();
        let cache = Cache::with(&files, Some("main"));
        assert_missing(cache.resolve("org/name"), &cache, absent);
    }
    // A link whose blob is gone counts as missing.
    let cache = Cache::complete(Some("main"));
    fs::remove_file(cache.root.path().join(format!("models--org--name/blobs/{:040x}", 1))).ok();
    if cfg!(unix) {
        assert_missing(cache.resolve("org/name"), &cache, "tokenizer.json");
    }
}

#[test]
fn shards_are_checked_one_by_one() {
    let with_index = |index: &str, shards: &[&str]| {
        let mut files = vec![("config.json", "{}"), ("tokenizer.json", "{}")];
        files.push(("model.safetensors.index.json", index));
        files.extend(shards.iter().map(|shard| (*shard, "x")));
        Cache::with(&files, Some("main"))
    };
    let index = r#"{"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}}"#;
    let cache = with_index(index, &["m-1.safetensors", "m-2.safetensors"]);
    assert_eq!(cache.resolve("org/name").unwrap(), cache.snapshot());
    let cache = with_index(index, &["m-1.safetensors"]);
    assert_missing(cache.resolve("org/name"), &cache, "m-2.safetensors");

    for (index, reason) in [
        ("{", "not JSON"),
        ("{}", "`weight_map` is missing"),
        (r#"{"weight_map": {}}"#, "empty"),
        (r#"{"weight_map": {"a": 1}}"#, "`weight_map.a` is 1"),
        (r#"{"weight_map": {"a": "../x.safetensors"}}"#, "only plain names"),
        (r#"{"weight_map": {"a": "/x.safetensors"}}"#, "only plain names"),
        (r#"{"weight_map": {"a": "b\\x.safetensors"}}"#, "only plain names"),
        (r#"{"weight_map": {"a": "x.bin"}}"#, "only plain names"),
        (r#"{"weight_map": {"a": ".safetensors"}}"#, "only plain names"),
        (r#"{"weight_map": {"a": "x?y.safetensors"}}"#, "only plain names"),
    ] {
        let error = with_index(index, &[]).resolve("org/name").unwrap_err();
        assert!(matches!(error, HubError::BadIndex { .. }), "{error:?}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

fn from(vars: &[(&str, &str)]) -> Result<HubOptions, HubError> {
    HubOptions::from_vars(|name| {
        vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn the_cache_folder_follows_the_usual_variables() {
    let cache = |vars| from(vars).unwrap().cache().to_str().unwrap().replace('\\', "/");
    assert_eq!(cache(&[("HOME", "/h")]), "/h/.cache/huggingface/hub");
    assert_eq!(cache(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]), "/x/huggingface/hub");
    assert_eq!(cache(&[("HOME", "/h"), ("HF_HOME", "/hf")]), "/hf/hub");
    assert_eq!(cache(&[("HOME", "/h"), ("HF_HOME", "~/hf")]), "/h/hf/hub");
    assert_eq!(cache(&[("HF_HUB_CACHE", "/c"), ("HF_HOME", "/hf")]), "/c");
    assert_eq!(cache(&[("HF_HUB_CACHE", ""), ("HF_HOME", "/hf")]), "/hf/hub");
    assert!(matches!(from(&[]), Err(HubError::NoCacheFolder)));
}

#[test]
fn offline_is_read_as_the_hubs_tools_read_it() {
    for yes in ["1", "true", "TRUE", "Yes", "on", " ON "] {
        assert!(from(&[("HOME", "/h"), ("HF_HUB_OFFLINE", yes)]).unwrap().is_offline(), "{yes}");
    }
    for no in ["0", "false", "", "off", "no", "2"] {
        assert!(!from(&[("HOME", "/h"), ("HF_HUB_OFFLINE", no)]).unwrap().is_offline(), "{no}");
    }
    assert!(from(&[("HOME", "/h"), ("TRANSFORMERS_OFFLINE", "1")]).unwrap().is_offline());
}

#[test]
fn the_endpoint_is_taken_or_refused() {
    assert_eq!(from(&[("HOME", "/h")]).unwrap().endpoint(), "https://huggingface.co");
    let vars = [("HOME", "/h"), ("HF_ENDPOINT", "http://mirror:81/hf/")];
    assert_eq!(from(&vars).unwrap().endpoint(), "http://mirror:81/hf");
    let error = from(&[("HOME", "/h"), ("HF_ENDPOINT", "mirror")]).unwrap_err();
    assert!(error.to_string().starts_with("HF_ENDPOINT is `mirror`; accepted: "), "{error}");
}

#[test]
fn tokens_never_show() {
    let home = TempDir::new().unwrap();
    let home_path = home.path().to_str().unwrap();
    let options = from(&[("HF_HOME", home_path), ("HF_TOKEN", "hf_verysecret\n")]).unwrap();
    let debug = format!("{options:?}");
    assert!(debug.contains("Token(hidden)") && !debug.contains("secret"), "{debug}");

    assert!(format!("{:?}", from(&[("HF_HOME", home_path)]).unwrap()).contains("token: None"));
    fs::write(home.path().join("token"), "hf_fromfile\n").unwrap();
    let debug = format!("{:?}", from(&[("HF_HOME", home_path)]).unwrap());
    assert!(debug.contains("Token(hidden)"), "{debug}");

    for error in [
        from(&[("HF_HOME", home_path), ("HF_TOKEN", "very secret")]).unwrap_err(),
        from(&[("HF_HOME", home_path), ("HF_TOKEN", "secret\r\nX: y")]).unwrap_err(),
        HubOptions::new("/c").with_token("sécret").unwrap_err(),
    ] {
        assert!(matches!(error, HubError::InvalidToken { .. }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("cret"), "{error:?}");
    }
}
