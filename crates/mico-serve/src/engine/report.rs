//! The counts of a request as the engine plans and realises them, in the words of the wire.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mico_batch::Timings;
use mico_batch::engine::EngineAnswer;
use mico_chart::overlay::{self, Caption, Pruned};
use mico_engine::{Engine, Finish as EngineFinish, ImageInput, ImageOutcome, Prepared};
use mico_select::schedule::Budget;
use mico_vision::layout::{GroupKind, VisualLayout};

use crate::backend::{ChatJob, Finish, GroupReport, ImageReport, Outcome, Plan, Returns, Seconds};

/// What a request's response shows beside the answer.
pub(super) struct Shown {
    plan: Plan,
    pub(super) params: Vec<String>,
    pub(super) returns: Returns,
    inputs: Vec<ImageInput>,
}

impl Shown {
    /// `inputs` are the decoded images, where a picture of what was kept is asked for.
    pub(super) fn new(
        plan: Plan,
        params: Vec<String>,
        returns: Returns,
        inputs: Vec<ImageInput>,
    ) -> Self {
        Self { plan, params, returns, inputs }
    }

    /// Whether a picture is to be drawn, which takes its time.
    pub(super) fn draws(&self) -> bool {
        self.returns.overlay
    }
}

/// The counts before anything runs. Where several images share a cut, what it leaves of each is known only afterwards;
/// the plan then has the most that it can be.
pub(super) fn planned(engine: &Engine, prepared: &Prepared, job: &ChatJob) -> Plan {
    let (own, visual) = (prepared.plan(), prepared.visual_tokens());
    let leaves = |index: usize, layout: &VisualLayout| {
        let leaves = own.stage1.as_ref().and_then(|stage1| stage1.leaves.get(index));
        leaves.map_or(layout.len(), |count| count.most())
    };
    let images = prepared.layouts().enumerate().map(|(index, layout)| {
        let entered = leaves(index, layout);
        let kept = entered.min(prepared.visual_tokens_kept());
        report(layout, entered, kept, job.returns.layout)
    });
    let per_block = prepared.visual_per_block();
    let units = engine.schedule().units(prepared.layouts()).max(1);
    let average = per_block.iter().sum::<usize>() as f64 / per_block.len().max(1) as f64;
    let last = own.cuts.last().map(|cut| cut.block);
    let uncalibrated = last.is_some() && engine.describe().uncalibrated;
    Plan {
        method: job.pruning.as_ref().map_or("none", |spec| spec.method.name()).to_owned(),
        budget: job.pruning.as_ref().map(|spec| match spec.budget {
            Budget::Tokens(tokens) => tokens,
            Budget::Share(share) => ((share * (visual / units) as f64).round() as usize).max(1),
        }),
        refine_layer: last,
        layers: per_block.len(),
        layer_average: average / units as f64,
        text_tokens: prepared.prompt_tokens() - visual,
        images: images.collect(),
        cache_lengths: prepared.cache_lengths().to_vec(),
        warnings: if uncalibrated {
            vec!["uncalibrated refinement block".to_owned()]
        } else {
            Vec::new()
        },
    }
}

fn report(layout: &VisualLayout, entered: usize, kept: usize, with_layout: bool) -> ImageReport {
    let size = layout.image();
    let mut report = ImageReport {
        width: size.width,
        height: size.height,
        visual_tokens: layout.len(),
        entered,
        kept,
        ..ImageReport::default()
    };
    if with_layout {
        let group = |group: &mico_vision::layout::Group| GroupReport {
            kind: kind(group.kind).to_owned(),
            rows: group.rows,
            columns: group.columns,
        };
        let tokens = layout.tokens();
        report.groups = Some(layout.groups().iter().map(group).collect());
        let place = |token: &mico_vision::layout::VisualToken| {
            token.patch.map(|patch| [patch.group, patch.local])
        };
        report.tokens = Some(tokens.iter().map(place).collect());
        let corners = |token: &mico_vision::layout::VisualToken| {
            let region = token.region;
            [region.x0, region.y0, region.x1, region.y1]
        };
        report.regions = Some(tokens.iter().flat_map(corners).collect());
    }
    report
}

fn kind(kind: GroupKind) -> &'static str {
    match kind {
        GroupKind::Whole => "whole",
        GroupKind::Crop { .. } => "crop",
        GroupKind::Tile { .. } => "tile",
        GroupKind::Thumbnail => "thumbnail",
        GroupKind::Frame { .. } => "frame",
    }
}

/// The counts as they came to be, and where the time went.
pub(super) fn realised(
    answer: &EngineAnswer,
    timings: &Timings,
    shown: &Shown,
    cache: bool,
) -> Outcome {
    let outcome = &answer.outcome;
    let mut plan = shown.plan.clone();
    let images = outcome.images.iter().enumerate().map(|(index, image)| {
        let (stage1, kept) = (outcome.stage1_of(image), outcome.kept_of(image));
        let entered = stage1.as_ref().map_or(image.tokens.len(), Vec::len);
        let mut report = report(&image.layout, entered, kept.len(), shown.returns.layout);
        report.cache = Some(match (cache, answer.cached.get(index)) {
            (false, _) => "off",
            (true, Some(true)) => "hit",
            (true, _) => "miss",
        });
        if shown.returns.indices {
            report.stage1.clone_from(&stage1);
            report.stage2 = outcome.cuts.last().map(|_| kept.clone());
        }
        if shown.returns.overlay {
            report.overlay = drawn(shown.inputs.get(index), image, stage1.as_deref(), &kept);
        }
        report
    });
    plan.images = images.collect();
    plan.layer_average = outcome.usage.layer_average;
    plan.cache_lengths.clone_from(&outcome.cache_lengths);
    plan.text_tokens = outcome.usage.prompt_tokens - outcome.usage.visual_tokens;
    let finish = match &outcome.answer.finish {
        EngineFinish::Length => Finish::Length,
        EngineFinish::Stop(text) => Finish::Stop(text.clone()),
        _ => Finish::End,
    };
    let mut told = Outcome::new(plan, finish, outcome.usage.generated_tokens);
    told.seconds = seconds(outcome.seconds, timings);
    told
}

fn seconds(own: mico_engine::Seconds, timings: &Timings) -> Seconds {
    Seconds {
        queue: timings.waited().as_secs_f64(),
        preprocess: own.preprocess,
        vision: own.vision,
        projector: own.projector,
        stage1: own.stage1,
        stage2_relevance: own.stage2_relevance,
        stage2_select: own.stage2_select,
        decoder_prefill: own.decoder_prefill,
        decode: own.decode,
        total: timings.total.as_secs_f64(),
        first_token: timings.first_token.unwrap_or(timings.total).as_secs_f64(),
        ..Seconds::default()
    }
}

/// A picture of what was kept, as a data URL; `None` for a video, or if it cannot be drawn.
fn drawn(
    input: Option<&ImageInput>,
    outcome: &ImageOutcome,
    stage1: Option<&[usize]>,
    kept: &[usize],
) -> Option<String> {
    let Some(ImageInput::Decoded(image)) = input else { return None };
    let pruned = Pruned { image, layout: &outcome.layout, stage1, kept };
    let caption = Caption { question: "", answer: "", counts: "" };
    let png = overlay::draw_png(&[pruned], &caption).ok()?;
    Some(format!("data:image/png;base64,{}", STANDARD.encode(png)))
}
