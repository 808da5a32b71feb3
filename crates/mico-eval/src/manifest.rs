//! What a results folder holds, beside the records: enough to score them again without model or data.

use std::path::Path;

use mico_util::files::write_resolved;
use mico_util::input::read_regular;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::error::Result;
use crate::file_error::FileError;
use crate::item::DamagedRow;
use crate::record::RunKey;
use crate::scoring::TrackSpec;
use crate::shard::Shard;

/// The file's name in its folder.
pub const MANIFEST: &str = "run.json";

/// The most bytes of a manifest: settings and damaged rows take far less.
const FILE_LIMIT: u64 = 64 << 20;

/// One source of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceEntry {
    /// The source, with everything that decides its items and prompts.
    pub source: String,
    /// The tracks of the source with their scoring rules.
    pub tracks: Vec<TrackSpec>,
    /// The common part of its records' keys.
    pub run: RunKey,
    /// Rows that the benchmark's own rules leave out.
    #[serde(default)]
    pub dropped: usize,
    /// Items of each track that were asked; empty while a run is under way.
    #[serde(default)]
    pub items: Vec<usize>,
}

/// A setting that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedSetting {
    /// The label of the setting.
    pub setting: String,
    /// The budget T of the setting; `None` if it prunes nothing.
    pub budget: Option<usize>,
    /// Why the engine, or the budget, rules the setting out.
    pub reason: String,
}

/// A run: what was asked of which model under which settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// What this is called in reports.
    pub title: String,
    /// The version of the program that made the run.
    pub version: String,
    /// The model as it was named.
    pub model: String,
    /// A hash of its files.
    pub fingerprint: String,
    /// How it was called.
    pub argv: Vec<String>,
    /// The sources whose items were asked.
    pub asked: Vec<SourceEntry>,
    /// The settings under which every item was asked.
    pub settings: Vec<Condition>,
    /// Settings that were left out.
    #[serde(default)]
    pub refused: Vec<RefusedSetting>,
    /// The most items of each track.
    pub limit: Option<usize>,
    /// Which part of the items.
    pub shard: Shard,
    /// Whether every item was asked.
    pub finished: bool,
    /// Rows that could not be asked.
    #[serde(default)]
    pub damaged: Vec<DamagedRow>,
}

impl Manifest {
    /// Reads that of a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        let bytes = read_regular(&path, FILE_LIMIT).map_err(FileError::io(&path))?;
        let manifest = serde_json::from_slice(&bytes)
            .map_err(|error| FileError::no_record(&path, error.line(), error))?;
        Ok(manifest)
    }

    /// Writes it to a folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        write_json(&folder.join(MANIFEST), self)
    }

    /// Whether another run asked the same of the same model, so that records of both belong together.
    pub fn matches(&self, other: &Self) -> std::result::Result<(), &'static str> {
        let differs = |differs: bool, what| if differs { Err(what) } else { Ok(()) };
        differs(self.fingerprint != other.fingerprint, "model")?;
        let runs = |manifest: &Self| -> Vec<(RunKey, Vec<TrackSpec>)> {
            manifest.asked.iter().map(|asked| (asked.run.clone(), asked.tracks.clone())).collect()
        };
        differs(runs(self) != runs(other), "tasks, their rules or how the model was loaded")?;
        differs(self.settings != other.settings, "settings")?;
        differs(self.limit != other.limit, "limit")
    }
}

/// Writes a result file, whole or not at all.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    Ok(write_resolved(path, bytes).map_err(FileError::io(path))?)
}

/// The same, of a document.
pub(crate) fn write_json(path: &Path, document: &impl Serialize) -> Result<()> {
    let json = serde_json::to_vec_pretty(document);
    write_bytes(path, &json.map_err(|error| FileError::io(path)(error.into()))?)
}
