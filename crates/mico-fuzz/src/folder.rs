//! Inputs that are several files: a folder written down as one text, and read from a scratch folder.
//!
//! ```text
//! --- run.json
//! {"title": ...}
//! --- records.jsonl
//! {"key": ...}
//! ```
//!
//! An input without such a line is one file, under a name that its target chooses.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// How the line before a file begins; its path follows.
pub const HEAD: &[u8] = b"--- ";
/// The most files of a folder.
const MAX_FILES: usize = 32;
/// The most folders above a file.
const MAX_DEPTH: usize = 6;

/// One file of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section<'a> {
    /// The path as it is written, slashes between folders.
    pub path: &'a [u8],
    /// The contents of the file.
    pub body: &'a [u8],
}

/// The files of an input; `None` if it is not written as a folder.
pub fn sections(data: &[u8]) -> Option<Vec<Section<'_>>> {
    let mut rest = data.strip_prefix(HEAD)?;
    let mut sections = Vec::new();
    loop {
        let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        let (path, after) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
        let next = after.windows(HEAD.len() + 1).position(|w| w[0] == b'\n' && &w[1..] == HEAD);
        // A file may be empty, so that the next head follows at once.
        let (body, tail) = match (after.strip_prefix(HEAD), next) {
            (Some(tail), _) => (&after[..0], Some(tail)),
            (None, Some(at)) => (&after[..at], Some(&after[at + 1 + HEAD.len()..])),
            (None, None) => (after, None),
        };
        sections.push(Section { path, body });
        match tail {
            Some(tail) => rest = tail,
            None => return Some(sections),
        }
    }
}

/// The text of a folder with these files.
pub fn join(sections: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut data = Vec::new();
    for (at, (path, body)) in sections.iter().enumerate() {
        // After an empty file, the line with its path ends already.
        if at > 0 && !sections[at - 1].1.is_empty() {
            data.push(b'\n');
        }
        data.extend_from_slice(HEAD);
        data.extend_from_slice(path);
        data.push(b'\n');
        data.extend_from_slice(body);
    }
    data
}

/// The path of a section, if it stays inside its folder and is one that a careful hand would write.
fn inside(path: &[u8]) -> Option<PathBuf> {
    let text = std::str::from_utf8(path).ok()?;
    let parts: Vec<&str> = text.split('/').collect();
    let plain = |part: &&str| {
        !part.is_empty()
            && part.len() < 100
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "_.()+ -".contains(c))
    };
    (parts.len() <= MAX_DEPTH && parts.iter().all(plain)).then(|| parts.iter().collect())
}

/// A folder that is emptied and filled again for every input.
struct Scratch {
    root: TempDir,
    written: Vec<PathBuf>,
}

impl Scratch {
    fn new() -> std::io::Result<Self> {
        Ok(Self { root: TempDir::with_prefix("fuzz")?, written: Vec::new() })
    }

    fn write(&mut self, path: &Path, body: &[u8]) {
        let path = self.root.path().join(path);
        // A file where a folder should be is a folder that no hand would write: left out.
        let parent = path.parent().unwrap_or(self.root.path());
        if (parent.is_dir() || std::fs::create_dir_all(parent).is_ok())
            && std::fs::write(&path, body).is_ok()
        {
            self.written.push(path);
        }
    }

    fn clear(&mut self) {
        for path in self.written.drain(..) {
            let _ = std::fs::remove_file(path);
        }
    }
}

thread_local! {
    static SCRATCH: RefCell<Option<Scratch>> = const { RefCell::new(None) };
}

/// Writes an input to this thread's scratch folder and calls `work` with the folder. `name` is that of an
/// input of one file.
///
/// # Panics
/// If there is no place for temporary files.
pub fn with_folder<T>(data: &[u8], name: &str, work: impl FnOnce(&Path) -> T) -> T {
    let root = SCRATCH.with_borrow_mut(|scratch| {
        if scratch.is_none() {
            *scratch = Some(Scratch::new().unwrap_or_else(|error| panic!("no scratch: {error}")));
        }
        let Some(scratch) = scratch else { unreachable!("made above") };
        scratch.clear();
        match sections(data) {
            None => scratch.write(Path::new(name), data),
            Some(sections) => {
                for section in sections.iter().take(MAX_FILES) {
                    if let Some(path) = inside(section.path) {
                        scratch.write(&path, section.body);
                    }
                }
            }
        }
        scratch.root.path().to_owned()
    });
    work(&root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_as_it_was_written() {
        let files = [
            (b"a.json".to_vec(), b"{}\n".to_vec()),
            (b"b/c".to_vec(), Vec::new()),
            (b"d".to_vec(), b"last".to_vec()),
        ];
        let data = join(&files);
        let read = sections(&data).unwrap();
        let read: Vec<_> = read.iter().map(|s| (s.path.to_vec(), s.body.to_vec())).collect();
        assert_eq!(read, files);
        assert_eq!(sections(b"{}"), None);
    }

    #[test]
    fn no_path_leads_outside() {
        assert_eq!(inside(b"a/b.json"), Some(PathBuf::from("a/b.json")));
        for path in
            [&b"../a"[..], b"/a", b"a/../b", b"", b"a//b", b"\xff", b"a\0", b"1/2/3/4/5/6/7"]
        {
            assert_eq!(inside(path), None, "{path:?}");
        }
    }

    #[test]
    fn files_of_the_last_input_are_gone() {
        with_folder(b"--- x/a\n1\n--- b\n2", "c", |root| {
            assert_eq!(std::fs::read(root.join("x/a")).unwrap(), b"1");
        });
        with_folder(b"3", "c", |root| {
            assert!(!root.join("b").exists() && !root.join("x/a").exists());
            assert_eq!(std::fs::read(root.join("c")).unwrap(), b"3");
        });
    }
}
