//! Quality that was measured elsewhere: the `summary.json` of an evaluation.

use std::path::Path;

use mico_engine::Setting;
use mico_eval::{Condition, FileError};
use mico_util::input::read_regular;
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::report::Row;

/// The most bytes of a summary; hundreds of conditions take one.
const FILE_LIMIT: u64 = 64 << 20;

/// Rel of the conditions of an evaluation.
#[derive(Debug, Deserialize)]
pub struct Quality {
    rows: Vec<ScoredRow>,
}

#[derive(Debug, Deserialize)]
struct ScoredRow {
    setting: String,
    tokens: Option<usize>,
    rel: Option<Estimate>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Estimate {
    value: f64,
}

impl Quality {
    /// Reads the `summary.json` of an evaluation. It is an error if no row of it has a Rel.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = read_regular(path, FILE_LIMIT).map_err(FileError::io(path))?;
        let wrong = |message| Error::Quality { path: path.to_path_buf(), message };
        let quality: Self = serde_json::from_slice(&bytes)
            .map_err(|error| wrong(format!("no summary of mico eval ({error})")))?;
        if quality.rows.iter().all(|row| row.rel.is_none()) {
            return Err(wrong("no row has a Rel".to_owned()));
        }
        Ok(quality)
    }

    /// Rel in percent of a row's condition at its budget. An evaluation names a condition by what
    /// differs from the rest of its run, which may or may not share the switches of this one: a row
    /// that names them all comes first.
    pub(crate) fn rel(&self, row: &Row) -> Option<f64> {
        let untouched = row.setting.with_pruning(None);
        [Setting::default(), untouched].into_iter().find_map(|base| {
            let label = Condition::of(row.setting.clone(), &base).label;
            let same = |scored: &&ScoredRow| scored.setting == label && scored.tokens == row.budget;
            self.rows.iter().find(same).and_then(|scored| scored.rel).map(|rel| rel.value)
        })
    }
}
