//! `mico calibrate`: the refinement block that suits a model best.

use std::path::PathBuf;

use clap::Args;
use mico_engine::{Engine, ErrorKind, Setting};
use mico_eval::{
    Calibration, CalibrationOptions, Run, Shard, Source, Split, Tasks, fingerprint,
    refinable_blocks,
};
use mico_select::schedule::{Budget, DEFAULT_POOL};
use mico_video::VideoOptions;
use serde::Serialize;

use crate::choices::single;
use crate::failure::Failure;
use crate::files::{OutputFolder, Outputs};
use crate::interrupt::{self, Counted, Interruptible};
use crate::model_args::ModelArgs;
use crate::output;
use crate::progress::Bar;
use crate::task_args::TaskArgs;
use crate::terminal;

/// The files of --out.
const JSON: &str = "calibration.json";
const MARKDOWN: &str = "calibration.md";
const SVG: &str = "calibration.svg";

/// Items drawn from a benchmark, as in the paper.
const SAMPLE: usize = 100;

/// Sweep the refinement block on calibration items and name the best: on generated scenes that no
/// benchmark asks about, or on a sample of any benchmark (`--tasks ocrbench --data DIR`).
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    #[command(flatten)]
    tasks: TaskArgs,
    #[command(flatten)]
    model: ModelArgs,
    /// Layer-average number of visual tokens per image, the same for every block.
    #[arg(long, visible_alias = "budgets", value_name = "T", default_value_t = 64, value_parser = single::<usize>)]
    budget: usize,
    /// Blocks to try, separated by commas; all but the last unless said otherwise.
    #[arg(long, value_name = "KS", value_delimiter = ',')]
    layers: Vec<usize>,
    /// Stage-1 pool as a multiple of the budget.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_POOL)]
    pool: usize,
    /// Folder for JSON, Markdown and the plot.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    json: bool,
}

/// The answer, as scripts read it.
#[derive(Debug, Serialize)]
struct Document<'a> {
    model: &'a str,
    fingerprint: String,
    argv: Vec<String>,
    pool: usize,
    #[serde(flatten)]
    calibration: &'a Calibration,
}

impl CalibrateArgs {
    pub(crate) fn threads(&self) -> Option<u64> {
        self.model.threads
    }
}

/// Runs `mico calibrate`: sweeps the refinement block, then prints and writes the result.
pub fn run(args: &CalibrateArgs) -> Result<(), Failure> {
    // What cannot be written is told before the sweep, not after it.
    let mut outputs = Outputs::new();
    args.model.protect(&mut outputs)?;
    args.tasks.protect(&mut outputs)?;
    let out = args.out.as_ref();
    let out =
        out.map(|folder| outputs.folder("--out", folder, &[JSON, MARKDOWN, SVG])).transpose()?;
    Budget::Tokens(args.budget).tokens(1).map_err(Failure::misused)?;
    let (base, video) = (args.model.base()?, args.tasks.video()?);
    // The built-in suite has a split for this that no benchmark asks about.
    let mut tasks = args.tasks.tasks(&args.model, Split::Calibration)?;
    // Of a benchmark a sample is drawn from all of it: many are sorted by category.
    tasks.limit = tasks.limit.filter(|_| !tasks.has_tracks());
    args.tasks.check_used(tasks.has_tracks(), true)?;
    let _interruptible = Interruptible::begin();
    let located = args.model.locate()?;
    let engine = args.model.load(&located)?;
    ModelArgs::protect_tower(&engine, &mut outputs)?;
    let found = engine.install(|| sweep(args, &engine, &tasks, &base, video))?;
    write_results(args, out.as_ref(), &engine, &found, fingerprint(located.files())?)
}

fn sweep(
    args: &CalibrateArgs,
    engine: &Engine,
    tasks: &Tasks,
    base: &Setting,
    video: VideoOptions,
) -> Result<Calibration, Failure> {
    let layers =
        if args.layers.is_empty() { refinable_blocks(engine) } else { args.layers.clone() };
    let sample = tasks.has_tracks().then(|| args.tasks.limit.unwrap_or(SAMPLE));
    let seed = args.tasks.seed.unwrap_or(0);
    let options = CalibrationOptions { tokens: args.budget, layers, pool: args.pool, sample, seed };
    let sources = tasks.open(engine)?;
    let sources: Vec<&dyn Source> = sources.iter().map(AsRef::as_ref).collect();
    let run = Run {
        engine,
        model: "",
        sources: &sources,
        base: &tasks.base_setting(engine, base),
        settings: &[],
        shard: Shard::default(),
        video,
        jobs: None,
        overlays: None,
    };
    let bar = Bar::new("items");
    let counted = Counted::default();
    let found = mico_eval::calibrate(&run, &options, &|done, total| {
        bar.count(done, total);
        counted.note(done, total);
        interrupt::flow()
    });
    found.map_err(|error| match error.kind() {
        ErrorKind::Cancelled => {
            let none = "a calibration keeps no records: the same call begins again";
            counted.stopped("items", none)
        }
        _ => error.into(),
    })
}

/// Writes the result files, if there is a folder for them, and prints the table.
fn write_results(
    args: &CalibrateArgs,
    out: Option<&OutputFolder>,
    engine: &Engine,
    found: &Calibration,
    fingerprint: String,
) -> Result<(), Failure> {
    for reason in &found.failed {
        eprintln!("warning: left out: {reason}");
    }
    let markdown = found.markdown();
    let document = Document {
        model: &args.model.model,
        fingerprint,
        argv: std::env::args().collect(),
        pool: args.pool,
        calibration: found,
    };
    if let Some(folder) = out {
        folder.write(JSON, serde_json::to_vec_pretty(&document).map_err(Failure::failed)?)?;
        folder.write(MARKDOWN, &markdown)?;
        folder.write(SVG, found.drawing().svg())?;
    }
    if args.json {
        return output::json(&document);
    }
    terminal::print(&markdown)?;
    let current = engine.schedule().policy.refine_layer;
    eprintln!("best: K={}; this model's schedule has K={current}", found.best);
    Ok(())
}
