//! Answers to VTC-Bench's questions, from sample logs of lmms-eval or from a run.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use mico_score::rules::vtc;
use mico_util::input::{BoundedLines, open_regular};
use serde_json::Value;

use super::TASKS;
use crate::error::{Error, Result};
use crate::file_error::FileError;
use crate::journal::Journal;
use crate::manifest::Manifest;
use crate::summary::columns_of;

/// The longest line of a sample log.
const LINE_LIMIT: u64 = 16 << 20;

/// Whether each question was answered rightly, by task and document.
pub(super) type Logs = BTreeMap<&'static str, BTreeMap<String, bool>>;

/// The answers of a model under one setting.
pub(super) struct Answers {
    pub(super) setting: String,
    pub(super) budget: Option<usize>,
    pub(super) unpruned: bool,
    pub(super) logs: Logs,
}

/// The answers of a run, by setting. Documents are numbered as in the sample logs, which files read from
/// parquet tell.
pub(super) fn answers(folder: &Path) -> Result<Vec<Answers>> {
    let manifest = Manifest::read(folder)?;
    let columns = columns_of(&manifest, &Journal::read(folder)?)?;
    let mut all = Vec::new();
    for (at, setting) in manifest.settings.iter().enumerate() {
        let mut logs = Logs::new();
        for column in &columns {
            let Some(task) = TASKS.into_iter().find(|task| *task == column.spec.name) else {
                continue;
            };
            let judged = column.answers[at].iter().flatten();
            let right = judged.map(|judged| {
                let number = judged.record.fields.get("doc_id").map(Value::to_string);
                (number.unwrap_or_else(|| judged.record.item.clone()), judged.is_right())
            });
            logs.insert(task, right.collect());
        }
        let (label, budget) = (setting.label.clone(), setting.tokens());
        all.push(Answers { setting: label, budget, unpruned: setting.is_unpruned(), logs });
    }
    Ok(all)
}

/// The folder whose subfolders are named by the downsampling factor.
pub(super) fn reference(data: &Path) -> Result<PathBuf> {
    let direct = [data.to_owned(), data.join("Downsample")];
    if let Some(found) = direct.into_iter().find(|folder| folder.join("1").is_dir()) {
        return Ok(found);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(data).map_err(FileError::io(data))? {
        let folder = entry.map_err(FileError::io(data))?.path().join("Downsample");
        if folder.join("1").is_dir() {
            found.push(folder);
        }
    }
    found.sort();
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => {
            let reason = "no folder Downsample/1 with the reference's logs".to_owned();
            Err(Error::Incompatible { path: data.to_owned(), reason })
        }
        several => {
            let names: Vec<String> =
                several.iter().map(|path| path.display().to_string()).collect();
            let message = format!("--data has several references: {}", names.join(", "));
            Err(Error::invalid(message))
        }
    }
}

/// The sample logs of a folder.
pub(super) fn logs(folder: &Path) -> Result<Logs> {
    let incompatible = |reason: String| Error::Incompatible { path: folder.to_owned(), reason };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(FileError::io(folder))? {
        paths.push(entry.map_err(FileError::io(folder))?.path());
    }
    paths.sort();
    let mut logs = Logs::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
    {
        let name = path.file_stem().map(|name| name.to_string_lossy().to_lowercase());
        let name = name.unwrap_or_default();
        let Some(task) = TASKS.into_iter().find(|task| names(&name, task)) else { continue };
        if logs.insert(task, log(path, task)?).is_some() {
            return Err(incompatible(format!("two logs of {task}")));
        }
    }
    if logs.is_empty() {
        return Err(incompatible(format!(
            "no logs, accepted: jsonl files named by {}",
            TASKS.join(", ")
        )));
    }
    Ok(logs)
}

/// Whether a log's name has the task in it as a word of its own: `videomme` is no `mme`.
fn names(name: &str, task: &str) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    name.match_indices(task).any(|(at, _)| {
        let (before, after) = (&name[..at], &name[at + task.len()..]);
        !letter(before.chars().next_back()) && !letter(after.chars().next())
    })
}

fn log(path: &Path, task: &str) -> Result<BTreeMap<String, bool>> {
    let failed = |reason: String| Error::Incompatible { path: path.to_owned(), reason };
    let file = open_regular(path).map_err(FileError::io(path))?;
    let mut lines = BoundedLines::new(BufReader::new(file), LINE_LIMIT);
    let mut answers = BTreeMap::new();
    let mut line = Vec::new();
    loop {
        let more = lines.read(&mut line);
        let number = lines.number();
        if !more.map_err(|error| failed(format!("line {number}: {error}")))? {
            return Ok(answers);
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let record: Value = serde_json::from_slice(&line)
            .map_err(|error| failed(format!("line {number}: no JSON ({error})")))?;
        let id = match record.get("doc_id") {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => return Err(failed(format!("line {number}: no doc_id"))),
        };
        if answers.insert(id.clone(), vtc::correct(task, &record)).is_some() {
            return Err(failed(format!("line {number}: a second record of document {id}")));
        }
    }
}
