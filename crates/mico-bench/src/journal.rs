//! Finished runs on disk: a line each, so that an interruption loses none that was finished.
//!
//! The first line says what decides the measurements; each further one is a run or the refusal of a
//! condition. A round is begun anew by no session: what is missing of it is run by the next one.
//!
//! This is not `mico-eval`'s journal, whose records are answers: one of a kind by item and condition, the
//! same whenever they are asked again. Times are never the same twice, count by their round, and mean
//! nothing without the machine and configuration that stand at the head of the file.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use mico_eval::{Condition, FileError, is_cut};
use mico_util::input::{BoundedLines, open_regular, require_length};
use serde::{Deserialize, Serialize};

use crate::concurrency::{Level, LevelSample};
use crate::configuration::{About, Configuration};
use crate::error::{Error, Result};
use crate::sample::{Facts, Sample};

/// The ending of a journal's name.
const ENDING: &str = "jsonl";

/// The longest line: a run is a page of numbers.
const LINE_LIMIT: u64 = 4 << 20;
/// The most bytes of a journal, more than a year of runs.
const FILE_LIMIT: u64 = 256 << 20;
/// How lines begin; of a line that was cut, this much may be left.
const BEGINNINGS: [&[u8]; 4] = [b"{\"bench\":", b"{\"run\":", b"{\"level\":", b"{\"refused\":"];

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Bench(Box<Header>),
    Run(Box<Record>),
    Level(Box<LevelRecord>),
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

/// One counted turn of several clients under one condition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LevelRecord {
    /// The key of the condition.
    pub(crate) setting: String,
    #[serde(flatten)]
    pub(crate) level: Level,
    /// The round, from 0.
    pub(crate) round: usize,
    /// Which of the processes that wrote to the journal ran it, from 0.
    pub(crate) session: usize,
    pub(crate) sample: LevelSample,
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
    levels: Vec<LevelRecord>,
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
        let path = Self::path_of(out);
        let io = FileError::io(&path);
        let mut journal = Self::default();
        let whole = match open_regular(&path) {
            Ok(file) => journal.read(&path, &file, resume)?,
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(io(error).into()),
        };
        let sessions = journal.records.iter().map(|run| run.session);
        let sessions = sessions.chain(journal.levels.iter().map(|level| level.session));
        journal.session = sessions.map(|session| session.saturating_add(1)).max().unwrap_or(0);
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(&io)?;
        file.set_len(whole).map_err(&io)?;
        journal.file = Some((path, file));
        Ok(journal)
    }

    /// The journal's place: `bench.json` has `bench.jsonl`, other names are lengthened.
    pub fn path_of(out: &Path) -> PathBuf {
        if out.extension().is_some_and(|ending| ending == "json") {
            return out.with_extension(ENDING);
        }
        let mut name = out.as_os_str().to_owned();
        name.push(".");
        name.push(ENDING);
        name.into()
    }

    /// Takes in every whole line; the length up to the last of them.
    fn read(&mut self, path: &Path, file: &File, resume: bool) -> Result<u64> {
        let io = FileError::io(path);
        let length = file.metadata().map_err(&io)?.len();
        if !resume && length > 0 {
            return Err(FileError::Occupied { path: path.to_path_buf() }.into());
        }
        require_length(length, FILE_LIMIT).map_err(&io)?;
        let mut lines = BoundedLines::new(BufReader::new(file), LINE_LIMIT);
        let (mut whole, mut line) = (0, Vec::new());
        loop {
            let more = lines.read(&mut line);
            let broken =
                |reason: &str| Error::from(FileError::no_record(path, lines.number(), reason));
            if !more.map_err(|error| broken(&error.to_string()))? {
                return Ok(whole);
            }
            if line.last() != Some(&b'\n') {
                // What follows the last line break is what an interruption left of a line.
                let cut = BEGINNINGS.iter().any(|start| is_cut(&line, start));
                return if cut { Ok(whole) } else { Err(broken("no line of a journal")) };
            }
            whole += line.len() as u64;
            if line == b"\n" {
                continue;
            }
            let read = serde_json::from_slice(&line).map_err(|error| broken(&error.to_string()))?;
            match (read, self.header.is_none()) {
                (Line::Bench(_), false) => return Err(broken("a second beginning")),
                (Line::Run(_) | Line::Level(_) | Line::Refused(_), true) => {
                    return Err(broken("no beginning"));
                }
                (read, _) => self.take(read),
            }
        }
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

    /// Takes a finished turn of several clients in and writes it out at once.
    pub(crate) fn append_level(&mut self, mut record: LevelRecord) -> Result<()> {
        record.session = self.session;
        self.write(&Line::Level(Box::new(record)))
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
            Line::Level(record) => self.levels.push(*record),
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

    /// A condition's turn at a level in a round.
    pub(crate) fn level(
        &self,
        condition: &Condition,
        level: Level,
        round: usize,
    ) -> Option<&LevelRecord> {
        let key = condition.key();
        let same = |turn: &&LevelRecord| turn.round == round && turn.level == level;
        self.levels.iter().filter(same).find(|turn| turn.setting == key)
    }

    /// Whether a round's run is there: that of a condition alone, or the one at a level.
    pub(crate) fn holds(&self, condition: &Condition, level: Option<Level>, round: usize) -> bool {
        match level {
            None => self.get(condition, round).is_some(),
            Some(level) => self.level(condition, level, round).is_some(),
        }
    }

    /// How many of a condition's runs, alone or at a level, are missing.
    pub(crate) fn missing(
        &self,
        condition: &Condition,
        level: Option<Level>,
        rounds: usize,
    ) -> usize {
        if self.refusal(condition).is_some() {
            return 0;
        }
        (0..rounds).filter(|&round| !self.holds(condition, level, round)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_the_document() {
        assert_eq!(Journal::path_of(Path::new("a/b.json")), Path::new("a/b.jsonl"));
        assert_eq!(Journal::path_of(Path::new("a/b")), Path::new("a/b.jsonl"));
        assert_eq!(Journal::path_of(Path::new("a/b.jsonl")), Path::new("a/b.jsonl.jsonl"));
    }
}
