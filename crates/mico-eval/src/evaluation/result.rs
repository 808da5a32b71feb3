//! An evaluation that was run, scored.

use std::path::{Path, PathBuf};

use mico_util::text::escaped_lines;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::file_error::FileError;
use crate::journal::{Journal, RECORDS};
use crate::manifest::{MANIFEST, Manifest, write_bytes, write_json};
use crate::merge::merge;
use crate::run::OverlayStore;
use crate::summary::{Summary, paper_table};

/// The names of the files that [`EvaluationResult::write`] adds to the manifest and the records.
const SUMMARY: [&str; 4] = ["summary.json", "summary.md", "table.tex", "table.csv"];
/// Every file of a results folder beside its pictures; the manifest, which comes first, tells such a folder.
pub const RESULT_FILES: [&str; 6] =
    [MANIFEST, RECORDS, SUMMARY[0], SUMMARY[1], SUMMARY[2], SUMMARY[3]];

/// What was asked, what was answered, and what that comes to.
#[derive(Debug)]
#[non_exhaustive]
pub struct EvaluationResult {
    /// What was asked of which model under which conditions.
    pub manifest: Manifest,
    /// The records that were scored.
    pub journal: Journal,
    /// What they come to.
    pub summary: Summary,
}

/// An evaluation as scripts read it.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Document<'a> {
    /// The model as it was named.
    pub model: &'a str,
    /// A hash of its files.
    pub fingerprint: &'a str,
    /// How the program was called.
    pub argv: &'a [String],
    /// Scores, intervals and comparisons.
    #[serde(flatten)]
    pub summary: &'a Summary,
}

impl EvaluationResult {
    /// Scores the records of a run.
    pub fn new(manifest: Manifest, journal: Journal) -> Result<Self> {
        let summary = Summary::new(&manifest, &journal)?;
        Ok(Self { manifest, journal, summary })
    }

    /// Puts the parts of a run together and scores them as one; one that is missing or was not finished is
    /// an error unless `partial`.
    pub fn merged(parts: &[PathBuf], partial: bool) -> Result<Self> {
        let journal = Journal::in_memory();
        let manifest = merge(parts, &journal, partial)?;
        Self::new(manifest, journal)
    }

    /// The result as one JSON document, for scripts.
    pub fn document(&self) -> Document<'_> {
        let Manifest { model, fingerprint, argv, .. } = &self.manifest;
        Document { model, fingerprint, argv, summary: &self.summary }
    }

    /// The result as Markdown tables, for people.
    pub fn markdown(&self) -> String {
        self.summary.markdown(&self.manifest.title)
    }

    /// Writes the scores to a folder: JSON, and tables in Markdown, LaTeX and CSV. Records and manifest are
    /// there already.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let table = paper_table(&self.summary, &self.manifest.title);
        let [json, markdown, latex, csv] = SUMMARY.map(|name| folder.join(name));
        write_json(&json, &self.document())?;
        write_bytes(&markdown, self.markdown().as_bytes())?;
        write_bytes(&latex, escaped_lines(&table.latex()).as_bytes())?;
        write_bytes(&csv, escaped_lines(&table.csv()).as_bytes())
    }

    /// Writes records, pictures and manifest of a run whose parts were put together to a folder that holds
    /// no run.
    pub fn write_whole(&self, parts: &[PathBuf], folder: &Path) -> Result<()> {
        if folder.join(MANIFEST).exists() {
            let folder = folder.display();
            let message = format!("--out {folder} holds a run, accepted: another folder");
            return Err(Error::invalid(message));
        }
        std::fs::create_dir_all(folder).map_err(FileError::io(folder))?;
        let path = folder.join(RECORDS);
        let mut lines = Vec::new();
        for record in self.journal.records() {
            let line = serde_json::to_writer(&mut lines, &record);
            line.map_err(|error| FileError::io(&path)(error.into()))?;
            lines.push(b'\n');
        }
        write_bytes(&path, &lines)?;
        OverlayStore::collect(parts, folder)?;
        // The manifest is written last: without it a folder is what an interruption left.
        self.manifest.write(folder)
    }
}
