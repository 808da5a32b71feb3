//! `mico select`: the selectors on tensors the user brings.

mod tensors;

use std::io::{BufReader, Cursor, Read};
use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use mico_select::methods::selector_by_name;
use mico_select::{Done, Options, Progress, Remainder, Selection, Selector, Settings, select};
use mico_util::input::{open_stream, read_at_most};
use serde::Serialize;

use crate::choices::{self, single};
use crate::failure::Failure;
use crate::output;
use crate::pruning_args::pairs;
use mico_util::size;
use mico_util::text::quoted;
use tensors::{Source, Tensors};

/// Memory unless said otherwise: 8,192 tokens of a 64-frame video fit with all similarities.
const DEFAULT_MEMORY: &str = "540MB";
/// What the process itself takes of the memory: code, threads, buffers.
const PROCESS: usize = 16_000_000;
/// Fewer tokens than this are done before a progress bar could be read.
const LONG_INPUT: usize = 2048;
/// The most threads one may ask for.
const MAX_THREADS: u64 = 1024;

/// Pick tokens from tensors you bring.
#[derive(Debug, Args)]
pub struct SelectArgs {
    /// Safetensors file with the tensors the method reads, or a dump of `mico trace`; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Which stage of a dump: 1 chose before the decoder, 2 was the last to choose inside it. Unless given, 1
    /// of a file that has its tensors by no other names.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2))]
    stage: Option<u8>,
    /// The method that selects, by its name.
    #[arg(long, visible_alias = "methods", default_value = "mico", value_name = "NAME", value_parser = choices::selector())]
    method: String,
    /// How many tokens to keep; with groups, over all of them.
    #[arg(long, visible_alias = "budgets", value_name = "B", value_parser = single::<usize>, allow_negative_numbers = true)]
    budget: usize,
    /// A setting of the method, or `remainder=drop|first` for what groups do not divide.
    #[arg(long = "set", value_name = "KEY=VALUE", value_delimiter = ',')]
    set: Vec<String>,
    /// Seed of random choices.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads; all cores unless said otherwise. The answer does not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=MAX_THREADS))]
    threads: Option<u64>,
    /// Memory for inputs and similarities together. The answer does not depend on it.
    #[arg(long, default_value = DEFAULT_MEMORY, value_parser = size::parse)]
    memory: usize,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// The answer, as scripts read it.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    method: &'a str,
    n: usize,
    budget: usize,
    kept: &'a [usize],
    order: &'a [usize],
    objective: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    merged: Vec<(usize, &'a [usize])>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    replaced: Vec<(usize, usize)>,
    seconds: Seconds,
}

#[derive(Debug, Serialize)]
struct Seconds {
    kernel: f64,
    select: f64,
}

/// Runs `mico select`: applies a selection rule to tensors of a file.
pub fn run(args: &SelectArgs) -> Result<(), Failure> {
    let (selector, remainder) = selector(args)?;
    let tensors = read(args, &*selector).map_err(|error| Failure::failed(named(args, &error)))?;
    let n = tensors.count();
    let threads = args.threads.map_or(0, |threads| threads as usize);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Failure::failed(format!("--threads {threads}: {error}")))?;
    let selection = pool.install(|| pick(args, &*selector, &tensors, remainder))?;
    print(args, n, &tensors.in_sequence(selection))
}

/// The tensors of the file; those of a stream are taken into memory first.
fn read(args: &SelectArgs, selector: &dyn Selector) -> Result<Tensors, String> {
    let source = Source { stage: args.stage, selector, memory: args.memory };
    let text = |error: std::io::Error| error.to_string();
    let stream: Box<dyn Read> = if args.input.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        let file = open_stream(&args.input).map_err(text)?;
        if file.metadata().map_err(text)?.is_file() {
            return Tensors::load(BufReader::new(file), &source);
        }
        Box::new(file)
    };
    let bytes = read_at_most(stream, args.memory as u64)
        .map_err(|error| format!("{error}, the memory limit"))?;
    Tensors::load(Cursor::new(bytes), &source)
}

fn named(args: &SelectArgs, what: &dyn std::fmt::Display) -> String {
    let stdin = args.input.as_os_str() == "-";
    let name = if stdin { "standard input".into() } else { args.input.display().to_string() };
    format!("{name}: {what}")
}

fn selector(args: &SelectArgs) -> Result<(Box<dyn Selector>, Remainder), Failure> {
    let mut settings = pairs(&args.set)?;
    let mut remainder = Remainder::Drop;
    for (_, value) in settings.extract_if(.., |(key, _)| key == "remainder") {
        remainder = match value.as_str() {
            "drop" => Remainder::Drop,
            "first" => Remainder::First,
            other => {
                let what =
                    format!("setting 'remainder' is '{}', accepted: drop, first", quoted(other));
                return Err(Failure::misused(what));
            }
        };
    }
    let selector = selector_by_name(&args.method, Settings::new(settings));
    Ok((selector.map_err(|error| Failure::of_selector(&error, &error))?, remainder))
}

/// Reads a tensor file from memory and selects from it: the whole input path, for tests that
/// feed it anything.
pub fn select_from_bytes(
    bytes: &[u8],
    selector: &dyn Selector,
    budget: usize,
    memory: usize,
) -> Result<Selection, String> {
    let source = Source { stage: None, selector, memory };
    let tensors = Tensors::load(Cursor::new(bytes), &source)?;
    let inputs = tensors.inputs().map_err(|error| error.to_string())?;
    let memory = memory.saturating_sub(tensors.bytes());
    select(selector, &inputs, budget, &Options::default().with_memory(memory))
        .map_err(|error| error.to_string())
}

fn pick(
    args: &SelectArgs,
    selector: &dyn Selector,
    tensors: &Tensors,
    remainder: Remainder,
) -> Result<Selection, Failure> {
    let n = tensors.count();
    let bar = if n < LONG_INPUT { ProgressBar::hidden() } else { progress_bar(n, args.budget) };
    let on_progress = |done: Done| match done {
        Done::Compared(tokens) | Done::Picked(tokens) => bar.inc(tokens as u64),
    };
    let taken = tensors.bytes() + PROCESS;
    let options = Options::default()
        .with_memory(args.memory.saturating_sub(taken))
        .with_seed(args.seed)
        .with_remainder(remainder)
        .with_progress(Progress::new(&on_progress));
    let named_error = |error| Failure::of_selector(&error, &named(args, &error));
    let inputs = tensors.inputs().map_err(named_error)?;
    let selection =
        select(selector, &inputs, args.budget, &options).map_err(|error| match error {
            mico_select::Error::Memory { needed, .. } => {
                let (limit, needed) = (args.memory, needed.saturating_add(taken));
                named_error(mico_select::Error::Memory { limit, needed })
            }
            other => named_error(other),
        })?;
    bar.finish_and_clear();
    Ok(selection)
}

impl Failure {
    /// An error of the selector. What this verb is given is the file and the budget that goes with it, so
    /// only names and settings are the call's own fault.
    fn of_selector(error: &mico_select::Error, message: &dyn std::fmt::Display) -> Self {
        use mico_select::Error as E;
        match error {
            E::UnknownMethod { .. } | E::UnknownSetting { .. } | E::BadSetting { .. } => {
                Self::misused(message)
            }
            _ => Self::failed(message),
        }
    }
}

fn progress_bar(n: usize, budget: usize) -> ProgressBar {
    let bar = ProgressBar::new((n + budget.min(n)) as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent}% {eta}") {
        bar.set_style(style);
    }
    bar
}

fn print(args: &SelectArgs, n: usize, selection: &Selection) -> Result<(), Failure> {
    if args.json {
        let merges = selection.merges.iter();
        return output::json(&Answer {
            method: &args.method,
            n,
            budget: args.budget,
            kept: &selection.kept,
            order: &selection.order,
            objective: selection.objective,
            merged: merges.map(|merge| (merge.target, &merge.sources[..])).collect(),
            replaced: selection.replaced.iter().map(|r| (r.position, r.token)).collect(),
            seconds: Seconds { kernel: selection.seconds.kernel, select: selection.seconds.select },
        });
    }
    eprintln!(
        "{}: kept {} of {n} tokens ({:.1} ms similarities, {:.1} ms selection)",
        args.method,
        selection.kept.len(),
        selection.seconds.kernel * 1e3,
        selection.seconds.select * 1e3,
    );
    let kept: Vec<String> = selection.kept.iter().map(usize::to_string).collect();
    output::line(&kept.join(" "))
}
