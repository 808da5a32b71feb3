//! Reads a delimited file row by row, with byte offsets, a limit on row size and tolerance for
//! damaged rows.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use csv::{ByteRecord, Position, Reader, ReaderBuilder};

use crate::missing::is_missing;
use crate::{Damaged, Error};

/// The largest accepted row in bytes. No row of a published file comes near it; a larger one
/// usually means an unclosed quote, which would otherwise pull the rest of the file into memory.
pub(crate) const ROW_LIMIT: u64 = 256 << 20;

const BUFFER: usize = 256 << 10;

/// A reader that fails once a row has used up its byte limit.
struct Capped<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other("row limit"));
        }
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.inner.read(&mut buffer[..room])?;
        self.left -= count as u64;
        Ok(count)
    }
}

impl<R: Seek> Seek for Capped<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// A delimited file with a header, read one row at a time.
pub(crate) struct Table {
    path: PathBuf,
    reader: Reader<Capped<File>>,
    columns: Vec<String>,
    record: ByteRecord,
    limit: u64,
    row: u64,
    ended: bool,
}

impl Table {
    /// Opens a file and reads its header. Column names are lower-cased, except single capital letters.
    pub(crate) fn open(path: &Path, delimiter: u8) -> Result<Self, Error> {
        Self::with_limit(path, delimiter, ROW_LIMIT)
    }

    pub(crate) fn with_limit(path: &Path, delimiter: u8, limit: u64) -> Result<Self, Error> {
        let file = crate::json::open(path)?;
        let reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(BUFFER)
            .from_reader(Capped { inner: file, left: limit });
        let mut table = Self {
            path: path.to_owned(),
            reader,
            columns: Vec::new(),
            record: ByteRecord::new(),
            limit,
            row: 0,
            ended: false,
        };
        table.columns = table.header()?;
        Ok(table)
    }

    fn header(&mut self) -> Result<Vec<String>, Error> {
        let fail = |reason: &str| Error::format(&self.path, reason);
        match self.reader.read_byte_record(&mut self.record) {
            Ok(true) => {}
            Ok(false) => return Err(fail("the file is empty, a header row is expected")),
            Err(error) => return Err(fail(&self.reason(&error))),
        }
        let mut names = Vec::new();
        let mut seen = BTreeSet::new();
        for cell in &self.record {
            let name =
                std::str::from_utf8(cell).map_err(|_| fail("the header is not UTF-8 text"))?;
            let name = column_name(name.trim());
            if !seen.insert(name.clone()) {
                return Err(fail(&format!(
                    "two columns are named '{}'",
                    crate::error::excerpt(&name)
                )));
            }
            names.push(name);
        }
        Ok(names)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    pub(crate) fn require(&self, name: &str) -> Result<usize, Error> {
        self.column(name).ok_or_else(|| Error::Column {
            path: self.path.clone(),
            name: name.to_owned(),
            found: crate::error::excerpt(&self.columns.join(", ")),
        })
    }

    /// Reads the next row; `None` at the end. After a row above the limit or an I/O error, the rest
    /// of the file is not read.
    pub(crate) fn read(&mut self) -> Option<Result<(), Damaged>> {
        if self.ended {
            return None;
        }
        self.row += 1;
        self.reader.get_mut().left = self.limit;
        match self.reader.read_byte_record(&mut self.record) {
            Ok(true) if self.record.len() == self.columns.len() => Some(Ok(())),
            Ok(true) => Some(Err(self.damaged(format!(
                "{} cells, the header has {}",
                self.record.len(),
                self.columns.len()
            )))),
            Ok(false) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.ended = true;
                let reason = format!("{}; the rest of the file is not read", self.reason(&error));
                Some(Err(self.damaged(reason)))
            }
        }
    }

    fn reason(&self, error: &csv::Error) -> String {
        match error.kind() {
            csv::ErrorKind::Io(error) if error.to_string() == "row limit" => format!(
                "a row of more than {} bytes: accepted are {} at most, is a quote left open?",
                self.limit, self.limit
            ),
            csv::ErrorKind::Io(error) => format!("cannot be read: {error}"),
            _ => error.to_string(),
        }
    }

    pub(crate) fn damaged(&self, reason: String) -> Damaged {
        Damaged { file: self.path.clone(), row: self.row, index: None, lost: 1, reason }
    }

    /// The bytes of a cell of the current row; empty if the column does not exist.
    pub(crate) fn raw(&self, column: usize) -> &[u8] {
        self.record.get(column).unwrap_or(b"")
    }

    /// A cell as text; `None` if it counts as a missing value.
    pub(crate) fn text(&self, column: usize) -> Result<Option<&str>, String> {
        let cell = self.raw(column);
        if is_missing(cell) {
            return Ok(None);
        }
        std::str::from_utf8(cell).map(Some).map_err(|_| {
            format!("column '{}' is not UTF-8 text", self.columns.get(column).map_or("", |c| c))
        })
    }

    /// The byte offsets at which the current row begins and ends.
    pub(crate) fn span(&self) -> (u64, u64) {
        let start = self.record.position().map_or(0, Position::byte);
        (start, self.reader.position().byte())
    }

    /// Moves to the start of a row, at an offset given by [`Table::span`].
    pub(crate) fn seek(&mut self, byte: u64) -> Result<(), Error> {
        let mut position = Position::new();
        position.set_byte(byte);
        self.ended = false;
        let moved = self.reader.seek(position);
        moved.map_err(|error| Error::format(&self.path, self.reason(&error)))
    }
}

/// A column name in lower case, except that a single letter (an option's column) is kept.
pub(crate) fn column_name(name: &str) -> String {
    if name.len() == 1 { name.to_owned() } else { name.to_lowercase() }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(content: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        file
    }

    #[test]
    fn an_open_quote_stops_at_the_limit() {
        let mut content = b"index\tquestion\n1\tfine\n2\t\"open ".to_vec();
        content.resize(1 << 20, b'x');
        let file = file(&content);
        let mut table = Table::with_limit(file.path(), b'\t', 64 << 10).unwrap();
        assert!(table.read().unwrap().is_ok());
        let damaged = table.read().unwrap().unwrap_err();
        assert_eq!(damaged.row, 2);
        assert!(damaged.reason.contains("more than 65536 bytes"), "{damaged}");
        assert!(table.record.as_slice().len() <= 128 << 10);
        assert!(table.read().is_none());
    }

    #[test]
    fn offsets_lead_back_to_the_row() {
        let file = file(b"\xef\xbb\xbfIndex\tA\r\n1\t\"a\r\n\tb\"\r\n\r\n2\tc\r\n3\td");
        let mut table = Table::open(file.path(), b'\t').unwrap();
        assert_eq!(table.columns(), ["index", "A"]);
        let mut spans = Vec::new();
        while let Some(row) = table.read() {
            row.unwrap();
            spans.push((table.span().0, table.raw(0).to_vec()));
        }
        assert_eq!(spans.len(), 3);
        for (start, index) in spans.into_iter().rev() {
            table.seek(start).unwrap();
            table.read().unwrap().unwrap();
            assert_eq!(table.raw(0), index);
        }
    }
}
