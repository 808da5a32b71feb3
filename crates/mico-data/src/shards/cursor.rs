//! Reads rows of one parquet file, decoding only the columns that are asked for.
//!
//! One page of every column in use is in memory at a time. Pages that are not needed are skipped
//! undecoded.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use mico_util::catch_panic;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::Error;
use crate::error::excerpt;
use crate::json;

/// A single value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Bool(bool),
    Int(i64),
    Real(f64),
    Bytes(ByteArray),
}

/// The values of one row in one column, several for a list; `None` if the row or its list is null
/// or empty.
pub(super) type Values = Option<Vec<Option<Cell>>>;

/// The reader of one column in the current row group.
struct Leaf {
    reader: ColumnReader,
    /// The number of records read or skipped in this row group.
    position: u64,
    max_definition: i16,
    /// The definition level from which on a list has an element; 0 for a column that is not a list.
    element_definition: i16,
}

/// A position in a parquet file.
pub(super) struct Cursor {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    group: usize,
    /// The number of rows in the groups before the current one.
    before: u64,
    /// The 1-based row within the current group; 0 before its first row.
    at: u64,
    leaves: BTreeMap<usize, Leaf>,
}

/// Calls the parquet library, which may panic on damaged data; a panic becomes an error.
fn guarded<T>(work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, String> {
    match catch_panic(work) {
        Some(result) => result.map_err(|error| excerpt(&error.to_string())),
        None => Err("the file is damaged".into()),
    }
}

impl Cursor {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let file = json::open(path)?;
        let reader = guarded(|| SerializedFileReader::new(file))
            .map_err(|reason| Error::format(path, format!("not a parquet file: {reason}")))?;
        let (group, before, at) = (0, 0, 0);
        let path = path.to_owned();
        let cursor = Self { path, reader, group, before, at, leaves: BTreeMap::new() };
        let metadata = cursor.reader.metadata();
        if metadata.row_groups().iter().any(|g| g.num_rows() < 0) {
            return Err(Error::format(&cursor.path, "a negative number of rows"));
        }
        Ok(cursor)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The number of rows, as stated in the footer.
    pub(super) fn rows(&self) -> u64 {
        (0..self.reader.metadata().num_row_groups())
            .fold(0, |sum: u64, group| sum.saturating_add(self.rows_of(group)))
    }

    fn rows_of(&self, group: usize) -> u64 {
        let groups = self.reader.metadata().row_groups();
        groups.get(group).map_or(0, |g| u64::try_from(g.num_rows()).unwrap_or(0))
    }

    /// Moves to the next row; `false` at the end of the file.
    pub(super) fn advance(&mut self) -> bool {
        self.at = self.at.saturating_add(1);
        while self.at > self.rows_of(self.group) {
            if self.group >= self.reader.metadata().num_row_groups() {
                return false;
            }
            self.before = self.before.saturating_add(self.rows_of(self.group));
            self.group += 1;
            self.at = 1;
            self.leaves.clear();
        }
        true
    }

    /// Skips the rest of the current row group and returns the number of rows skipped.
    pub(super) fn abandon(&mut self) -> u64 {
        let left = self.rows_of(self.group).saturating_sub(self.at);
        self.at = self.rows_of(self.group);
        left
    }

    /// The number of the current row, from 1.
    pub(super) fn row(&self) -> u64 {
        self.before.saturating_add(self.at)
    }

    /// Moves to a row, numbered from 1.
    pub(super) fn seek(&mut self, row: u64) {
        let (mut group, mut before) = (0, 0);
        while row > before + self.rows_of(group) && group < self.reader.metadata().num_row_groups()
        {
            before += self.rows_of(group);
            group += 1;
        }
        let at = row - before;
        if group != self.group || at < self.at {
            self.leaves.clear();
        }
        (self.group, self.before, self.at) = (group, before, at);
    }

    /// The names of all columns, as dotted paths.
    pub(super) fn columns(&self) -> Vec<String> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        schema.columns().iter().map(|column| column.path().string()).collect()
    }

    /// The index of the column `name`; with `inner`, of that member of its structure. `None` if it
    /// does not exist.
    pub(super) fn find(&self, name: &str, inner: Option<&str>) -> Option<usize> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        schema.columns().iter().position(|column| {
            let parts = column.path().parts();
            let is_named = parts.first().is_some_and(|part| part == name);
            let is_list = column.max_rep_level() > 0;
            match inner {
                Some(inner) => {
                    is_named && parts.len() > 1 && parts.last().is_some_and(|p| p == inner)
                }
                None => is_named && (parts.len() == 1 || is_list),
            }
        })
    }

    /// The values of the current row in a column.
    pub(super) fn read(&mut self, column: usize) -> Result<Values, String> {
        let row = self.at;
        if !self.leaves.contains_key(&column) {
            let leaf = self.leaf(column)?;
            self.leaves.insert(column, leaf);
        }
        let Some(leaf) = self.leaves.get_mut(&column) else { return Err("no such column".into()) };
        leaf.read(row).map_err(|reason| {
            let name = self.columns().get(column).cloned().unwrap_or_default();
            format!("column '{}': {reason}", excerpt(&name))
        })
    }

    fn leaf(&self, column: usize) -> Result<Leaf, String> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let descriptor = schema.columns().get(column).ok_or("no such column")?;
        if descriptor.max_rep_level() > 1 {
            return Err("lists inside lists are not accepted".into());
        }
        let is_list = descriptor.max_rep_level() == 1;
        let element_definition = if is_list { descriptor.repeated_ancestor_def_level() } else { 0 };
        let reader = guarded(|| self.reader.get_row_group(self.group)?.get_column_reader(column))?;
        let max_definition = descriptor.max_def_level();
        Ok(Leaf { reader, position: 0, max_definition, element_definition })
    }
}

impl Leaf {
    /// Reads the record of a row of the group, numbered from 1.
    fn read(&mut self, row: u64) -> Result<Values, String> {
        let skip = row.saturating_sub(1).saturating_sub(self.position);
        let skip = usize::try_from(skip).map_err(|_| "too many rows")?;
        self.position = row;
        let (max, element) = (self.max_definition, self.element_definition);
        match &mut self.reader {
            ColumnReader::BoolColumnReader(r) => record(r, skip, (max, element), Cell::Bool),
            ColumnReader::Int32ColumnReader(r) => {
                record(r, skip, (max, element), |v| Cell::Int(v.into()))
            }
            ColumnReader::Int64ColumnReader(r) => record(r, skip, (max, element), Cell::Int),
            ColumnReader::FloatColumnReader(r) => {
                record(r, skip, (max, element), |v| Cell::Real(v.into()))
            }
            ColumnReader::DoubleColumnReader(r) => record(r, skip, (max, element), Cell::Real),
            ColumnReader::ByteArrayColumnReader(r) => record(r, skip, (max, element), Cell::Bytes),
            ColumnReader::FixedLenByteArrayColumnReader(r) => {
                record(r, skip, (max, element), |v| Cell::Bytes(v.into()))
            }
            ColumnReader::Int96ColumnReader(_) => Err("a column of time stamps".into()),
        }
    }
}

fn record<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    skip: usize,
    (max_definition, element_definition): (i16, i16),
    cell: impl Fn(T::T) -> Cell,
) -> Result<Values, String> {
    let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let read = guarded(|| {
        let passed = reader.skip_records(skip)?;
        let levels = (Some(&mut definitions), Some(&mut repetitions));
        let (records, ..) = reader.read_records(1, levels.0, levels.1, &mut values)?;
        Ok(passed == skip && records == 1)
    })?;
    if !read {
        return Err("ends before this row".into());
    }
    let mut values = values.into_iter().map(cell);
    if max_definition == 0 {
        return Ok(Some(values.map(Some).collect()));
    }
    let mut found = Vec::new();
    for definition in definitions {
        if definition == max_definition {
            found.push(Some(values.next().ok_or("fewer values than announced")?));
        } else if element_definition > 0 && definition >= element_definition {
            found.push(None);
        }
    }
    // Empty and null lists are treated alike.
    Ok((!found.is_empty()).then_some(found))
}
