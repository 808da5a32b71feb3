//! Records on disk: appended line by line, so that an interruption loses none that was written.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::record::{Record, RecordKey};

/// The file's name in its folder.
const FILE: &str = "records.jsonl";

/// All records so far, and where new ones go.
#[derive(Debug, Default)]
pub struct Journal {
    records: BTreeMap<RecordKey, Record>,
    file: Option<(PathBuf, File)>,
}

impl Journal {
    /// Records kept in memory alone.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Opens `folder` (made if need be). Records that are already there count if `resume` says so and
    /// are refused otherwise.
    pub fn open(folder: &Path, resume: bool) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let path = folder.join(FILE);
        let text = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::io(&path)(error)),
        };
        // What follows the last line break is what an interruption left of a line.
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        if !resume && !text.is_empty() {
            return Err(Error::Occupied { path });
        }
        let records = parse(&path, &text[..whole])?;
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.map_err(Error::io(&path))?;
        file.set_len(whole as u64).map_err(Error::io(&path))?;
        Ok(Self { records, file: Some((path, file)) })
    }

    /// The record of that key.
    pub fn get(&self, key: &RecordKey) -> Option<&Record> {
        self.records.get(key)
    }

    /// Takes records in and writes them out at once.
    pub(crate) fn append(&mut self, records: Vec<Record>) -> Result<()> {
        if let Some((path, file)) = &mut self.file {
            let mut lines = Vec::new();
            for record in &records {
                serde_json::to_writer(&mut lines, record)
                    .map_err(|error| Error::io(path)(error.into()))?;
                lines.push(b'\n');
            }
            file.write_all(&lines).map_err(Error::io(path))?;
        }
        self.records.extend(records.into_iter().map(|record| (record.key.clone(), record)));
        Ok(())
    }
}

fn parse(path: &Path, text: &[u8]) -> Result<BTreeMap<RecordKey, Record>> {
    let lines = text.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let records = lines.map(|(index, line)| {
        let record: Record = serde_json::from_slice(line).map_err(|error| Error::Journal {
            path: path.to_path_buf(),
            line: index + 1,
            message: error.to_string(),
        })?;
        Ok((record.key.clone(), record))
    });
    records.collect()
}
