//! `mico eval merge`: the parts of a run put together and scored.

use std::path::PathBuf;

use clap::Args;
use mico_eval::{Album, Journal, MANIFEST, RECORDS};

use super::{save, tell};
use crate::failure::Failure;
use crate::files;

/// Put the parts of a run together and score them as one.
#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// The parts' result folders.
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Folder for the whole; without it the results are only printed.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also take parts that were not finished, or not all of them.
    #[arg(long)]
    partial: bool,
    /// Print one JSON document instead of tables.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &MergeArgs) -> Result<(), Failure> {
    // Nothing is written before all parts have been found to belong together.
    let whole = Journal::in_memory();
    let manifest = mico_eval::merge(&args.folders, &whole, args.partial)?;
    if let Some(folder) = &args.out {
        // The manifest is written after the records: without it a folder is what an interruption left.
        if folder.join(MANIFEST).exists() {
            let message =
                format!("--out {} holds a run, accepted: another folder", folder.display());
            return Err(Failure::misused(message));
        }
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::failed(format!("--out {}: {error}", folder.display())))?;
        let mut lines = Vec::new();
        for record in whole.records() {
            serde_json::to_writer(&mut lines, &record).map_err(Failure::failed)?;
            lines.push(b'\n');
        }
        files::write("--out", &folder.join(RECORDS), &lines)?;
        Album::collect(&args.folders, folder)?;
    }
    save(args.out.as_deref(), &manifest)?;
    tell(&manifest, &whole, args.out.as_deref(), args.json)
}
