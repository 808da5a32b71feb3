//! Reads JSON files and JSON Lines files (one object per line).

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use mico_score::Fields;
use mico_util::input::{open_regular, require_length};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Damaged, Error};

/// The longest accepted line in bytes, far above that of any question or answer file.
const LINE_LIMIT: u64 = 64 << 20;

/// The largest accepted JSON file in bytes, more than twice that of COCO's annotations.
const FILE_LIMIT: u64 = 1 << 30;

/// Opens a regular file for reading; anything else, such as a folder, is an error.
pub(crate) fn open(path: &Path) -> Result<File, Error> {
    open_regular(path).map_err(|e| Error::io(path, &e))
}

/// Reads a whole JSON file; a byte order mark is skipped.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let file = open(path)?;
    let length = file.metadata().map_err(|e| Error::io(path, &e))?.len();
    require_length(length, FILE_LIMIT).map_err(|e| Error::io(path, &e))?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let start = reader.fill_buf().map_err(|e| Error::io(path, &e))?;
    if start.starts_with(b"\xef\xbb\xbf") {
        reader.consume(3);
    }
    serde_json::from_reader(reader).map_err(|error| Error::format(path, error))
}

/// A text or number as text; `None` for other types.
pub(crate) fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The objects of a JSON Lines file, one at a time.
pub(crate) struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
    line: Vec<u8>,
    row: u64,
    ended: bool,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let reader = BufReader::new(open(path)?);
        Ok(Self { path: path.to_owned(), reader, line: Vec::new(), row: 0, ended: false })
    }

    pub(crate) fn damaged(&self, index: Option<String>, reason: impl Into<String>) -> Damaged {
        Damaged { file: self.path.clone(), row: self.row, index, lost: 1, reason: reason.into() }
    }

    /// The next object; blank lines are skipped.
    pub(crate) fn next(&mut self) -> Option<Result<Fields, Damaged>> {
        loop {
            if self.ended {
                return None;
            }
            self.row += 1;
            self.line.clear();
            let mut part = (&mut self.reader).take(LINE_LIMIT);
            match part.read_until(b'\n', &mut self.line) {
                Ok(0) => self.ended = true,
                Ok(count) if count as u64 == LINE_LIMIT && self.line.last() != Some(&b'\n') => {
                    self.ended = true;
                    let reason = format!(
                        "a line of more than {LINE_LIMIT} bytes; the rest of the file is not read"
                    );
                    return Some(Err(self.damaged(None, reason)));
                }
                Ok(_) => {
                    let line = self.line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.line);
                    if line.trim_ascii().is_empty() {
                        continue;
                    }
                    let read = serde_json::from_slice::<Fields>(line);
                    return Some(
                        read.map_err(|e| self.damaged(None, format!("not a JSON object: {e}"))),
                    );
                }
                Err(error) => {
                    self.ended = true;
                    let reason =
                        format!("cannot be read: {error}; the rest of the file is not read");
                    return Some(Err(self.damaged(None, reason)));
                }
            }
        }
    }
}
