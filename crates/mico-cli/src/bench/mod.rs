//! `mico bench`: where the time of a request goes, with and without pruning.

mod args;
mod commit;
mod model;

use std::sync::OnceLock;

pub use args::BenchArgs;
pub use mico_bench::AllocationMeter;
use mico_bench::{Benchmark, Comparison, Condition, Journal, Pareto, Progress, Quality, Report};
use mico_engine::ErrorKind;
use mico_engine::pruner::MethodSpec;
use mico_select::schedule::{Budget, DEFAULT_POOL};

use crate::failure::Failure;
use crate::files::{OutputFile, Outputs};
use crate::interrupt::{self, Counted, Interruptible};
use crate::model_args::ModelArgs;
use crate::picture::ChartFormat;
use crate::progress::Bar;
use crate::pruning_args::DEFAULT_METHOD;
use crate::{again, output, terminal};

static METER: OnceLock<&'static dyn AllocationMeter> = OnceLock::new();

/// Says which counter `mico bench` reads; the first one stays.
pub fn count_allocations(meter: &'static dyn AllocationMeter) {
    let _ = METER.set(meter);
}

/// Runs `mico bench`: measures, then prints and writes the report.
pub fn run(args: &BenchArgs) -> Result<(), Failure> {
    if let Some(meter) = METER.get() {
        meter.begin();
    }
    let conditions = conditions(args)?;
    // What cannot be read or written is told before anything is measured.
    let mut outputs = Outputs::new();
    let written = Written::plan(args, &mut outputs)?;
    let quality = args.quality.as_deref().map(Quality::read).transpose();
    let quality =
        quality.map_err(|error| Failure::of(error.kind(), format!("--quality {error}")))?;
    let report = measured(args, conditions, &mut outputs)?;
    let json = serde_json::to_string(&report).map_err(Failure::failed)?;
    if let Some(file) = &written.out {
        file.write(format!("{json}\n"))?;
    }
    if let Some(file) = &written.markdown {
        file.write(report.markdown())?;
    }
    if let Some((file, format)) = &written.plot {
        draw(file, *format, &report, quality.as_ref())?;
    }
    if args.json {
        return output::line(&json);
    }
    let text = report.text();
    match terminal::width() {
        Some(width) if text.lines().any(|line| line.chars().count() > width) => {
            output::line(&terminal::fitted(&report.markdown(), width))
        }
        // Piped, the table is as wide as it is.
        _ => output::line(&text),
    }
}

/// The files that were asked for.
struct Written {
    out: Option<OutputFile>,
    markdown: Option<OutputFile>,
    plot: Option<(OutputFile, ChartFormat)>,
}

impl Written {
    /// Holds them against what is read and against each other.
    fn plan(args: &BenchArgs, outputs: &mut Outputs) -> Result<Self, Failure> {
        if args.synthetic.is_none() {
            args.model.protect(outputs)?;
        }
        if let Some(path) = &args.quality {
            outputs.reads("--quality", path)?;
        }
        let mut file = |flag, path: Option<&std::path::PathBuf>| {
            path.map(|path| outputs.file(flag, path)).transpose()
        };
        let out = file("--out", args.out.as_ref())?;
        let markdown = file("--markdown", args.markdown.as_ref())?;
        let plot = file("--plot", args.plot.as_ref().map(|plot| &plot.path))?;
        if let Some(path) = &args.out {
            outputs.beside("--out", &Journal::path_of(path), "the journal")?;
        }
        let plot = plot.zip(args.plot.as_ref().map(|plot| plot.format));
        Ok(Self { out, markdown, plot })
    }
}

/// The unpruned model, and every method at every budget.
fn conditions(args: &BenchArgs) -> Result<Vec<Condition>, Failure> {
    let base = args.model.base()?;
    if args.no_prune {
        return args.unpruned().map(|()| vec![Condition::unpruned(&base)]);
    }
    let methods = match &args.method {
        Some(methods) => methods.clone(),
        None => vec![MethodSpec::new(DEFAULT_METHOD, Vec::new())?],
    };
    let mut comparison = Comparison::new(methods);
    let tokens = args.budget.iter().map(|&tokens| Budget::Tokens(tokens));
    let shares = args.keep.iter().map(|&share| Budget::Share(share));
    let budgets: Vec<Budget> = tokens.chain(shares).collect();
    if !budgets.is_empty() {
        comparison.budgets = budgets;
    }
    comparison.refine_layer = args.refine_layer;
    comparison.pool = args.pool.unwrap_or(DEFAULT_POOL);
    comparison.authors = args.authors_budget;
    Ok(comparison.conditions(&base)?)
}

/// Measures what the journal lacks; the model is loaded only if there is such.
fn measured(
    args: &BenchArgs,
    conditions: Vec<Condition>,
    outputs: &mut Outputs,
) -> Result<Report, Failure> {
    let mut journal = match &args.out {
        Some(path) => Journal::open(path, args.resume)?,
        None => Journal::in_memory(),
    };
    let source = model::Source::find(args)?;
    let mut benchmark = Benchmark::new(conditions, source.configuration(args)?);
    (benchmark.warmups, benchmark.rounds) = (args.warmups, args.repeats);
    benchmark.new_tokens = args.new_tokens;
    benchmark.concurrency = args.concurrency()?;
    benchmark.meter = METER.get().copied();
    benchmark.argv = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if benchmark.is_complete(&journal)? {
        return Ok(benchmark.report(&journal)?);
    }
    let _interruptible = Interruptible::begin();
    let subject = source.load(args)?;
    ModelArgs::protect_tower(&subject.engine, outputs)?;
    let (bar, counted) = (Bar::new("runs"), Counted::default());
    let report = benchmark.run(&subject, &mut journal, &mut |progress: Progress<'_>| {
        bar.show(progress.done, progress.total);
        counted.note(progress.done, Some(progress.total));
        interrupt::flow()
    });
    drop(bar);
    report.map_err(|error| match error.kind() {
        ErrorKind::Cancelled if args.out.is_some() => {
            counted.stopped("runs", &format!("go on with: {}", again::with_flag("--resume")))
        }
        ErrorKind::Cancelled => {
            counted.stopped("runs", "nothing was kept; with --out FILE one can go on later")
        }
        _ => error.into(),
    })
}

/// Draws speed-ups; what has no place in the picture is named on standard error.
fn draw(
    file: &OutputFile,
    format: ChartFormat,
    report: &Report,
    quality: Option<&Quality>,
) -> Result<(), Failure> {
    let Pareto { drawing, unknown, .. } = Pareto::draw(report, quality);
    if !unknown.is_empty() {
        eprintln!("warning: not drawn, since --quality has no Rel of: {}", unknown.join(", "));
    }
    file.write(match format {
        ChartFormat::Svg => drawing.svg().into_bytes(),
        ChartFormat::Png => drawing.png().map_err(Failure::failed)?,
    })
}

impl From<mico_bench::Error> for Failure {
    fn from(error: mico_bench::Error) -> Self {
        Self::of(error.kind(), error)
    }
}
