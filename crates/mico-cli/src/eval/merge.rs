//! `mico eval merge`: the parts of a run put together and scored.

use std::path::PathBuf;

use clap::Args;
use mico_eval::{EvaluationResult, PICTURES, RESULT_FILES};

use super::write_results;
use crate::failure::Failure;
use crate::files::Outputs;

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
    let whole = EvaluationResult::merged(&args.folders, args.partial)?;
    if let Some(folder) = &args.out {
        let mut outputs = Outputs::new();
        for part in &args.folders {
            for name in RESULT_FILES {
                outputs.reads("DIR", &part.join(name))?;
            }
            outputs.reads_folder("DIR", &part.join(PICTURES))?;
        }
        outputs.folder("--out", folder, &RESULT_FILES)?;
        whole.write_whole(&args.folders, folder)?;
    }
    write_results(&whole, args.out.as_deref(), args.json)
}
