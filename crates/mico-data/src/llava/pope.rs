//! POPE's gold labels, which are matched to the questions by position.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::missing_gold;
use crate::Error;
use crate::error::excerpt;
use crate::json::Lines;

const PREFIX: &str = "coco_pope_";

/// The labels of every category, consumed in order.
pub(super) struct Labels {
    categories: BTreeMap<String, Vec<Label>>,
    used: BTreeMap<String, usize>,
}

struct Label {
    image: Option<String>,
    label: String,
}

/// The label files `coco/coco_pope_<category>.json`, sorted by name.
pub(super) fn label_files(dir: &Path, questions: &Path) -> Result<Vec<PathBuf>, Error> {
    for folder in [dir.join("coco"), dir.to_owned()] {
        let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| category(path).is_some())
            .collect();
        files.sort();
        if !files.is_empty() {
            return Ok(files);
        }
    }
    Err(missing_gold(questions, "coco/coco_pope_<category>.json"))
}

fn category(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_prefix(PREFIX)?.strip_suffix(".json")
}

impl Labels {
    /// Reads the labels and checks that every category has as many labels as questions.
    pub(super) fn read(files: &[PathBuf], questions: &Path) -> Result<Self, Error> {
        let mut categories = BTreeMap::new();
        for path in files {
            let name = category(path).unwrap_or("").to_owned();
            categories.insert(name, read_labels(path)?);
        }
        let mut asked: BTreeMap<String, usize> =
            categories.keys().map(|name| (name.clone(), 0)).collect();
        let mut lines = Lines::open(questions)?;
        while let Some(line) = lines.next() {
            let line = line.map_err(|damaged| {
                Error::format(questions, format!("row {}: {}", damaged.row, damaged.reason))
            })?;
            let name = line.get("category").and_then(Value::as_str).unwrap_or("");
            *asked.entry(name.to_owned()).or_default() += 1;
        }
        for (name, count) in &asked {
            let labels = categories.get(name).map_or(0, Vec::len);
            if labels != *count {
                return Err(Error::format(
                    questions,
                    format!(
                        "category '{}' has {count} questions and {labels} labels: \
                         equal counts are required, they are paired by position",
                        excerpt(name)
                    ),
                ));
            }
        }
        Ok(Self { categories, used: BTreeMap::new() })
    }

    /// Skips the next label of a category.
    pub(super) fn skip(&mut self, category: &str) {
        *self.used.entry(category.to_owned()).or_default() += 1;
    }

    /// The next label of a category; it is an error if the label is about another image.
    pub(super) fn next(&mut self, category: &str, image: &str) -> Result<String, String> {
        let place = self.used.entry(category.to_owned()).or_default();
        let label = self.categories.get(category).and_then(|labels| labels.get(*place));
        *place += 1;
        let label =
            label.ok_or_else(|| format!("no label for category '{}'", excerpt(category)))?;
        match &label.image {
            Some(about) if about != image => {
                Err(format!("label {place} of its category is about image '{}'", excerpt(about)))
            }
            _ => Ok(label.label.clone()),
        }
    }
}

fn read_labels(path: &Path) -> Result<Vec<Label>, Error> {
    let mut labels = Vec::new();
    let mut lines = Lines::open(path)?;
    while let Some(line) = lines.next() {
        // An unreadable label would shift all later ones, so it is an error of the whole file.
        let row = labels.len() + 1;
        let line = line.map_err(|damaged| {
            Error::format(path, format!("row {}: {}", damaged.row, damaged.reason))
        })?;
        let label = line.get("label").and_then(Value::as_str);
        let label = label.ok_or_else(|| Error::format(path, format!("row {row}: no 'label'")))?;
        let image = line.get("image").and_then(Value::as_str).map(str::to_owned);
        labels.push(Label { image, label: label.to_owned() });
    }
    Ok(labels)
}
