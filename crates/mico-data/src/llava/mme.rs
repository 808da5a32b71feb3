//! MME's gold answers, which the release stores in one text file per image.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mico_util::input::read_regular;

use super::missing_gold;
use crate::Error;
use crate::error::excerpt;

/// The folders to which the release may have been unpacked, relative to `MME`.
pub(super) const RELEASES: [&str; 4] = [
    "MME_Benchmark_release_version/MME_Benchmark",
    "MME_Benchmark_release_version",
    "MME_Benchmark",
    "",
];

/// The subfolder in which some categories keep their text files; others keep them directly.
const ANSWERS: &str = "questions_answers_YN";

/// The largest accepted answer file in bytes; real ones have a few hundred.
const FILE_LIMIT: u64 = 1 << 20;

/// Gold answers by category, file stem and question.
pub(super) struct Answers(BTreeMap<(String, String, String), String>);

fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let mut found: Vec<PathBuf> =
        entries.filter_map(|e| Some(e.ok()?.path())).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

fn texts(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .collect();
    found.sort();
    found
}

/// The answer files of the first release folder that has any.
pub(super) fn answer_files(dir: &Path, questions: &Path) -> Result<Vec<PathBuf>, Error> {
    for release in RELEASES {
        let mut files = Vec::new();
        for category in folders(&dir.join(release)) {
            let inner = category.join(ANSWERS);
            files.extend(texts(if inner.is_dir() { &inner } else { &category }));
        }
        if !files.is_empty() {
            return Ok(files);
        }
    }
    let names = "MME_Benchmark_release_version/<category>/[questions_answers_YN/]*.txt";
    Err(missing_gold(questions, names))
}

/// The question without its final "Please answer yes or no.", which LLaVA's file leaves out.
pub(super) fn bare(question: &str) -> &str {
    let question = question.trim();
    question.strip_suffix("Please answer yes or no.").unwrap_or(question).trim_end()
}

/// A file name up to its first full stop, as the official conversion script cuts it.
fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.split('.').next().unwrap_or(file)
}

impl Answers {
    pub(super) fn read(files: &[PathBuf]) -> Result<Self, Error> {
        let mut gold = BTreeMap::new();
        for path in files {
            let bytes = read_regular(path, FILE_LIMIT).map_err(|e| Error::io(path, &e))?;
            let text =
                String::from_utf8(bytes).map_err(|_| Error::format(path, "not UTF-8 text"))?;
            let parent = path.parent();
            let inner = parent.filter(|p| p.file_name().is_some_and(|n| n == ANSWERS));
            let category = inner.and_then(Path::parent).or(parent).and_then(Path::file_name);
            let category = category.map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            let name =
                path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
                let Some((question, answer)) = line.rsplit_once('\t') else {
                    let line = excerpt(line);
                    return Err(Error::format(
                        path,
                        format!("'{line}' is not question TAB answer"),
                    ));
                };
                let key = (category.clone(), stem(&name).to_owned(), bare(question).to_owned());
                gold.insert(key, answer.trim().to_owned());
            }
        }
        Ok(Self(gold))
    }

    /// The answer to a question about the image `id`, which has the form `<category>/…/<file>`.
    pub(super) fn find(&self, id: &str, question: &str) -> Result<&str, String> {
        let category = id.split('/').next().unwrap_or("");
        let key = (category.to_owned(), stem(id).to_owned(), bare(question).to_owned());
        self.0.get(&key).map(String::as_str).ok_or_else(|| {
            format!("no gold for category '{}', file '{}.txt'", excerpt(&key.0), excerpt(&key.1))
        })
    }
}

/// The paths at which an image may be found under one release folder.
pub(super) fn image_places(release: &Path, image: &str) -> [PathBuf; 3] {
    let (category, _) = image.split_once('/').unwrap_or(("", image));
    let file = image.rsplit('/').next().unwrap_or(image);
    let folder = release.join(category);
    [release.join(image), folder.join("images").join(file), folder.join(file)]
}
