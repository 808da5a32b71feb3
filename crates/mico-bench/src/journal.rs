//! Finished runs on disk: a line each, so that an interruption loses none that was finished.
//!
//! The first line says what decides the measurements; each further one is a run or the refusal of a
//! condition. A round is begun anew by no session: what is missing of it is run by the next one.
//!
//! This is not `mico-eval`'s journal, whose records are answers: one of a kind by item and condition, the
//! same whenever they are asked again. Times are never the same twice, count by their round, and mean
//! nothing without the machine and configuration that stand at the head of the file.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use mico_eval::{Condition, FileError};
use serde::{Deserialize, Serialize};

use crate::configuration::{About, Configuration};
use crate::error::{Error, Result};
use crate::sample::{Facts, Sample};

/// The ending of a journal's name.
const ENDING: &str = "jsonl";

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Bench(Box<Header>),
    Run(Box<Record>),
    Refused(Refusal),
}

/// What the runs have in common.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    configuration: Configuration,
    about: About,
}

/// One counted run of one condition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The key of the condition.
    pub(crate) setting: String,
    /// The round, from 0.
    pub(crate) round: usize,
    /// Which of the processes that wrote to the journal ran it, from 0.
    pub(crate) session: usize,
    pub(crate) sample: Sample,
    pub(crate) facts: Facts,
}

/// A condition the engine does not run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Refusal {
    /// The key of the condition.
    pub(crate) setting: String,
    /// The engine's reason to refuse the condition.
    pub(crate) message: String,
}

/// All runs so far, and where new ones go.
#[derive(Debug, Default)]
pub struct Journal {
    header: Option<Header>,
    records: Vec<Record>,
    refusals: Vec<Refusal>,
    session: usize,
    file: Option<(PathBuf, File)>,
}

impl Journal {
    /// Runs kept in memory alone.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Opens the journal beside `out`. Runs that are already there count if `resume` says so and are
    /// refused otherwise.
    pub fn open(out: &Path, resume: bool) -> Result<Self> {
        let path = path(out);
        let io = FileError::io(&path);
        let text = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(io(error).into()),
        };
        if !resume && !text.is_empty() {
            return Err(FileError::Occupied { path }.into());
        }
        // What follows the last line break is what an interruption left of a line.
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut journal = Self::default();
        let lines = text[..whole].split(|&byte| byte == b'\n').enumerate();
        for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let broken = |reason: &str| FileError::no_record(&path, index + 1, reason);
            let line = serde_json::from_slice(line).map_err(|error| broken(&error.to_string()))?;
            let first = journal.header.is_none();
            match line {
                Line::Bench(_) if !first => return Err(broken("a second beginning").into()),
                Line::Run(_) | Line::Refused(_) if first => {
                    return Err(broken("no beginning").into());
                }
                line => journal.take(line),
            }
        }
        journal.session = journal.records.iter().map(|run| run.session + 1).max().unwrap_or(0);
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(&io)?;
        file.set_len(whole as u64).map_err(&io)?;
        journal.file = Some((path, file));
        Ok(journal)
    }

    /// Refuses to go on with what was measured differently.
    pub(crate) fn check(&self, now: &Configuration) -> Result<()> {
        let differences =
            self.header.as_ref().and_then(|header| header.configuration.differences(now));
        differences.map_or(Ok(()), |differences| Err(self.other(differences)))
    }

    /// Begins the file, or holds what it began with against what is now.
    pub(crate) fn begin(&mut self, now: &Configuration, about: &About) -> Result<()> {
        match &self.header {
            None => {
                let header = Header { configuration: now.clone(), about: about.clone() };
                self.write(&Line::Bench(Box::new(header)))
            }
            Some(header) => match header.about.differences(about) {
                None => Ok(()),
                Some(differences) => Err(self.other(differences)),
            },
        }
    }

    fn other(&self, differences: String) -> Error {
        let path = self.file.as_ref().map(|(path, _)| path.clone()).unwrap_or_default();
        Error::Differs { path, differences }
    }

    /// Takes a finished run in and writes it out at once.
    pub(crate) fn append(&mut self, mut record: Record) -> Result<()> {
        record.session = self.session;
        self.write(&Line::Run(Box::new(record)))
    }

    /// Takes in that a condition was refused.
    pub(crate) fn refuse(&mut self, condition: &Condition, message: String) -> Result<()> {
        self.write(&Line::Refused(Refusal { setting: condition.key(), message }))
    }

    /// Writes a line and takes it in as it would be read: a number's last digit may change on the
    /// way, and a report must not depend on whether it was interrupted.
    fn write(&mut self, line: &Line) -> Result<()> {
        let mut text =
            serde_json::to_vec(line).map_err(|error| Error::internal(error.to_string()))?;
        let read =
            serde_json::from_slice(&text).map_err(|error| Error::internal(error.to_string()))?;
        if let Some((path, file)) = &mut self.file {
            text.push(b'\n');
            let written = file.write_all(&text).and_then(|()| file.flush());
            written.map_err(FileError::io(path))?;
        }
        self.take(read);
        Ok(())
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Bench(header) => self.header = Some(*header),
            Line::Run(record) => self.records.push(*record),
            Line::Refused(refusal) => self.refusals.push(refusal),
        }
    }

    /// What was measured on and how.
    pub(crate) fn header(&self) -> Option<(&Configuration, &About)> {
        self.header.as_ref().map(|header| (&header.configuration, &header.about))
    }

    /// A condition's run of a round.
    pub(crate) fn get(&self, condition: &Condition, round: usize) -> Option<&Record> {
        let key = condition.key();
        self.records.iter().find(|run| run.round == round && run.setting == key)
    }

    /// Why a condition was refused, if it was.
    pub(crate) fn refusal(&self, condition: &Condition) -> Option<&str> {
        let key = condition.key();
        let found = self.refusals.iter().find(|refusal| refusal.setting == key);
        found.map(|refusal| refusal.message.as_str())
    }

    /// How many of a condition's runs are missing.
    pub(crate) fn missing(&self, condition: &Condition, rounds: usize) -> usize {
        if self.refusal(condition).is_some() {
            return 0;
        }
        (0..rounds).filter(|&round| self.get(condition, round).is_none()).count()
    }

    /// Whether anything is left to run.
    pub(crate) fn is_incomplete(&self, conditions: &[Condition], rounds: usize) -> bool {
        conditions.iter().any(|condition| self.missing(condition, rounds) > 0)
    }
}

/// The journal's place: `bench.json` has `bench.jsonl`, other names are lengthened.
fn path(out: &Path) -> PathBuf {
    if out.extension().is_some_and(|ending| ending == "json") {
        return out.with_extension(ENDING);
    }
    let mut name = out.as_os_str().to_owned();
    name.push(".");
    name.push(ENDING);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_the_document() {
        assert_eq!(path(Path::new("a/b.json")), Path::new("a/b.jsonl"));
        assert_eq!(path(Path::new("a/b")), Path::new("a/b.jsonl"));
        assert_eq!(path(Path::new("a/b.jsonl")), Path::new("a/b.jsonl.jsonl"));
    }
}
