//! `mico bench`: where the time of a request goes, with and without pruning.
//!
//! Settings take turns within each round, so that whatever slows the machine down hits all alike, and
//! speed-ups are medians of the ratios within a round.

mod measure;
mod report;
mod settings;
mod subject;
mod system;

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{ArgGroup, Args};
use mico_vision::Size;

use crate::failure::Failure;
use crate::output;
use crate::threads::in_pool;
use report::Report;

/// The paper's mean prompt, without the visual tokens.
const TEXT_TOKENS: &str = "69";
/// The most text tokens, generated tokens, runs and threads one may ask for.
const MAX_TOKENS: u64 = 1 << 16;
const MAX_RUNS: u64 = 10_000;
const MAX_THREADS: u64 = 1024;
/// The most frames, and pixels along a side, of the noise that is looked at.
const MAX_FRAMES: u64 = mico_vision::llava_video::MAX_FRAMES as u64;
const MAX_SIDE: u32 = 1 << 14;

/// Measure where the time of a request goes, with and without pruning.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("subject").required(true).args(["model", "synthetic"])))]
pub struct BenchArgs {
    /// Model folder, or `tiny` for the embedded model.
    #[arg(long, env = "MICO_MODEL", value_name = "DIR")]
    model: Option<PathBuf>,
    /// Published model whose shape is filled with random weights; no files are needed.
    #[arg(long, env = "MICO_SYNTHETIC", value_name = "PRESET")]
    synthetic: Option<String>,
    /// Quantisation of the decoder's matrices: `q4k`, `q6k`, `q8_0`.
    #[arg(long, env = "MICO_QUANTIZE", value_name = "KIND")]
    quantize: Option<String>,
    /// Pruners, separated by commas.
    #[arg(long, env = "MICO_METHOD", default_value = "mico", value_delimiter = ',')]
    method: Vec<String>,
    /// Layer-average numbers of visual tokens, separated by commas. Unless given: 2/9, 1/9 and 1/18
    /// of all visual tokens. The unpruned model is always measured, too.
    #[arg(long, env = "MICO_BUDGET", value_name = "T", value_delimiter = ',')]
    budget: Vec<usize>,
    /// The same as shares of all visual tokens.
    #[arg(long, env = "MICO_KEEP", value_name = "R", value_delimiter = ',')]
    keep: Vec<f64>,
    /// Measure the unpruned model alone.
    #[arg(long, env = "MICO_NO_PRUNE", value_parser = clap::builder::FalseyValueParser::new(), conflicts_with_all = ["budget", "keep"])]
    no_prune: bool,
    /// Refinement block K, counted from 1, in place of the model's own.
    #[arg(long, env = "MICO_REFINE_LAYER", value_name = "K")]
    refine_layer: Option<usize>,
    /// Stage-1 pool as a multiple of the budget.
    #[arg(long, env = "MICO_POOL", default_value_t = mico_select::schedule::DEFAULT_POOL)]
    pool: usize,
    /// Text tokens of the prompt; at most 35 of them come before the image.
    #[arg(long, env = "MICO_TEXT_TOKENS", default_value = TEXT_TOKENS, value_parser = count(2, MAX_TOKENS))]
    text_tokens: usize,
    /// Size of the image or frame, as `WIDTHxHEIGHT`; what fills the family's usual views unless given.
    #[arg(long, env = "MICO_IMAGE_SIZE", value_name = "WxH", value_parser = image_size)]
    image_size: Option<Size>,
    /// Frames of a video, for families that take one; 8 unless given.
    #[arg(long, env = "MICO_FRAMES", value_name = "N", value_parser = count(1, MAX_FRAMES))]
    frames: Option<usize>,
    /// Tokens over which decoding is measured.
    #[arg(long, env = "MICO_NEW_TOKENS", default_value_t = 8, value_parser = count(1, MAX_TOKENS))]
    new_tokens: usize,
    /// Runs of each setting that are not counted.
    #[arg(long, env = "MICO_WARMUPS", default_value_t = 1, value_parser = count(0, MAX_RUNS))]
    warmups: usize,
    /// Rounds: runs of each setting that are counted.
    #[arg(long, env = "MICO_REPEATS", default_value_t = 5, value_parser = count(1, MAX_RUNS))]
    repeats: usize,
    /// Threads; all cores unless said otherwise.
    #[arg(long, env = "MICO_THREADS", value_parser = count(1, MAX_THREADS))]
    threads: Option<usize>,
    /// Seed of random weights and pixels.
    #[arg(long, env = "MICO_SEED", default_value_t = 0)]
    seed: u64,
    /// Write the JSON document to this file, whatever is printed.
    #[arg(long, env = "MICO_OUT", value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON document instead of a table.
    #[arg(long, env = "MICO_JSON", value_parser = clap::builder::FalseyValueParser::new())]
    json: bool,
}

/// Reads `WIDTHxHEIGHT`.
pub(crate) fn image_size(text: &str) -> Result<Size, String> {
    let side = |text: &str| text.parse().ok().filter(|side| (1..=MAX_SIDE).contains(side));
    let sides = text.split_once('x').and_then(|(width, height)| side(width).zip(side(height)));
    let (width, height) =
        sides.ok_or_else(|| format!("accepted: WIDTHxHEIGHT, sides from 1 to {MAX_SIDE}"))?;
    Ok(Size::new(width, height))
}

fn count(least: u64, most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least..=most)
}

impl BenchArgs {
    pub(crate) fn threads(&self) -> Option<u64> {
        self.threads.map(|threads| threads as u64)
    }
}

/// Runs the verb.
pub fn run(args: &BenchArgs) -> Result<(), Failure> {
    let settings = settings::settings(args)?;
    let report = in_pool(args.threads(), || {
        let subject = subject::build(args)?;
        let measured = measure::measure(args, &subject, settings)?;
        Report::new(&subject, &measured)
    })??;
    let json = serde_json::to_string(&report).map_err(Failure::failed)?;
    if let Some(path) = &args.out {
        let written = std::fs::write(path, format!("{json}\n"));
        written.map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
    }
    output::line(&if args.json { json } else { report.table() })
}
