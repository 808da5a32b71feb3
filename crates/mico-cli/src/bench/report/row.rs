//! One setting's row.

use mico_engine::flops::{self, Gflops, Head, Planned, Prefill};
use mico_model::Grid;
use mico_vision::layout::Group;
use serde::Serialize;

use super::stats::{Speedup, Spread};
use crate::bench::measure::{Measured, Sample};
use crate::bench::subject::Subject;

/// One setting.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) method: &'static str,
    pub(super) budget: Option<usize>,
    #[serde(flatten)]
    pub(super) run: Run,
    pub(super) tokens: Tokens,
    pub(super) seconds: Times,
    pub(super) gflops: Gflops,
    /// Against the unpruned row; null there.
    pub(super) speedup: Option<Speedups>,
    /// What both stages cost, as a share of the unpruned prefill of the same round.
    pub(super) pruning_share: Option<f64>,
    pub(super) peak_memory_bytes: u64,
    /// Keys and values of the prompt, and recurrent states.
    pub(super) cache_bytes: usize,
}

/// How a row came about.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Run {
    pub(super) dtype: String,
    pub(super) quantize: Option<&'static str>,
    pub(super) threads: usize,
    pub(super) attention: &'static str,
    pub(super) commit: Option<String>,
    pub(super) argv: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Tokens {
    pub(super) text: usize,
    pub(super) visual: usize,
    pub(super) stage1_kept: Option<usize>,
    pub(super) stage2_kept: Option<usize>,
    pub(super) layer_average: f64,
    pub(super) generated: usize,
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
    pub(super) decode_per_token: Spread,
    pub(super) request: Spread,
}

/// Speed-ups over the unpruned row.
#[derive(Debug, Serialize)]
pub(super) struct Speedups {
    /// From the tower to the first logits.
    pub(super) prefill: Speedup,
    /// Without tower and projector, which pruning does not change.
    pub(super) decoder: Speedup,
}

/// The unpruned row as the others are held against it.
#[derive(Clone, Copy)]
pub(super) struct Base<'a> {
    pub(super) measured: &'a Measured,
    pub(super) gflops: Gflops,
}

impl Row {
    pub(super) fn new(
        subject: &Subject,
        measured: &Measured,
        gflops: Gflops,
        base: Option<Base<'_>>,
        run: Run,
    ) -> Self {
        let (trace, setting) = (&measured.trace, &measured.setting);
        let steps = trace.generated_ids.len().saturating_sub(1).max(1);
        let all = |of: &dyn Fn(&Sample) -> f64| measured.samples.iter().map(of).collect::<Vec<_>>();
        let spread = |of: &dyn Fn(&Sample) -> f64| Spread::of(all(of));
        let cached: usize = trace.cache_lengths.iter().flatten().sum();
        let decoder = subject.engine.model().decoder();
        let peaks = measured.samples.iter().map(|sample| sample.peak_memory);
        let pruned = base.filter(|_| setting.prunes());
        Self {
            method: setting.method,
            budget: setting
                .prunes()
                .then(|| setting.pruning.budget.tokens(trace.visual_tokens).ok())
                .flatten(),
            run,
            tokens: Tokens {
                text: trace.prompt_tokens - trace.visual_tokens,
                visual: trace.visual_tokens,
                stage1_kept: trace.stage1.as_ref().map(|stage| stage.kept.len()),
                stage2_kept: trace.stage2.as_ref().map(|stage| stage.kept.len()),
                layer_average: trace.layer_average,
                generated: steps,
            },
            seconds: Times {
                preprocess: spread(&|s| s.seconds.preprocess),
                vision: spread(&|s| s.seconds.vision),
                projector: spread(&|s| s.seconds.projector),
                stage1: spread(&|s| s.seconds.stage1),
                stage2_relevance: spread(&|s| s.seconds.stage2_relevance),
                stage2_select: spread(&|s| s.seconds.stage2_select),
                decoder_prefill: spread(&|s| s.seconds.decoder_prefill),
                prefill: spread(&Sample::prefill),
                decode_per_token: spread(&|s| s.seconds.decode / steps as f64),
                request: spread(&|s| s.request),
            },
            gflops,
            speedup: pruned.map(|base| Speedups::new(base, measured, &gflops)),
            pruning_share: pruned.map(|base| {
                let whole = base.measured.samples.iter().map(Sample::prefill);
                let pairs = whole.zip(all(&Sample::pruning));
                Spread::of(pairs.map(|(whole, part)| part / whole).collect()).median
            }),
            peak_memory_bytes: peaks.max().unwrap_or(0),
            cache_bytes: cached * decoder.cache_bytes_per_token() + decoder.state_bytes(),
        }
    }
}

impl Speedups {
    fn new(base: Base<'_>, measured: &Measured, gflops: &Gflops) -> Self {
        let pair = |of: fn(&Sample) -> f64| {
            let times = |m: &Measured| m.samples.iter().map(of).collect::<Vec<f64>>();
            (times(base.measured), times(measured))
        };
        let (before, after) = pair(Sample::prefill);
        let prefill = Speedup::new(base.gflops.total / gflops.total, &before, &after);
        let (before, after) = pair(Sample::after_projector);
        let promised = base.gflops.after_projector() / gflops.after_projector();
        Self { prefill, decoder: Speedup::new(promised, &before, &after) }
    }
}

/// The FLOPs of a row, as the engine runs it: the head over the last position.
pub(super) fn count(subject: &Subject, measured: &Measured) -> mico_engine::Result<Gflops> {
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
    let visual = planned.visual_per_block()?;
    let tokens: Vec<usize> = visual.iter().map(|visual| visual + text).collect();
    let grid = |group: &Group| Grid { rows: group.rows, columns: group.columns };
    let grids: Vec<Grid> = layout.groups().iter().map(grid).collect();
    let pruning = planned.work()?;
    let head = Head::Last;
    let work = Prefill { config, grids: &grids, tokens_per_block: &tokens, head, pruning };
    Ok(flops::prefill(&work)?)
}
