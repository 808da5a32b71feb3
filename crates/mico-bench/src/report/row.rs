//! One setting's row.

use mico_engine::Setting;
use mico_eval::Condition;
use mico_select::schedule::DEFAULT_POOL;
use serde::Serialize;
use serde_json::Value;

use super::stats::{Speedup, Spread};
use crate::concurrency::{LevelRow, Turns};
use crate::memory::Allocated;
use crate::sample::{Facts, Sample, Tokens};

/// What tables and documents call pruning nothing.
const NONE: &str = "none";

/// The measurements of one condition, over all its counted runs.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// How the engine was asked.
    #[serde(skip)]
    pub setting: Setting,
    /// The pruner, with the settings it was given.
    pub method: String,
    /// Tokens the budget comes to; null if nothing is pruned.
    pub budget: Option<usize>,
    /// The refinement block, if it was given.
    pub refine_layer: Option<usize>,
    /// Stage-1 pool as a multiple of the budget.
    pub pool: Option<usize>,
    #[serde(flatten)]
    pub(super) run: Run,
    /// Text and visual tokens of the prompt, before and after pruning.
    pub tokens: Tokens,
    /// Seconds of each component and of the whole request.
    pub seconds: Times,
    /// FLOPs of the prefill by component, in units of 10⁹.
    pub gflops: Value,
    /// Against the unpruned row; null there.
    pub speedup: Option<Speedups>,
    /// What both stages cost, as a share of the unpruned prefill of the same round.
    pub pruning_share: Option<f64>,
    /// The most resident memory of any run.
    pub peak_memory_bytes: u64,
    /// The most of any run; null if nobody counts.
    pub allocated_bytes: Option<Allocated>,
    /// Keys and values of the prompt, and recurrent states.
    pub cache_bytes: usize,
    /// What several clients at once got, the fewest first; absent from the document if there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub concurrency: Vec<LevelRow>,
}

/// How a row came about.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Run {
    pub(super) dtype: String,
    pub(super) quantize: Option<String>,
    /// Number format of the tower's and projector's matrices.
    pub(super) vision: String,
    pub(super) threads: usize,
    pub(super) attention: String,
    pub(super) commit: Option<String>,
    pub(super) argv: Vec<String>,
}

/// Seconds per component; `prefill` is their sum from the tower to the first logits.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Times {
    /// Decoding, resizing and normalising the images.
    pub preprocess: Spread,
    /// The vision tower's forward pass.
    pub vision: Spread,
    /// The projector and the packing of its output into visual tokens.
    pub projector: Spread,
    /// Stage-1 signals and selection.
    pub stage1: Spread,
    /// Computing the signals that Stage 2 selects by.
    pub stage2_relevance: Spread,
    /// Selecting the tokens that stay after Stage 2.
    pub stage2_select: Spread,
    /// Decoder blocks and head on the prompt.
    pub decoder_prefill: Spread,
    /// The sum from the tower to the first logits.
    pub prefill: Spread,
    /// Wall time from the start of the request, preprocessing included, to the first token's logits.
    pub first_token: Spread,
    /// One step after the first token.
    pub decode_per_token: Spread,
    /// Wall time of the whole request.
    pub request: Spread,
}

/// Speed-ups over the unpruned row.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Speedups {
    /// From the tower to the first logits.
    pub prefill: Speedup,
    /// Without tower and projector, which pruning does not change.
    pub decoder: Speedup,
}

/// A condition with its runs, round by round.
#[derive(Debug, Clone)]
pub(super) struct Runs<'a> {
    pub(super) condition: &'a Condition,
    pub(super) facts: &'a Facts,
    pub(super) samples: Vec<&'a Sample>,
    /// The turns of each level.
    pub(super) levels: Vec<Vec<Turns<'a>>>,
}

impl Row {
    /// A row, held against the unpruned one.
    pub(super) fn new(runs: &Runs<'_>, base: Option<&Runs<'_>>, run: Run) -> Self {
        let Runs { condition, facts, samples, levels } = runs;
        let pruning = condition.pruning();
        let pruned = base.filter(|_| pruning.is_some());
        Self {
            setting: condition.setting.clone(),
            method: pruning.map_or_else(|| NONE.to_owned(), |_| condition.label.clone()),
            budget: facts.budget,
            refine_layer: pruning.and_then(|pruning| pruning.refine_layer),
            pool: pruning.map(|pruning| pruning.pool.unwrap_or(DEFAULT_POOL)),
            run,
            tokens: facts.tokens,
            seconds: Times::new(runs),
            gflops: facts.gflops.parts.clone(),
            speedup: pruned.map(|base| Speedups::new(base, runs)),
            pruning_share: pruned.map(|base| {
                let pairs = base.all(Sample::prefill).into_iter().zip(runs.all(Sample::pruning));
                Spread::of(pairs.map(|(whole, part)| part / whole).collect()).median
            }),
            peak_memory_bytes: samples.iter().map(|sample| sample.peak_memory).max().unwrap_or(0),
            allocated_bytes: samples.iter().filter_map(|s| s.allocated).reduce(Allocated::most),
            cache_bytes: facts.cache_bytes,
            concurrency: levels.iter().filter_map(|turns| LevelRow::new(turns)).collect(),
        }
    }
}

impl Runs<'_> {
    fn all(&self, of: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples.iter().map(|sample| of(sample)).collect()
    }
}

impl Times {
    fn new(runs: &Runs<'_>) -> Self {
        let steps = runs.facts.tokens.generated as f64;
        let spread = |of: &dyn Fn(&Sample) -> f64| Spread::of(runs.all(of));
        Self {
            preprocess: spread(&|s| s.seconds.preprocess),
            vision: spread(&|s| s.seconds.vision),
            projector: spread(&|s| s.seconds.projector),
            stage1: spread(&|s| s.seconds.stage1),
            stage2_relevance: spread(&|s| s.seconds.stage2_relevance),
            stage2_select: spread(&|s| s.seconds.stage2_select),
            decoder_prefill: spread(&|s| s.seconds.decoder_prefill),
            prefill: spread(&Sample::prefill),
            first_token: spread(&|s| s.first_token),
            decode_per_token: spread(&|s| s.seconds.decode / steps),
            request: spread(&|s| s.request),
        }
    }
}

impl Speedups {
    fn new(base: &Runs<'_>, runs: &Runs<'_>) -> Self {
        let pair = |of: fn(&Sample) -> f64| (base.all(of), runs.all(of));
        let (from, to) = (&base.facts.gflops, &runs.facts.gflops);
        let (before, after) = pair(Sample::prefill);
        let prefill = Speedup::new(from.total / to.total, &before, &after);
        let (before, after) = pair(Sample::after_projector);
        let promised = from.after_projector / to.after_projector;
        Self { prefill, decoder: Speedup::new(promised, &before, &after) }
    }
}
