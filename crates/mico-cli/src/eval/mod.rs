//! `mico eval`: answers to benchmark items, scored.

mod merge;
mod settings;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mico_engine::Engine;
use mico_eval::{
    Album, Journal, MANIFEST, Manifest, Run, Setting, Shard, Source, Split, Summary, Sweep,
    fingerprint, paper_table, run_switched,
};
use serde::Serialize;

use crate::choices;
use crate::failure::Failure;
use crate::model_args::ModelArgs;
use crate::progress::Bar;
use crate::task_args::{TaskArgs, Usual};
use crate::threads::in_pool;
use crate::{files, output};
use settings::SettingArgs;

/// How much is asked unless something else is said.
const USUAL: Usual = Usual { suite: 250, benchmark: None, split: Split::Benchmark };
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
    /// 0 keeps none.
    #[arg(long, value_name = "N", default_value_t = PICTURES)]
    pictures: usize,
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

/// The answer, as scripts read it.
#[derive(Debug, Serialize)]
struct Document<'a> {
    model: &'a str,
    fingerprint: &'a str,
    argv: &'a [String],
    #[serde(flatten)]
    summary: Summary,
}

impl EvalArgs {
    pub(crate) fn threads(&self) -> Option<u64> {
        self.asked.model.threads
    }
}

/// Runs the verb.
pub fn run(args: &EvalArgs) -> Result<(), Failure> {
    if let Some(EvalVerb::Merge(args)) = &args.verb {
        return merge::run(args);
    }
    let mut asked = args.asked.tasks.clone();
    let sweep = args.asked.settings.sweep()?;
    if let Some(sweep) = &sweep {
        adopt(&mut asked, sweep)?;
    }
    if asked.suite.is_none() && asked.tasks.is_empty() {
        let message =
            "nothing to ask, accepted: --suite tiny, --tasks NAMES --data DIR, or --sweep";
        return Err(Failure::misused(message));
    }
    args.asked.settings.check(sweep.as_ref())?;
    in_pool(args.asked.model.threads, || measure(&args.asked, &asked, sweep.as_ref()))?
}

/// What a sweep's file asks, where the command line says nothing.
fn adopt(asked: &mut TaskArgs, sweep: &Sweep) -> Result<(), Failure> {
    if asked.suite.is_none() && asked.tasks.is_empty() {
        asked.suite.clone_from(&sweep.suite);
        let tasks = sweep.tasks.iter().map(|name| choices::asked_track().read(name));
        asked.tasks = tasks
            .collect::<Result<_, _>>()
            .map_err(|error| Failure::misused(format!("the sweep's {error}")))?;
    }
    if let Some(suite) =
        asked.suite.as_ref().filter(|suite| !crate::task_args::SUITES.contains(&suite.as_str()))
    {
        return Err(Failure::misused(format!("the sweep's suite '{suite}', accepted: tiny")));
    }
    if !asked.tasks.is_empty() && asked.data.is_none() {
        return Err(Failure::misused("the sweep's tasks need --data DIR"));
    }
    asked.limit = asked.limit.or(sweep.limit);
    Ok(())
}

fn measure(args: &AskArgs, asked: &TaskArgs, sweep: Option<&Sweep>) -> Result<(), Failure> {
    let journal = match &args.out {
        Some(folder) => Journal::open(folder, args.resume)?,
        None => Journal::in_memory(),
    };
    let located = args.model.locate()?;
    let mut engine = args.model.load(&located)?;
    let mut hash = fingerprint(located.files())?;
    if let Some(tower) = engine.model().config().vision.tower_folder().filter(|f| f.is_dir()) {
        hash = format!("{hash} {}", fingerprint(tower.into())?);
    }
    let settings = args.settings.settings(sweep, &engine, asked.tasks.is_empty());
    let sources = asked.sources(&engine, &args.model, USUAL)?;
    let sources: Vec<&dyn Source> = sources.iter().map(AsRef::as_ref).collect();
    let mut model = format!("{hash} {}", args.model.decides());
    asked.speak(&mut engine, &args.model, &mut model);
    let video = asked.video()?;
    let album = args.out.as_ref().filter(|_| args.pictures > 0);
    let album = album.map(|folder| Album::open(folder, args.pictures)).transpose()?;
    let plan = Plan { args, model: &model, sources: &sources, video, album: album.as_ref() };
    let mut manifest = plan.manifest(&engine, &hash, &settings)?;
    manifest.title = sweep.map_or_else(String::new, |sweep| sweep.title.clone());
    manifest.limit = asked.most(USUAL);
    save(args.out.as_deref(), &manifest)?;
    let bar = Bar::new("answers");
    let met =
        run_switched(&mut engine, &sources, &manifest.settings, |engine, sources, settings| {
            let run = Run { sources, ..plan.run(engine, settings) };
            mico_eval::run(&run, &journal, &|done, total| bar.count(done, total))
        })?;
    drop(bar);
    manifest.damaged = met.damaged;
    for (asked, (dropped, items)) in
        manifest.asked.iter_mut().zip(met.dropped.into_iter().zip(met.items))
    {
        (asked.dropped, asked.items) = (dropped, items);
    }
    let bare = manifest.asked.iter().find(|asked| asked.items.iter().sum::<usize>() == 0);
    if let (Some(bare), true) = (bare, manifest.shard.is_whole()) {
        let first = manifest
            .damaged
            .first()
            .map_or_else(String::new, |first| format!(": {}", first.reason));
        return Err(Failure::failed(format!("{} has no item to ask{first}", bare.source)));
    }
    manifest.finished = true;
    save(args.out.as_deref(), &manifest)?;
    tell(&manifest, &journal, args.out.as_deref(), args.json)
}

/// What stays the same over all settings.
struct Plan<'a> {
    args: &'a AskArgs,
    model: &'a str,
    sources: &'a [&'a dyn Source],
    video: mico_video::VideoOptions,
    album: Option<&'a Album>,
}

impl Plan<'_> {
    fn run<'r>(&'r self, engine: &'r Engine, settings: &'r [Setting]) -> Run<'r> {
        Run {
            engine,
            model: self.model,
            sources: self.sources,
            settings,
            shard: self.args.shard,
            video: self.video,
            jobs: self.args.jobs,
            album: self.album,
        }
    }

    /// What will be asked: settings that the engine refuses are left out.
    fn manifest(
        &self,
        engine: &Engine,
        hash: &str,
        settings: &[Setting],
    ) -> Result<Manifest, Failure> {
        let run = self.run(engine, settings);
        let (kept, refused) = run.sift()?;
        let pruned = kept.iter().any(|setting| setting.tokens().is_some());
        if let (Some(first), false) = (refused.first(), pruned) {
            return Err(Failure::failed(&first.reason));
        }
        Ok(Manifest {
            title: String::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model: self.args.model.model.clone(),
            fingerprint: hash.to_owned(),
            argv: std::env::args().collect(),
            asked: run.asked(),
            settings: kept,
            refused,
            limit: None,
            shard: self.args.shard,
            finished: false,
            damaged: Vec::new(),
        })
    }
}

/// Writes the manifest, before anything is asked and after everything was.
fn save(folder: Option<&Path>, manifest: &Manifest) -> Result<(), Failure> {
    let Some(folder) = folder else { return Ok(()) };
    let json = serde_json::to_vec_pretty(manifest).map_err(Failure::failed)?;
    files::write("--out", &folder.join(MANIFEST), &json)
}

/// Scores the records and says what came out.
fn tell(
    manifest: &Manifest,
    journal: &Journal,
    out: Option<&Path>,
    json: bool,
) -> Result<(), Failure> {
    let summary = Summary::new(manifest, journal)?;
    for damaged in summary.damaged.iter().take(LISTED) {
        eprintln!("warning: {} row left out: {}", damaged.track, damaged.reason);
    }
    if summary.damaged.len() > LISTED {
        eprintln!("warning: {} damaged rows in all, see run.json", summary.damaged.len());
    }
    let markdown = summary.markdown(&manifest.title);
    let table = paper_table(&summary, &manifest.title);
    let Manifest { model, fingerprint, argv, .. } = manifest;
    let document = Document { model, fingerprint, argv, summary };
    if let Some(folder) = out {
        let pretty = serde_json::to_vec_pretty(&document).map_err(Failure::failed)?;
        let texts = [
            ("summary.json", pretty),
            ("summary.md", markdown.clone().into_bytes()),
            ("table.tex", table.latex().into_bytes()),
            ("table.csv", table.csv().into_bytes()),
        ];
        for (name, bytes) in texts {
            files::write("--out", &folder.join(name), &bytes)?;
        }
    }
    if json { output::json(&document) } else { output::line(markdown.trim_end()) }
}
