//! Quality that was measured elsewhere: the `summary.json` of `mico eval --out`.

use std::path::Path;

use serde::Deserialize;

use super::report::Row;
use crate::failure::Failure;

/// What `mico eval` calls the model that prunes nothing.
const UNPRUNED: &str = "unpruned";

/// Rel of the settings of an evaluation.
#[derive(Debug, Deserialize)]
pub(super) struct Quality {
    rows: Vec<Scored>,
}

#[derive(Debug, Deserialize)]
struct Scored {
    setting: String,
    tokens: Option<usize>,
    rel: Option<Estimate>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Estimate {
    value: f64,
}

impl Quality {
    /// Reads the file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let failed =
            |message: String| Failure::failed(format!("--quality {}: {message}", path.display()));
        let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
        let quality: Self = serde_json::from_slice(&bytes)
            .map_err(|error| failed(format!("no summary of mico eval ({error})")))?;
        if quality.rows.iter().all(|row| row.rel.is_none()) {
            return Err(failed("no row has a Rel".to_owned()));
        }
        Ok(quality)
    }

    /// Rel in percent of a row's method at its budget.
    pub(super) fn rel(&self, row: &Row) -> Option<f64> {
        let setting = match (row.budget, row.refine_layer) {
            (None, _) => UNPRUNED.to_owned(),
            (Some(_), None) => row.method.clone(),
            (Some(_), Some(layer)) => format!("{} K={layer}", row.method),
        };
        let same = |scored: &&Scored| scored.setting == setting && scored.tokens == row.budget;
        Some(self.rows.iter().find(same)?.rel?.value)
    }
}
