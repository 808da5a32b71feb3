//! `mico report`: result folders as one HTML document.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use mico_eval::html::{PictureLookup, RunResults, report};
use mico_eval::{Journal, Manifest, OverlayStore, PICTURES, RESULT_FILES, RecordKey, columns};
use serde::Serialize;

use crate::failure::Failure;
use crate::files::{OutputFile, Outputs};
use crate::output;

/// The file's name unless another is given.
const NAME: &str = "report.html";

/// Bytes of all pictures of a folder; those beyond it are left out. The usual ones are some 30 kB each.
const MAX_PICTURE_BYTES: usize = 64 << 20;

/// Make one HTML file of result folders: tables, curves, Pareto plots, and items with pictures.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folders that `mico eval --out` wrote; each becomes a chapter.
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// The file, or a folder for report.html; the first folder unless given.
    #[arg(long, env = "MICO_REPORT", value_name = "FILE")]
    out: Option<PathBuf>,
    /// The most items of each folder that are shown one by one.
    #[arg(long, value_name = "N", default_value_t = 200)]
    items: usize,
    /// Print one JSON document instead of the file's name.
    #[arg(long)]
    json: bool,
}

/// What was made, as scripts read it.
#[derive(Debug, Serialize)]
struct Document {
    report: PathBuf,
    chapters: usize,
    items: usize,
    pictures: usize,
    bytes: usize,
}

/// A folder that was read.
struct Read {
    folder: PathBuf,
    manifest: Manifest,
    journal: Journal,
    pictures: BTreeSet<OsString>,
    /// Bytes of pictures that may still be shown.
    room: Cell<usize>,
}

impl Read {
    fn open(folder: &Path) -> Result<Self, Failure> {
        let (manifest, journal) = (Manifest::read(folder)?, Journal::read(folder)?);
        columns(&manifest, &journal)
            .map_err(|error| Failure::of(error.kind(), format!("{}: {error}", folder.display())))?;
        // A run need not have kept any pictures.
        let listed = std::fs::read_dir(folder.join(PICTURES)).into_iter().flatten();
        let pictures = listed.flatten().map(|entry| entry.file_name()).collect();
        let room = Cell::new(MAX_PICTURE_BYTES);
        Ok(Self { folder: folder.to_owned(), manifest, journal, pictures, room })
    }

    /// The picture of a record; one that is gone or cannot be read is none.
    fn picture(&self, key: &RecordKey) -> Option<Vec<u8>> {
        let file = OverlayStore::file(&self.folder, key);
        let listed = file.file_name().is_some_and(|name| self.pictures.contains(name));
        let bytes = listed.then(|| OverlayStore::read(&file).ok()).flatten()?;
        // All pictures are in memory at once, in the document that they become part of.
        let left = self.room.get().checked_sub(bytes.len())?;
        self.room.set(left);
        Some(bytes)
    }
}

/// The file to write, which is none that a run keeps: neither of the folders that are read nor of another.
fn planned(args: &ReportArgs, out: &Path) -> Result<OutputFile, Failure> {
    if out.file_name().is_some_and(|name| RESULT_FILES.iter().any(|own| name == *own)) {
        let message =
            format!("--out {} is a file of a run's own, accepted: another name", out.display());
        return Err(Failure::misused(message));
    }
    let mut outputs = Outputs::new();
    for folder in &args.folders {
        for name in RESULT_FILES {
            outputs.reads("DIR", &folder.join(name))?;
        }
        outputs.reads_folder("DIR", &folder.join(PICTURES))?;
    }
    outputs.file("--out", out)
}

/// Runs `mico report`: writes evaluations as one HTML document.
pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    let folder = args.folders.first().map_or_else(|| Path::new("."), PathBuf::as_path);
    let out = match &args.out {
        Some(folder) if folder.is_dir() => folder.join(NAME),
        Some(file) => file.clone(),
        None => folder.join(NAME),
    };
    let read: Vec<Read> =
        args.folders.iter().map(|folder| Read::open(folder)).collect::<Result<_, _>>()?;
    let out = planned(args, &out)?;
    let pictures: Vec<Box<PictureLookup<'_>>> = read
        .iter()
        .map(|read| Box::new(|key: &RecordKey| read.picture(key)) as Box<PictureLookup<'_>>)
        .collect();
    let chapters: Vec<RunResults<'_>> = read
        .iter()
        .zip(&pictures)
        .map(|(Read { manifest, journal, .. }, picture)| RunResults { manifest, journal, picture })
        .collect();
    let made = report(&chapters, args.items)?;
    out.write(&made.html)?;
    if !args.json {
        return output::line(&out.path().display().to_string());
    }
    output::json(&Document {
        report: out.path().to_owned(),
        chapters: chapters.len(),
        items: made.items,
        pictures: made.pictures,
        bytes: made.html.len(),
    })
}
