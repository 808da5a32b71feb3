//! Finished runs on disk: a line each, so that an interruption loses none that was finished.
//!
//! The first line says what decides the measurements; each further one is a run or the refusal of a
//! setting. A round is begun anew by no session: what is missing of it is run by the next one.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use mico_eval::Error;
use serde::{Deserialize, Serialize};

use super::configuration::{About, Configuration};
use super::sample::{Facts, Sample};
use super::settings::Setting;
use crate::failure::Failure;

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

/// One run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    /// The key of the setting.
    pub(super) setting: String,
    /// The round, from 0.
    pub(super) round: usize,
    /// Which of the processes that wrote to the journal ran it, from 0.
    pub(super) session: usize,
    pub(super) sample: Sample,
    pub(super) facts: Facts,
}

/// A setting the engine does not run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Refusal {
    /// The key of the setting.
    pub(super) setting: String,
    /// Why.
    pub(super) message: String,
}

/// All runs so far, and where new ones go.
#[derive(Debug, Default)]
pub(super) struct Journal {
    header: Option<Header>,
    records: Vec<Record>,
    refusals: Vec<Refusal>,
    session: usize,
    file: Option<(PathBuf, File)>,
}

impl Journal {
    /// Runs kept in memory alone.
    pub(super) fn in_memory() -> Self {
        Self::default()
    }

    /// Opens the journal beside `out`. Runs that are already there count if `resume` says so and are
    /// refused otherwise.
    pub(super) fn open(out: &Path, resume: bool) -> Result<Self, Failure> {
        let path = path(out);
        let io = |source| Error::Io { path: path.clone(), source };
        let text = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(io(error).into()),
        };
        if !resume && !text.is_empty() {
            return Err(Error::Occupied { path }.into());
        }
        // What follows the last line break is what an interruption left of a line.
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut journal = Self::default();
        let lines = text[..whole].split(|&byte| byte == b'\n').enumerate();
        for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let broken =
                |message: String| Error::Journal { path: path.clone(), line: index + 1, message };
            let line = serde_json::from_slice(line).map_err(|error| broken(error.to_string()))?;
            let first = journal.header.is_none();
            match line {
                Line::Bench(_) if !first => return Err(broken("a second beginning".into()).into()),
                Line::Run(_) | Line::Refused(_) if first => {
                    return Err(broken("no beginning".into()).into());
                }
                line => journal.take(line),
            }
        }
        journal.session = journal.records.iter().map(|run| run.session + 1).max().unwrap_or(0);
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(io)?;
        file.set_len(whole as u64).map_err(io)?;
        journal.file = Some((path, file));
        Ok(journal)
    }

    /// Refuses to go on with what was measured differently.
    pub(super) fn check(&self, now: &Configuration) -> Result<(), Failure> {
        let differences =
            self.header.as_ref().and_then(|header| header.configuration.differences(now));
        differences.map_or(Ok(()), |differences| Err(self.other(&differences)))
    }

    /// Begins the file, or holds what it began with against what is now.
    pub(super) fn begin(&mut self, now: &Configuration, about: &About) -> Result<(), Failure> {
        match &self.header {
            None => {
                let header = Header { configuration: now.clone(), about: about.clone() };
                self.write(&Line::Bench(Box::new(header)))
            }
            Some(header) => match header.about.differences(about) {
                None => Ok(()),
                Some(differences) => Err(self.other(&differences)),
            },
        }
    }

    fn other(&self, differences: &str) -> Failure {
        let path = self.file.as_ref().map_or(Path::new(""), |(path, _)| path);
        Failure::misused(format!(
            "{} holds runs with {differences}, accepted: --resume with the same, or another --out",
            path.display()
        ))
    }

    /// Takes a finished run in and writes it out at once.
    pub(super) fn append(&mut self, mut record: Record) -> Result<(), Failure> {
        record.session = self.session;
        self.write(&Line::Run(Box::new(record)))
    }

    /// Takes in that a setting was refused.
    pub(super) fn refuse(&mut self, setting: &Setting, message: String) -> Result<(), Failure> {
        self.write(&Line::Refused(Refusal { setting: setting.key(), message }))
    }

    /// Writes a line and takes it in as it would be read: a number's last digit may change on the
    /// way, and a report must not depend on whether it was interrupted.
    fn write(&mut self, line: &Line) -> Result<(), Failure> {
        let mut text = serde_json::to_vec(line).map_err(Failure::failed)?;
        let read = serde_json::from_slice(&text).map_err(Failure::failed)?;
        if let Some((path, file)) = &mut self.file {
            text.push(b'\n');
            let written = file.write_all(&text).and_then(|()| file.flush());
            written.map_err(|source| Error::Io { path: path.clone(), source })?;
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
    pub(super) fn header(&self) -> Option<(&Configuration, &About)> {
        self.header.as_ref().map(|header| (&header.configuration, &header.about))
    }

    /// A setting's run of a round.
    pub(super) fn get(&self, setting: &Setting, round: usize) -> Option<&Record> {
        let key = setting.key();
        self.records.iter().find(|run| run.round == round && run.setting == key)
    }

    /// Why a setting was refused, if it was.
    pub(super) fn refusal(&self, setting: &Setting) -> Option<&str> {
        let key = setting.key();
        let found = self.refusals.iter().find(|refusal| refusal.setting == key);
        found.map(|refusal| refusal.message.as_str())
    }

    /// How many of a setting's runs are missing.
    pub(super) fn missing(&self, setting: &Setting, rounds: usize) -> usize {
        if self.refusal(setting).is_some() {
            return 0;
        }
        (0..rounds).filter(|&round| self.get(setting, round).is_none()).count()
    }

    /// Whether anything is left to run.
    pub(super) fn lacks(&self, settings: &[Setting], rounds: usize) -> bool {
        settings.iter().any(|setting| self.missing(setting, rounds) > 0)
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
