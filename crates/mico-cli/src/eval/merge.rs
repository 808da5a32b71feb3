//! `mico eval merge`: the parts of a run put together and scored.

use std::path::PathBuf;

use clap::Args;
use clap::builder::FalseyValueParser;
use mico_eval::{Album, Journal};

use super::{save, tell};
use crate::failure::Failure;

/// Put the parts of a run together and score them as one.
#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// The parts' result folders.
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Folder for the whole; without it the results are only printed.
    #[arg(long, env = "MICO_OUT", value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also take parts that were not finished, or not all of them.
    #[arg(long, env = "MICO_PARTIAL", value_parser = FalseyValueParser::new())]
    partial: bool,
    /// Print one JSON document instead of tables.
    #[arg(long, env = "MICO_JSON", value_parser = FalseyValueParser::new())]
    json: bool,
}

pub(super) fn run(args: &MergeArgs) -> Result<(), Failure> {
    // Nothing is written before all parts have been found to belong together.
    let whole = Journal::in_memory();
    let manifest = mico_eval::merge(&args.folders, &whole, args.partial)?;
    if let Some(folder) = &args.out {
        let journal = Journal::open(folder, false)?;
        whole.records().into_iter().try_for_each(|record| journal.append(record))?;
        Album::collect(&args.folders, folder)?;
    }
    save(args.out.as_deref(), &manifest)?;
    tell(&manifest, &whole, args.out.as_deref(), args.json)
}
