//! The flags of `mico bench`.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{ArgGroup, Args};
use mico_bench::Concurrency;
use mico_engine::pruner::MethodSpec;
use mico_model::Preset;
use mico_vision::Size;

use crate::choices;
use crate::failure::Failure;
use crate::images::image_size;
use crate::model_args::ModelArgs;
use crate::picture::{self, ChartFormat, PictureFile};

/// The paper's mean prompt, without the visual tokens.
const TEXT_TOKENS: &str = "69";
/// The most text tokens, generated tokens and runs one may ask for.
const MAX_TOKENS: u64 = 1 << 16;
const MAX_RUNS: u64 = 10_000;
/// The most clients at once, and the most requests of one of them in a round.
const MAX_CLIENTS: u64 = Concurrency::MAX_CLIENTS as u64;
const MAX_REQUESTS: u64 = Concurrency::MAX_REQUESTS as u64;
/// Requests of each client in a round, unless given.
const REQUESTS: usize = 2;
/// The most frames of the noise that is looked at.
const MAX_FRAMES: u64 = mico_vision::llava_video::MAX_FRAMES as u64;

/// Measure where the time of a request goes, with and without pruning.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("subject").required(true).args(["model", "synthetic"])))]
#[allow(clippy::struct_excessive_bools, reason = "flags of a command line stand by themselves")]
pub struct BenchArgs {
    #[command(flatten)]
    pub(super) model: ModelArgs,
    /// Published model whose shape is filled with random weights; no files are needed.
    #[arg(long, value_name = "PRESET", value_parser = choices::preset())]
    pub(super) synthetic: Option<&'static Preset>,
    /// Pruners, separated by commas, mico unless given; settings follow a name as in
    /// `vispruner:ratio=0.3`.
    #[arg(long, visible_alias = "methods", value_name = "NAMES", value_delimiter = ',', value_parser = choices::pruner_spec())]
    pub(super) method: Option<Vec<MethodSpec>>,
    /// Layer-average numbers of visual tokens, separated by commas. Unless given: 2/9, 1/9 and 1/18
    /// of all visual tokens. The unpruned model is always measured, too.
    #[arg(long, visible_alias = "budgets", value_name = "T", value_delimiter = ',')]
    pub(super) budget: Vec<usize>,
    /// The same as shares of all visual tokens.
    #[arg(long, value_name = "R", value_delimiter = ',')]
    pub(super) keep: Vec<f64>,
    /// Measure the unpruned model alone.
    #[arg(long, conflicts_with_all = ["budget", "keep"])]
    pub(super) no_prune: bool,
    /// Take the counts the methods' authors give for a budget of that name, whatever the layer
    /// average then is.
    #[arg(long)]
    pub(super) authors_budget: bool,
    /// Block after which tokens go, counted from 1, in place of the model's or the method's own.
    #[arg(long, value_name = "K")]
    pub(super) refine_layer: Option<usize>,
    /// Stage-1 pool as a multiple of the budget; 2 unless given.
    #[arg(long, value_name = "N")]
    pub(super) pool: Option<usize>,
    /// Text tokens of the prompt; at most 35 of them come before the image.
    #[arg(long, default_value = TEXT_TOKENS, value_parser = count(2, MAX_TOKENS))]
    pub(super) text_tokens: usize,
    /// Size of the image or frame, as `WIDTHxHEIGHT`; what fills the family's usual views unless given.
    #[arg(long, value_name = "WxH", value_parser = image_size)]
    pub(super) image_size: Option<Size>,
    /// Frames of a video, for families that take one; 8 unless given.
    #[arg(long, value_name = "N", value_parser = count(1, MAX_FRAMES))]
    pub(super) frames: Option<usize>,
    /// Tokens over which decoding is measured.
    #[arg(long, default_value_t = 8, value_parser = count(1, MAX_TOKENS))]
    pub(super) new_tokens: usize,
    /// Runs of each setting that are not counted.
    #[arg(long, default_value_t = 1, value_parser = count(0, MAX_RUNS))]
    pub(super) warmups: usize,
    /// Rounds: runs of each setting that are counted.
    #[arg(long, default_value_t = 5, value_parser = count(1, MAX_RUNS))]
    pub(super) repeats: usize,
    /// Numbers of clients at once, separated by commas, as in `1,2,4,8`: every setting also answers that
    /// many, each of which sends its next request when the last one is answered.
    #[arg(long, value_name = "CLIENTS", value_delimiter = ',', value_parser = count(1, MAX_CLIENTS))]
    pub(super) concurrency: Vec<usize>,
    /// Requests of each of these clients in a round; 2 unless given.
    #[arg(long, value_name = "N", requires = "concurrency", value_parser = count(1, MAX_REQUESTS))]
    pub(super) requests: Option<usize>,
    /// Seed of random weights and pixels.
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
    /// Write the JSON document to this file, whatever is printed. Every finished run is kept in a
    /// journal beside it, the same name with `.jsonl`.
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Go on from the runs in the journal of --out.
    #[arg(long, requires = "out")]
    pub(super) resume: bool,
    /// Write tables to this file, one for each budget with a row for each method.
    #[arg(long, value_name = "FILE")]
    pub(super) markdown: Option<PathBuf>,
    /// Draw speed-ups into this file, `.svg` or `.png`.
    #[arg(long, value_name = "FILE", value_parser = picture::chart())]
    pub(super) plot: Option<PictureFile<ChartFormat>>,
    /// The `summary.json` of `mico eval --out`, whose Rel is drawn over the speed-ups.
    #[arg(long, value_name = "FILE", requires = "plot")]
    pub(super) quality: Option<PathBuf>,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub(super) json: bool,
}

fn count(least: u64, most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least..=most)
}

impl BenchArgs {
    /// Refuses what has no effect where nothing is pruned.
    pub(super) fn unpruned(&self) -> Result<(), Failure> {
        let given = [
            ("--method", self.method.is_some()),
            ("--authors-budget", self.authors_budget),
            ("--refine-layer", self.refine_layer.is_some()),
            ("--pool", self.pool.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((flag, _)) => {
                Err(Failure::misused(format!("{flag} has no effect beside --no-prune")))
            }
            None => Ok(()),
        }
    }

    /// The clients that were asked for.
    pub(super) fn concurrency(&self) -> Result<Concurrency, Failure> {
        Ok(Concurrency::new(self.concurrency.clone(), self.requests.unwrap_or(REQUESTS))?)
    }

    pub(crate) fn threads(&self) -> Option<u64> {
        self.model.threads
    }
}
