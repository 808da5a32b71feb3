//! `mico eval`: answers to benchmark items, scored.

mod merge;
mod settings;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mico_engine::ErrorKind;
use mico_eval::{
    Evaluation, EvaluationOptions, EvaluationResult, ModelIdentity, RESULT_FILES, Shard, Split,
};

use crate::again;
use crate::failure::Failure;
use crate::files::Outputs;
use crate::interrupt::{self, Counted, Interruptible};
use crate::model_args::ModelArgs;
use crate::output;
use crate::progress::Bar;
use crate::task_args::TaskArgs;
use crate::terminal;
use settings::SettingArgs;

/// Items of each track of which pictures are kept unless something else is said.
const PICTURES: usize = 2;
/// Damaged rows that are listed on standard error.
const LISTED: usize = 10;

/// Ask benchmark questions and score the answers, with and without pruning.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct EvalArgs {
    #[command(subcommand)]
    verb: Option<EvalVerb>,
    #[command(flatten)]
    asked: AskArgs,
}

#[derive(Debug, Subcommand)]
enum EvalVerb {
    Merge(merge::MergeArgs),
}

/// What to ask, of which model, and how.
#[derive(Debug, Args)]
struct AskArgs {
    #[command(flatten)]
    tasks: TaskArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    settings: SettingArgs,
    /// Ask part i of n: all questions about a picture are in the same part. `mico eval merge` puts the
    /// parts together.
    #[arg(long, value_name = "I/N", value_parser = shard, default_value_t = Shard::default())]
    shard: Shard,
    /// Pictures under way at once; as many as there are threads and memory unless given.
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1024))]
    jobs: Option<usize>,
    /// Folder for records, JSON, and tables in Markdown, LaTeX and CSV.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// With --out, keep pictures of what was kept for the first N items of each track, for `mico report`;
    /// 2 unless given, 0 keeps none.
    #[arg(long, value_name = "N")]
    pictures: Option<usize>,
    /// Go on from the records in --out.
    #[arg(long, requires = "out")]
    resume: bool,
    /// Print one JSON document instead of tables.
    #[arg(long)]
    json: bool,
}

fn shard(text: &str) -> Result<Shard, String> {
    text.parse().map_err(|error: mico_eval::Error| error.to_string())
}

impl EvalArgs {
    pub(crate) fn threads(&self) -> Option<u64> {
        self.asked.model.threads
    }
}

impl AskArgs {
    /// Holds the results folder against what is read.
    fn plan(&self, outputs: &mut Outputs) -> Result<(), Failure> {
        self.model.protect(outputs)?;
        self.tasks.protect(outputs)?;
        if let Some(sweep) = self.settings.sweep_file() {
            outputs.reads("--sweep", sweep)?;
        }
        let out = self.out.as_ref();
        out.map(|folder| outputs.folder("--out", folder, &RESULT_FILES)).transpose().map(drop)
    }

    fn options(&self) -> Result<EvaluationOptions, Failure> {
        let base = self.model.base()?;
        let tasks = self.tasks.tasks(&self.model, Split::Benchmark)?;
        let conditions = self.settings.conditions(&base, !tasks.has_tracks())?;
        let mut options = EvaluationOptions::new(tasks, base, conditions);
        (options.shard, options.jobs) = (self.shard, self.jobs);
        options.video = self.tasks.video()?;
        (options.out, options.pictures) = (self.out.clone(), self.pictures.unwrap_or(PICTURES));
        options.resume = self.resume;
        options.argv = std::env::args().collect();
        Ok(options)
    }
}

/// Runs `mico eval`: asks and scores items, then prints and writes the results.
pub fn run(args: &EvalArgs) -> Result<(), Failure> {
    if let Some(EvalVerb::Merge(args)) = &args.verb {
        return merge::run(args);
    }
    let asked = &args.asked;
    if asked.pictures.is_some() && asked.out.is_none() {
        return Err(Failure::misused("--pictures has no effect without --out DIR"));
    }
    let mut outputs = Outputs::new();
    asked.plan(&mut outputs)?;
    let evaluation = Evaluation::open(asked.options()?)?;
    let tracks = evaluation.has_tracks();
    asked.tasks.check_used(tracks, !tracks)?;
    let _interruptible = Interruptible::begin();
    let located = asked.model.locate()?;
    let engine = asked.model.load(&located)?;
    ModelArgs::protect_tower(&engine, &mut outputs)?;
    let (name, loaded) = (&asked.model.model, asked.model.load_identity());
    let identity = ModelIdentity::new(name, located.files(), loaded, &engine)?;
    let bar = Bar::new("answers");
    let counted = Counted::default();
    let done = evaluation.run(&engine, &identity, &|done, total| {
        bar.count(done, total);
        counted.note(done, total);
        interrupt::flow()
    });
    drop(bar);
    let done = done.map_err(|error| match error.kind() {
        ErrorKind::Cancelled if asked.out.is_some() => {
            counted.stopped("answers", &format!("go on with: {}", again::with_flag("--resume")))
        }
        ErrorKind::Cancelled => {
            counted.stopped("answers", "nothing was kept; with --out DIR one can go on later")
        }
        _ => error.into(),
    })?;
    write_results(&done, asked.out.as_deref(), asked.json)
}

/// Writes the result files, if there is a folder for them, and prints the scores.
fn write_results(done: &EvaluationResult, out: Option<&Path>, json: bool) -> Result<(), Failure> {
    let damaged = &done.summary.damaged;
    for damaged in damaged.iter().take(LISTED) {
        eprintln!("warning: {} row left out: {}", damaged.track, damaged.reason);
    }
    if damaged.len() > LISTED {
        eprintln!("warning: {} damaged rows in all, see run.json", damaged.len());
    }
    if let Some(folder) = out {
        done.write(folder)?;
    }
    if json { output::json(&done.document()) } else { terminal::print(&done.markdown()) }
}
