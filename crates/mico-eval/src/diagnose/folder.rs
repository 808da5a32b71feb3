//! A user's folder: pictures with label maps, objects and questions in plain files.

use std::collections::BTreeMap;
use std::fs;
use std::io::BufReader;
use std::path::{Component, Path, PathBuf};

use mico_util::input::{BoundedLines, open_regular, read_regular};
use mico_util::text::{escaped, quoted};
use mico_vision::RgbImage;
use mico_vision::decode::{DecodeOptions, decode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::Result;
use super::label_file;
use super::source::{Check, LabelMap, LabeledObject, PixelBox, Query, Source};
use crate::file_error::FileError;

/// The subfolder with the pictures.
const IMAGES: &str = "images";
/// Where label maps are, under the names of their pictures with another ending.
const LABELS: &str = "labels";
/// The file with one object per line, as a box with a category.
const OBJECTS: &str = "objects.jsonl";
/// The file with one question per line, as a text with the box it asks about.
const QUERIES: &str = "queries.jsonl";
/// Endings of pictures, in lower case.
const ENDINGS: [&str; 6] = ["png", "jpg", "jpeg", "webp", "gif", "bmp"];
/// How deep folders of pictures may lie in each other.
const DEPTH: usize = 16;
/// The longest path of a picture below its folder, in bytes.
const NAME_BYTES: usize = 255;
/// The longest line of a file.
const LINE: u64 = 1 << 20;
/// How an expression becomes a question: the wording of public `RefCOCO` files for LLaVA.
const REFERRING: &str =
    "Please provide the bounding box coordinate of the region this sentence describes: ";

/// How the values of label maps are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labeling {
    /// Number of classes; labels count from 0.
    pub classes: usize,
    /// The label of pixels that have none.
    pub void: Option<u16>,
}

/// Pictures of a folder with what is known about them. Annotations are in memory, pictures and label
/// maps are read when they are needed.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    labeling: Labeling,
    pictures: Vec<Entry>,
}

/// What the annotation files say about one picture.
#[derive(Debug, Default)]
struct Entry {
    /// Its path below `images`.
    name: String,
    labeled: bool,
    objects: Vec<LabeledObject>,
    queries: Vec<Query>,
}

#[derive(Debug, Deserialize)]
struct ObjectLine {
    image: String,
    #[serde(rename = "box")]
    place: [f64; 4],
    category: String,
}

#[derive(Debug, Deserialize)]
struct QueryLine {
    image: String,
    #[serde(rename = "box")]
    place: [f64; 4],
    expression: Option<String>,
    question: Option<String>,
}

impl Folder {
    /// Reads a folder's annotations for some checks; a check whose file is missing is an error.
    pub fn open(root: &Path, checks: &[Check], labeling: Labeling) -> Result<Self> {
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        for &check in checks {
            let path = root.join(file(check));
            if !path.exists() {
                let missing = std::io::Error::new(
                    std::io::ErrorKind::NotFound,
                    format!("does not exist, the check of {check} needs it"),
                );
                return Err(FileError::io(&path)(missing).into());
            }
            match check {
                Check::Information => labeled(root, &mut entries)?,
                Check::Reliability => {
                    lines(&path, |line: ObjectLine| {
                        let entry = entry(&mut entries, &line.image)?;
                        let category = line.category.trim().to_owned();
                        if category.is_empty() {
                            return Err("category is empty".into());
                        }
                        entry.objects.push(LabeledObject { place: place(line.place)?, category });
                        Ok(())
                    })?;
                }
                Check::Relevance => {
                    lines(&path, |line: QueryLine| {
                        let text = text(&line)?;
                        let entry = entry(&mut entries, &line.image)?;
                        entry.queries.push(Query { place: place(line.place)?, text });
                        Ok(())
                    })?;
                }
            }
        }
        let named = |(name, entry): (String, Entry)| Entry { name, ..entry };
        let pictures = entries.into_iter().map(named).collect();
        Ok(Self { root: root.to_owned(), labeling, pictures })
    }

    /// The checks whose files a folder has.
    pub fn checks(root: &Path) -> Vec<Check> {
        Check::ALL.into_iter().filter(|&check| root.join(file(check)).exists()).collect()
    }

    fn labels_path(&self, name: &str) -> PathBuf {
        self.root.join(LABELS).join(name).with_extension("png")
    }

    fn entry(&self, picture: usize) -> std::result::Result<&Entry, String> {
        self.pictures.get(picture).ok_or_else(|| format!("there is no picture {picture}"))
    }
}

/// What a check needs, below the folder.
fn file(check: Check) -> &'static str {
    match check {
        Check::Information => LABELS,
        Check::Reliability => OBJECTS,
        Check::Relevance => QUERIES,
    }
}

fn place(numbers: [f64; 4]) -> std::result::Result<PixelBox, String> {
    let refused =
        || format!("box {numbers:?}, accepted: [x, y, width, height] with both sides above 0");
    PixelBox::new(numbers).ok_or_else(refused)
}

fn text(line: &QueryLine) -> std::result::Result<String, String> {
    let words = |text: &Option<String>| {
        text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(ToOwned::to_owned)
    };
    match (words(&line.question), words(&line.expression)) {
        (Some(question), None) => Ok(question),
        (None, Some(expression)) => Ok(format!("{REFERRING}{expression}")),
        _ => Err("accepted: one of question and expression, not empty".into()),
    }
}

/// The entry of a picture; its name must stay inside the folder.
fn entry<'a>(
    entries: &'a mut BTreeMap<String, Entry>,
    name: &str,
) -> std::result::Result<&'a mut Entry, String> {
    let inside = |part: Component<'_>| matches!(part, Component::Normal(_));
    let plain = (1..=NAME_BYTES).contains(&name.len()) && escaped(name) == name;
    if !plain || !Path::new(name).components().all(inside) {
        return Err(format!("image '{}', accepted: a path below {IMAGES}/", quoted(name)));
    }
    Ok(entries.entry(name.to_owned()).or_default())
}

/// Enters the pictures that have a label map.
fn labeled(root: &Path, entries: &mut BTreeMap<String, Entry>) -> Result<()> {
    let (images, labels) = (root.join(IMAGES), root.join(LABELS));
    let mut open = vec![(PathBuf::new(), 0)];
    while let Some((below, depth)) = open.pop() {
        let path = images.join(&below);
        let failed = FileError::io(&path);
        for found in fs::read_dir(&path).map_err(&failed)? {
            let below = below.join(found.map_err(&failed)?.file_name());
            let Some(name) = below.to_str() else { continue };
            if images.join(&below).is_dir() {
                if depth < DEPTH {
                    open.push((below, depth + 1));
                }
                continue;
            }
            let ending = below.extension().and_then(|ending| ending.to_str());
            let ending = ending.unwrap_or_default().to_lowercase();
            if ENDINGS.contains(&ending.as_str())
                && labels.join(&below).with_extension("png").is_file()
            {
                entries.entry(name.to_owned()).or_default().labeled = true;
            }
        }
    }
    Ok(())
}

/// Reads a file with a JSON object on every line that is not empty.
fn lines<T: DeserializeOwned>(
    path: &Path,
    mut take: impl FnMut(T) -> std::result::Result<(), String>,
) -> Result<()> {
    let failed = FileError::io(path);
    let mut lines = BoundedLines::new(BufReader::new(open_regular(path).map_err(&failed)?), LINE);
    let mut bytes = Vec::new();
    loop {
        let more = lines.read(&mut bytes);
        let line = lines.number();
        let wrong = |message: String| FileError::Line { path: path.to_owned(), line, message };
        if !more.map_err(|error| wrong(error.to_string()))? {
            return Ok(());
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let found = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        take(found).map_err(wrong)?;
    }
}

impl Source for Folder {
    fn name(&self) -> String {
        self.root.display().to_string()
    }

    fn classes(&self) -> usize {
        self.labeling.classes
    }

    fn pictures(&self, check: Check) -> Vec<usize> {
        let has = |entry: &Entry| match check {
            Check::Information => entry.labeled,
            Check::Reliability => !entry.objects.is_empty(),
            Check::Relevance => !entry.queries.is_empty(),
        };
        (0..self.pictures.len()).filter(|&picture| has(&self.pictures[picture])).collect()
    }

    fn title(&self, picture: usize) -> String {
        self.entry(picture)
            .map_or_else(|_| format!("picture {picture}"), |entry| entry.name.clone())
    }

    fn image(&self, picture: usize) -> std::result::Result<RgbImage, String> {
        let path = self.root.join(IMAGES).join(&self.entry(picture)?.name);
        decode(&read(&path)?, &DecodeOptions::default()).map_err(|error| error.to_string())
    }

    fn labels(&self, picture: usize) -> std::result::Result<LabelMap, String> {
        let path = self.labels_path(&self.entry(picture)?.name);
        let Labeling { classes, void } = self.labeling;
        let map = label_file::read(&read(&path)?, void, classes);
        map.map_err(|error| format!("label map {}: {error}", path.display()))
    }

    fn objects(&self, picture: usize) -> Vec<LabeledObject> {
        self.entry(picture).map(|entry| entry.objects.clone()).unwrap_or_default()
    }

    fn queries(&self, picture: usize) -> Vec<Query> {
        self.entry(picture).map(|entry| entry.queries.clone()).unwrap_or_default()
    }
}

/// A file's bytes, at most as many as a picture may have.
fn read(path: &Path) -> std::result::Result<Vec<u8>, String> {
    let limit = DecodeOptions::default().limits.encoded_bytes;
    read_regular(path, limit).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELING: Labeling = Labeling { classes: 3, void: Some(255) };

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        root
    }

    #[test]
    fn pictures_are_found_with_what_is_known() {
        let root = folder(&[
            ("images/b.jpg", ""),
            ("images/sub/a.PNG", ""),
            ("images/c.txt", ""),
            ("images/d.png", ""),
            ("labels/b.png", ""),
            ("labels/sub/a.png", ""),
            ("labels/c.png", ""),
            (OBJECTS, "\n{\"image\":\"b.jpg\",\"box\":[1,2,3,4],\"category\":\"cat\"}\n\n"),
            (QUERIES, "{\"image\":\"d.png\",\"box\":[1,2,3,4],\"expression\":\" the cat \"}"),
        ]);
        assert_eq!(Folder::checks(root.path()), Check::ALL);
        let found = Folder::open(root.path(), &Check::ALL, LABELING).unwrap();
        let titles = |check| {
            let of = found.pictures(check).into_iter().map(|picture| found.title(picture));
            of.collect::<Vec<_>>()
        };
        assert_eq!(titles(Check::Information), ["b.jpg", "sub/a.PNG"]);
        assert_eq!(titles(Check::Reliability), ["b.jpg"]);
        assert_eq!(titles(Check::Relevance), ["d.png"]);
        let query = &found.queries(found.pictures(Check::Relevance)[0])[0];
        assert!(query.text.ends_with(": the cat"), "{}", query.text);
        assert!(found.image(0).unwrap_err().contains("0 bytes"));
        assert!(found.labels(0).unwrap_err().contains("b.png"));
        assert!(found.image(99).is_err());
    }

    #[test]
    fn wrong_lines_are_named() {
        let cases = [
            (OBJECTS, "{", "line 1"),
            (OBJECTS, "{\"image\":\"a\",\"box\":[1,2,3],\"category\":\"c\"}", "length 3"),
            (OBJECTS, "{\"image\":\"a\",\"box\":[1,2,0,3],\"category\":\"c\"}", "width, height"),
            (OBJECTS, "{\"image\":\"../a\",\"box\":[1,2,3,3],\"category\":\"c\"}", "../a"),
            (OBJECTS, "{\"image\":\"/a\",\"box\":[1,2,3,3],\"category\":\"c\"}", "below images/"),
            (OBJECTS, "{\"image\":\"a\",\"box\":[1,2,3,3],\"category\":\" \"}", "category"),
            (QUERIES, "\n{\"image\":\"a\",\"box\":[1,2,3,3]}", "line 2"),
            (QUERIES, "{\"image\":\"a\",\"box\":[1,2,3,3],\"qestion\":\"b\"}", "question"),
        ];
        for (name, content, named) in cases {
            let root = folder(&[(name, content)]);
            let checks = Folder::checks(root.path());
            let message = Folder::open(root.path(), &checks, LABELING).unwrap_err().to_string();
            assert!(message.contains(name) && message.contains(named), "{message}");
        }
        let root = folder(&[]);
        let missing = Folder::open(root.path(), &[Check::Relevance], LABELING).unwrap_err();
        assert!(missing.to_string().contains(QUERIES));
    }
}
