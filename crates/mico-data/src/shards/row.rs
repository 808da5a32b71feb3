//! Reads cells of a parquet row as texts, numbers, lists and images.

use super::cursor::{Cell, Cursor};
use crate::error::excerpt;

/// Access to the current row of a cursor.
pub(super) struct Row<'a>(pub(super) &'a mut Cursor);

/// An image as stored in a cell: the bytes of its file, or only its path.
pub(super) struct Stored {
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) path: Option<String>,
}

/// Why a column could not be read. `Value` concerns this row; `Structure` the rest of the row group
/// as well.
#[derive(Debug)]
pub(super) enum Failure {
    Value(String),
    Structure(String),
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Value(reason)
    }
}

impl From<&str> for Failure {
    fn from(reason: &str) -> Self {
        Self::Value(reason.to_owned())
    }
}

type Read<T> = Result<T, Failure>;

impl Row<'_> {
    fn cells(&mut self, name: &str, inner: Option<&str>) -> Read<Option<Vec<Option<Cell>>>> {
        match self.0.find(name, inner) {
            Some(column) => self.0.read(column).map_err(Failure::Structure),
            None => Ok(None),
        }
    }

    fn single(&mut self, name: &str) -> Read<Option<Cell>> {
        let cells = self.cells(name, None)?.unwrap_or_default();
        Ok(cells.into_iter().next().flatten())
    }

    /// A text or number as text; `None` if it is null or empty.
    pub(super) fn text(&mut self, name: &str) -> Read<Option<String>> {
        let cell = self.single(name)?;
        let text = cell.map(|cell| as_text(name, cell)).transpose()?;
        Ok(text.filter(|text| !text.is_empty()))
    }

    /// A text that must not be null or empty.
    pub(super) fn need(&mut self, name: &str) -> Read<String> {
        self.text(name)?.ok_or_else(|| format!("column '{name}' is empty").into())
    }

    /// A whole number, which may be written as text.
    pub(super) fn integer(&mut self, name: &str) -> Read<i64> {
        let text = self.need(name)?;
        let number = text.trim().trim_end_matches(".0").parse();
        number.map_err(|_| {
            format!("{name} is '{}', a whole number is expected", excerpt(&text)).into()
        })
    }

    /// A list of texts; a single text counts as a list of one.
    pub(super) fn texts(&mut self, name: &str) -> Read<Vec<String>> {
        let cells = self.cells(name, None)?.unwrap_or_default();
        let texts = cells.into_iter().flatten().map(|cell| as_text(name, cell));
        Ok(texts.collect::<Result<_, _>>()?)
    }

    /// A list of finite numbers; empty if the cell is null.
    pub(super) fn numbers(&mut self, name: &str) -> Read<Vec<f64>> {
        let cells = self.cells(name, None)?.unwrap_or_default();
        let number = |cell| match cell {
            Cell::Int(n) => Ok(n as f64),
            Cell::Real(n) if n.is_finite() => Ok(n),
            _ => Err(Failure::Value(format!("column '{name}' holds no numbers"))),
        };
        cells.into_iter().flatten().map(number).collect()
    }

    /// The images of a column, stored as structures of bytes and path or as bare bytes.
    pub(super) fn pictures(&mut self, name: &str) -> Read<Vec<Stored>> {
        let mut bytes = self.cells(name, Some("bytes"))?.unwrap_or_default();
        if self.0.find(name, Some("bytes")).is_none() {
            bytes = self.cells(name, None)?.unwrap_or_default();
        }
        let mut paths = self.cells(name, Some("path"))?.unwrap_or_default();
        let count = bytes.len().max(paths.len());
        bytes.resize(count, None);
        paths.resize(count, None);
        let mut stored = Vec::new();
        for (bytes, path) in bytes.into_iter().zip(paths) {
            let bytes = match bytes {
                Some(Cell::Bytes(bytes)) => Some(bytes.data().to_vec()).filter(|b| !b.is_empty()),
                Some(_) => return Err(format!("column '{name}' holds no bytes").into()),
                None => None,
            };
            let path = path.map(|cell| as_text(name, cell)).transpose()?;
            if bytes.is_some() || path.is_some() {
                stored.push(Stored { bytes, path });
            }
        }
        Ok(stored)
    }
}

fn as_text(name: &str, cell: Cell) -> Result<String, String> {
    match cell {
        Cell::Bool(true) => Ok("True".into()),
        Cell::Bool(false) => Ok("False".into()),
        Cell::Int(number) => Ok(number.to_string()),
        Cell::Real(number) => Ok(number.to_string()),
        Cell::Bytes(bytes) => {
            let text = std::str::from_utf8(bytes.data());
            text.map(str::to_owned).map_err(|_| format!("column '{name}' is not UTF-8 text"))
        }
    }
}
