//! Reads the first sheet of an Excel workbook as rows.

use std::io::BufReader;
use std::path::Path;

use calamine::{Data, Range, Reader, Xlsx};
use mico_score::Fields;
use mico_util::catch_panic;
use serde_json::{Value, json};

use crate::Error;
use crate::json;

/// The largest accepted workbook in bytes; real ones have a few megabytes, and unpacking multiplies
/// the size.
const FILE_LIMIT: u64 = 512 << 20;

pub(super) fn rows(path: &Path) -> Result<Vec<Fields>, Error> {
    let file = json::open(path)?;
    let size = file.metadata().map_err(|e| Error::io(path, &e))?.len();
    if size > FILE_LIMIT {
        return Err(Error::format(path, format!("{size} bytes, at most {FILE_LIMIT} accepted")));
    }
    // The library may panic on malformed workbooks.
    let range = catch_panic(|| {
        let mut book = Xlsx::new(BufReader::new(file)).map_err(|error| error.to_string())?;
        let first = book.worksheet_range_at(0).ok_or("no sheet")?;
        first.map_err(|error| error.to_string())
    });
    let range = range.unwrap_or_else(|| Err("the workbook is damaged".into()));
    let range = range.map_err(|reason: String| Error::format(path, reason))?;
    objects(path, &range)
}

fn objects(path: &Path, range: &Range<Data>) -> Result<Vec<Fields>, Error> {
    let mut rows = range.rows();
    let header = rows.next().ok_or_else(|| Error::format(path, "the first sheet is empty"))?;
    let names: Vec<String> =
        header.iter().map(|cell| crate::tsv::column_name(&plain(cell))).collect();
    if let Some(twice) =
        names.iter().enumerate().find(|(n, name)| names.iter().take(*n).any(|o| o == *name))
    {
        let name = crate::error::excerpt(twice.1);
        return Err(Error::format(path, format!("two columns are named '{name}'")));
    }
    let object = |row: &[Data]| {
        let cells = names.iter().zip(row);
        cells.map(|(name, cell)| (name.clone(), value(cell))).collect::<Fields>()
    };
    Ok(rows.map(object).collect())
}

fn value(cell: &Data) -> Value {
    json!(plain(cell))
}

/// A cell as text; whole numbers are printed without a decimal point.
fn plain(cell: &Data) -> String {
    match cell {
        Data::Empty => String::new(),
        other => other.to_string(),
    }
}
