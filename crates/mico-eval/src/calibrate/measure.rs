//! The items of a calibration under every setting.

use std::collections::BTreeMap;

use mico_engine::pruner::{MethodSpec, PruningSpec};
use mico_engine::{Outcome, Setting};
use mico_score::Grade;
use mico_select::schedule::Budget;

use super::{CalibrationOptions, FeasibleSetting, METHOD, RefusedBlocks, STAGE1_ONLY};
use crate::condition::Condition;
use crate::error::{Error, Result};
use crate::item::{DamagedRow, Item};
use crate::kl::{Reference, TeacherForcing};
use crate::record::seed;
use crate::run::{
    Advance, BUDGET_TOLERANCE, ItemEncodings, Run, Stoppable, budget_excess, budget_excess_message,
};

/// One setting's outcome on one item.
#[derive(Debug, Clone)]
pub(super) struct SettingResult {
    pub(super) grade: Grade,
    pub(super) kl: f64,
}

/// An item of the sample.
pub(super) struct SampledItem {
    /// Index of its source among those of the run.
    pub(super) source: usize,
    pub(super) item: Item,
}

/// An item with its outcomes, the unpruned first.
pub(super) struct MeasuredItem {
    pub(super) sampled: SampledItem,
    pub(super) results: Vec<SettingResult>,
}

/// Items of all sources: a fixed sample of whole pictures, the same on every run and machine. A source is
/// read to its end and no more is held than what is drawn from it.
pub(super) fn sample(
    run: &Run<'_>,
    options: &CalibrationOptions,
    failed: &mut Vec<String>,
) -> Result<Vec<SampledItem>> {
    let mut items = Vec::new();
    for (number, source) in run.sources.iter().enumerate() {
        let mut lots: Vec<PictureSample> =
            source.tracks().iter().map(|_| PictureSample::default()).collect();
        for item in source.items()? {
            match item {
                Ok(item) => lots[item.track].put(item, options),
                Err(DamagedRow { reason, .. }) => failed.push(reason),
            }
        }
        let mut sampled: Vec<Item> = lots.into_iter().flat_map(PictureSample::into_items).collect();
        sampled.sort_by_key(|item| (item.position, item.track));
        items.extend(sampled.into_iter().map(|item| SampledItem { source: number, item }));
    }
    Ok(items)
}

/// The items drawn so far, by picture: questions about one picture may count only together.
#[derive(Default)]
struct PictureSample {
    pictures: BTreeMap<(u64, String), Vec<Item>>,
    items: usize,
}

impl PictureSample {
    /// Takes an item in if its picture is among those drawn.
    fn put(&mut self, item: Item, options: &CalibrationOptions) {
        let lot = options.sample.map_or(0, |_| seed(&format!("{} {}", options.seed, item.cluster)));
        self.pictures.entry((lot, item.cluster.clone())).or_default().push(item);
        self.items += 1;
        let Some(most) = options.sample else { return };
        while let Some(last) = self.pictures.last_entry() {
            let fewer = self.items - last.get().len();
            if fewer < most {
                break;
            }
            last.remove();
            self.items = fewer;
        }
    }

    fn into_items(self) -> impl Iterator<Item = Item> {
        self.pictures.into_values().flatten()
    }
}

pub(super) fn layer(setting: &Condition) -> Option<usize> {
    setting.pruning()?.refine_layer
}

/// A method at a budget, everything else as in the run.
fn pruned(base: &Setting, method: &str, tokens: usize) -> Result<Condition> {
    let method = method.parse::<MethodSpec>().map_err(mico_engine::Error::from)?;
    let pruning = PruningSpec::new(method, Budget::Tokens(tokens));
    Ok(Condition::of(base.with_pruning(Some(pruning)), base))
}

/// The settings to compare: unpruned, Stage 1 alone, then one for each block to refine after.
fn settings(run: &Run<'_>, options: &CalibrationOptions) -> Result<Vec<Condition>> {
    let CalibrationOptions { tokens, pool, .. } = *options;
    let blocks = run.engine.model().decoder().blocks();
    if let Some(layer) = options.layers.iter().find(|layer| !(1..blocks).contains(layer)) {
        let accepted = format!("1 to {}", blocks - 1);
        return Err(Error::OutOfRange { what: "refine-layer", found: layer.to_string(), accepted });
    }
    let mut layers = options.layers.clone();
    layers.sort_unstable();
    layers.dedup();
    let mut settings = vec![Condition::unpruned(run.base), pruned(run.base, STAGE1_ONLY, tokens)?];
    for layer in layers {
        let mut refined = pruned(run.base, METHOD, tokens)?;
        if let Some(pruning) = &mut refined.setting.pruning {
            (pruning.refine_layer, pruning.pool) = (Some(layer), Some(pool));
        }
        settings.push(refined);
    }
    Ok(settings)
}

/// The first item that can be asked: one that cannot says nothing about blocks.
fn first_usable<'a>(run: &Run<'_>, items: &'a [SampledItem]) -> Result<&'a SampledItem> {
    let usable = |sampled: &&SampledItem| {
        let source = run.sources[sampled.source];
        let prompt = source.prompt(&sampled.item);
        prompt.is_ok_and(|prompt| {
            ItemEncodings::new(run, source, prompt).layouts(&sampled.item).is_ok()
        })
    };
    items.iter().find(usable).ok_or_else(|| {
        let found = format!("none of {} that can be asked", items.len());
        Error::OutOfRange { what: "items", found, accepted: "at least one".into() }
    })
}

/// The settings that can be run, in their order; the blocks that cannot, with reasons. It is an error if no
/// block is left.
pub(super) fn feasible_settings(
    run: &Run<'_>,
    items: &[SampledItem],
    options: &CalibrationOptions,
) -> Result<(Vec<FeasibleSetting>, RefusedBlocks)> {
    let settings = settings(run, options)?;
    let SampledItem { source, item: first } = first_usable(run, items)?;
    let source = run.sources[*source];
    let mut encodings = ItemEncodings::new(run, source, source.prompt(first)?);
    let (mut feasible, mut refused) = (Vec::new(), RefusedBlocks::new());
    for setting in settings {
        let outcome = encodings.ask(first, &setting, 1, &mut ())?;
        match (outcome, layer(&setting)) {
            (Err(reason), Some(layer)) => refused.push((layer, reason)),
            (Err(reason), None) => return Err(Error::Score { item: first.id.clone(), reason }),
            (Ok(Outcome { usage, .. }), Some(layer))
                if budget_excess(&usage, options.tokens).abs() >= BUDGET_TOLERANCE =>
            {
                refused.push((layer, budget_excess_message(&usage, options.tokens)));
            }
            (Ok(outcome), _) => {
                let layer_average = outcome.usage.layer_average;
                feasible.push(FeasibleSetting { setting, layer_average });
            }
        }
    }
    if feasible.iter().any(|each| layer(&each.setting).is_some()) {
        return Ok((feasible, refused));
    }
    let reasons: Vec<String> =
        refused.iter().map(|(layer, reason)| format!("K={layer}: {reason}")).collect();
    Err(Error::OutOfRange {
        what: "refine-layer",
        found: format!("{:?}", options.layers),
        accepted: format!("a block that can meet the budget ({})", reasons.join("; ")),
    })
}

/// One item under every setting, the unpruned first; why it cannot be asked otherwise.
pub(super) fn measure(
    run: &Run<'_>,
    sampled: SampledItem,
    advance: &Advance<'_>,
) -> Result<std::result::Result<MeasuredItem, String>> {
    let (source, item) = (run.sources[sampled.source], &sampled.item);
    let spec = &source.tracks()[item.track];
    let most = source.max_new_tokens();
    let mut encodings = ItemEncodings::new(run, source, source.prompt(item)?);
    let mut observed = Stoppable { sink: Reference::default(), advance };
    let failed = |reason: String| Ok(Err(format!("{} {}: {reason}", spec.name, item.id)));
    let plain = match encodings.ask(item, &run.settings[0], most, &mut observed)? {
        Ok(outcome) => outcome,
        Err(reason) => return failed(reason),
    };
    let reference = observed.sink;
    let fields = encodings.fields(item);
    let unpruned = spec.grade(&item.id, &fields, &plain.answer.text)?;
    let mut results = vec![SettingResult { grade: unpruned.clone(), kl: 0.0 }];
    for setting in &run.settings[1..] {
        let mut stoppable = Stoppable { sink: TeacherForcing::new(&reference), advance };
        if let Err(reason) = encodings.ask(item, setting, reference.len(), &mut stoppable)? {
            return failed(reason);
        }
        let forcing = stoppable.sink;
        let (agrees, kl) = (forcing.agrees, forcing.divergence());
        let grade = if agrees {
            unpruned.clone()
        } else {
            match encodings.ask(item, setting, most, &mut Stoppable { sink: (), advance })? {
                Ok(outcome) => spec.grade(&item.id, &fields, &outcome.answer.text)?,
                Err(reason) => return failed(reason),
            }
        };
        results.push(SettingResult { grade, kl });
    }
    Ok(Ok(MeasuredItem { sampled, results }))
}
