//! The repository behind the server, answered the way the hub answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use mico_util::digest::sha256;

use crate::server::{Asked, Reply, Server};

pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A model repository `org/name` with one commit.
pub(crate) struct FakeHub {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// Whether the description lists the files, as the hub's does.
    pub(crate) lists_files: bool,
    /// Where large files are: another server, or a path of this one.
    pub(crate) store: String,
    /// Refuse requests without this token.
    pub(crate) token: Option<String>,
    /// Break this many downloads of large files halfway.
    pub(crate) breaks: AtomicUsize,
    /// Ignore ranges.
    pub(crate) starts_over: bool,
    /// Send other bytes than announced.
    pub(crate) lies: bool,
}

impl FakeHub {
    /// A repository with a small and a large file of each kind the engine asks for.
    pub(crate) fn new() -> Self {
        let index = r#"{"weight_map": {"a": "model-00001-of-00002.safetensors",
            "b": "model-00002-of-00002.safetensors", "c": "model-00001-of-00002.safetensors"}}"#;
        let files = [
            ("config.json", b"{}".to_vec()),
            ("tokenizer.json", b"{\"tokenizer\": 1}".to_vec()),
            ("generation_config.json", b"{\"eos\": 2}".to_vec()),
            ("chat_template.jinja", b"{{ messages }}".to_vec()),
            ("model.safetensors.index.json", index.as_bytes().to_vec()),
            ("model-00001-of-00002.safetensors", (0..90_000_u32).map(|i| i as u8).collect()),
            ("model-00002-of-00002.safetensors", vec![7; 1000]),
            ("README.md", b"not for us".to_vec()),
        ];
        Self {
            files: files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect(),
            lists_files: true,
            store: String::new(),
            token: None,
            breaks: AtomicUsize::new(0),
            starts_over: false,
            lies: false,
        }
    }

    pub(crate) fn serve(self) -> Server {
        Server::start(move |asked| self.answer(asked))
    }

    pub(crate) fn etag(file: &str, bytes: &[u8]) -> String {
        let mut etag = sha256(bytes);
        if !is_large(file) {
            etag.truncate(40);
        }
        etag
    }

    pub(crate) fn answer(&self, asked: &Asked) -> Reply {
        if let Some(etag) = asked.path.strip_prefix("/store/") {
            return self.content(asked, etag);
        }
        if self.token.is_some() && asked.token != self.token {
            return Reply::status(401).header("X-Error-Code", "GatedRepo");
        }
        if asked.path.starts_with("/api/models/org/name/revision/") {
            return self.description();
        }
        let path = ["main", COMMIT].iter().find_map(|revision| {
            asked.path.strip_prefix(&format!("/org/name/resolve/{revision}/"))
        });
        match path.and_then(|file| Some((file, self.files.get(file)?))) {
            Some((file, bytes)) => self.file(file, bytes),
            None => Reply::status(404).header("X-Error-Code", "EntryNotFound").body("no entry"),
        }
    }

    fn description(&self) -> Reply {
        let file = |name| serde_json::json!({ "rfilename": name });
        let mut info = serde_json::json!({ "id": "org/name", "sha": COMMIT });
        if self.lists_files {
            info["siblings"] = self.files.keys().map(file).collect();
        }
        Reply::status(200).body(info.to_string())
    }

    fn file(&self, file: &str, bytes: &[u8]) -> Reply {
        let etag = Self::etag(file, bytes);
        if !is_large(file) {
            return Reply::status(200)
                .header("ETag", format!("\"{etag}\""))
                .header("X-Repo-Commit", COMMIT)
                .body(bytes);
        }
        Reply::status(302)
            .header("Location", format!("{}/store/{etag}", self.store))
            .header("ETag", "\"not-this-one\"")
            .header("X-Linked-Etag", format!("\"{etag}\""))
            .header("X-Linked-Size", bytes.len().to_string())
            .header("X-Repo-Commit", COMMIT)
            .body("moved")
    }

    fn content(&self, asked: &Asked, etag: &str) -> Reply {
        let Some(bytes) = self.files.values().find(|bytes| sha256(bytes) == etag) else {
            return Reply::status(404);
        };
        let mut bytes = bytes.clone();
        if self.lies {
            bytes[0] ^= 1;
        }
        let from = asked.from.filter(|_| !self.starts_over).unwrap_or(0) as usize;
        let total = bytes.len();
        if from >= total {
            return Reply::status(416);
        }
        let mut reply = Reply::status(if from > 0 { 206 } else { 200 })
            .header("ETag", "\"of-the-store\"")
            .body(&bytes[from..]);
        if from > 0 {
            reply = reply.header("Content-Range", format!("bytes {from}-{}/{total}", total - 1));
        }
        let fewer = |left: usize| left.checked_sub(1);
        if self.breaks.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer).is_ok() {
            reply.cut = Some(reply.body.len() / 2);
        }
        reply
    }
}

fn is_large(file: &str) -> bool {
    file.ends_with(".safetensors")
}
