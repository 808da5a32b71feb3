//! One setting's row.

use mico_engine::flops::{Gflops, Head, Planned};
use serde::Serialize;
use serde_json::Value;

use super::stats::{Speedup, Spread};
use crate::bench::memory::Allocated;
use crate::bench::sample::{Facts, Measured, Sample, Tokens};
use crate::bench::settings::Setting;
use crate::bench::subject::Subject;

/// One setting.
#[derive(Debug, Serialize)]
pub(in crate::bench) struct Row {
    /// The pruner, with the settings it was given.
    pub(in crate::bench) method: String,
    pub(in crate::bench) budget: Option<usize>,
    /// The refinement block, if it was given.
    pub(in crate::bench) refine_layer: Option<usize>,
    /// Stage-1 pool as a multiple of the budget.
    pool: Option<usize>,
    #[serde(flatten)]
    pub(super) run: Run,
    pub(super) tokens: Tokens,
    pub(super) seconds: Times,
    pub(super) gflops: Value,
    /// Against the unpruned row; null there.
    pub(in crate::bench) speedup: Option<Speedups>,
    /// What both stages cost, as a share of the unpruned prefill of the same round.
    pub(super) pruning_share: Option<f64>,
    pub(super) peak_memory_bytes: u64,
    /// The most of any run; null if nobody counts.
    pub(super) allocated_bytes: Option<Allocated>,
    /// Keys and values of the prompt, and recurrent states.
    pub(super) cache_bytes: usize,
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
pub(super) struct Times {
    pub(super) preprocess: Spread,
    pub(super) vision: Spread,
    pub(super) projector: Spread,
    pub(super) stage1: Spread,
    pub(super) stage2_relevance: Spread,
    pub(super) stage2_select: Spread,
    pub(super) decoder_prefill: Spread,
    pub(super) prefill: Spread,
    /// Wall time from the start of the request, preprocessing included, to the first token's logits.
    pub(super) first_token: Spread,
    pub(super) decode_per_token: Spread,
    pub(super) request: Spread,
}

/// Speed-ups over the unpruned row.
#[derive(Debug, Serialize)]
pub(in crate::bench) struct Speedups {
    /// From the tower to the first logits.
    pub(in crate::bench) prefill: Speedup,
    /// Without tower and projector, which pruning does not change.
    pub(super) decoder: Speedup,
}

/// A setting with its runs, round by round.
#[derive(Debug, Clone)]
pub(super) struct Runs<'a> {
    pub(super) setting: &'a Setting,
    pub(super) facts: &'a Facts,
    pub(super) samples: Vec<&'a Sample>,
}

impl Row {
    /// A row, held against the unpruned one.
    pub(super) fn new(runs: &Runs<'_>, base: Option<&Runs<'_>>, run: Run) -> Self {
        let Runs { setting, facts, samples } = runs;
        let prunes = setting.prunes();
        let pruned = base.filter(|_| prunes);
        Self {
            method: setting.name.clone(),
            budget: facts.budget,
            refine_layer: setting.pruning.refine_layer,
            pool: prunes.then_some(setting.pruning.pool),
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
            allocated_bytes: most(samples),
            cache_bytes: facts.cache_bytes,
        }
    }
}

/// The most that any run allocated.
fn most(samples: &[&Sample]) -> Option<Allocated> {
    let all = samples.iter().filter_map(|sample| sample.allocated);
    all.reduce(|a, b| Allocated {
        peak: a.peak.max(b.peak),
        above_start: a.above_start.max(b.above_start),
    })
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

/// The FLOPs of a row, as the engine runs it: the head over the last position.
pub(in crate::bench) fn count(
    subject: &Subject,
    measured: &Measured,
) -> mico_engine::Result<Gflops> {
    let (trace, layout) = (&measured.trace, &measured.image.layout);
    let (engine, pruning) = (&subject.engine, &measured.setting.pruning);
    let config = engine.model().config();
    let text = trace.prompt_tokens - trace.visual_tokens;
    let images = [layout];
    let plan = engine.plan(pruning, &images)?;
    let planned = Planned {
        config,
        images: &images,
        pruner: pruning.pruner.as_ref(),
        plan: &plan,
        text,
        after_image: subject.after_image,
    };
    planned.prefill(Head::Last)
}
