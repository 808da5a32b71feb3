//! The items of a calibration under every setting.

use std::collections::BTreeMap;

use mico_engine::Setting;
use mico_engine::pruner::{MethodSpec, PruningSpec};
use mico_score::Grade;
use mico_select::schedule::Budget;

use super::{CalibrationOptions, METHOD, Refused, STAGE1_ONLY, Swept};
use crate::condition::Condition;
use crate::error::{Error, Result};
use crate::item::{Damaged, Item};
use crate::kl::{Forced, Reference};
use crate::record::seed;
use crate::run::{Looks, ROUNDING, Run, missed, missing_it};

/// One setting's outcome on one item.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub(super) grade: Grade,
    pub(super) kl: f64,
}

/// An item of the sample.
pub(super) struct Drawn {
    /// Its source's number.
    pub(super) source: usize,
    pub(super) item: Item,
}

/// An item with its outcomes, the unpruned first.
pub(super) struct Measured {
    pub(super) drawn: Drawn,
    pub(super) marks: Vec<Mark>,
}

/// Items of all sources: a fixed sample of whole pictures, the same on every run and machine. A source is
/// read to its end and no more is held than what is drawn from it.
pub(super) fn sample(
    run: &Run<'_>,
    options: &CalibrationOptions,
    failed: &mut Vec<String>,
) -> Result<Vec<Drawn>> {
    let mut items = Vec::new();
    for (number, source) in run.sources.iter().enumerate() {
        let mut lots: Vec<Lots> = source.tracks().iter().map(|_| Lots::default()).collect();
        for item in source.items()? {
            match item {
                Ok(item) => lots[item.track].put(item, options),
                Err(Damaged { reason, .. }) => failed.push(reason),
            }
        }
        let mut drawn: Vec<Item> = lots.into_iter().flat_map(Lots::into_items).collect();
        drawn.sort_by_key(|item| (item.position, item.track));
        items.extend(drawn.into_iter().map(|item| Drawn { source: number, item }));
    }
    Ok(items)
}

/// The items drawn so far, by picture: questions about one picture may count only together.
#[derive(Default)]
struct Lots {
    pictures: BTreeMap<(u64, String), Vec<Item>>,
    items: usize,
}

impl Lots {
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

/// The settings that can be run: unpruned, Stage 1 alone, then a block each. The rest with reasons; an
/// error if no block is left.
pub(super) fn feasible(
    run: &Run<'_>,
    items: &[Drawn],
    options: &CalibrationOptions,
) -> Result<(Vec<Swept>, Refused)> {
    let CalibrationOptions { tokens, pool, .. } = *options;
    let blocks = run.engine.model().decoder().blocks();
    if let Some(layer) = options.layers.iter().find(|layer| !(1..blocks).contains(layer)) {
        let accepted = format!("1 to {}", blocks - 1);
        return Err(Error::OutOfRange { what: "refine-layer", found: layer.to_string(), accepted });
    }
    let mut layers = options.layers.clone();
    layers.sort_unstable();
    layers.dedup();
    let mut all = vec![Condition::unpruned(run.base), pruned(run.base, STAGE1_ONLY, tokens)?];
    for layer in layers {
        let mut refined = pruned(run.base, METHOD, tokens)?;
        if let Some(pruning) = &mut refined.setting.pruning {
            (pruning.refine_layer, pruning.pool) = (Some(layer), Some(pool));
        }
        all.push(refined);
    }
    let (mut swept, mut refused) = (Vec::new(), Refused::new());
    // An item that cannot be asked tells nothing about blocks.
    let usable = |drawn: &&Drawn| {
        let prompt = run.sources[drawn.source].prompt(&drawn.item);
        prompt.is_ok_and(|prompt| {
            Looks::new(run, run.sources[drawn.source], prompt).layouts(&drawn.item).is_ok()
        })
    };
    let Some(Drawn { source, item: first }) = items.iter().find(usable) else {
        let found = format!("none of {} that can be asked", items.len());
        return Err(Error::OutOfRange { what: "items", found, accepted: "at least one".into() });
    };
    let source = run.sources[*source];
    let mut looks = Looks::new(run, source, source.prompt(first)?);
    for setting in all {
        let outcome = match looks.ask(first, &setting, 1, &mut ())? {
            Ok(outcome) => outcome,
            Err(reason) => match layer(&setting) {
                Some(layer) => {
                    refused.push((layer, reason));
                    continue;
                }
                None => return Err(Error::Score { item: first.id.clone(), reason }),
            },
        };
        let usage = outcome.usage;
        match layer(&setting) {
            Some(layer) if missed(&usage, tokens).abs() >= ROUNDING => {
                refused.push((layer, missing_it(&usage, tokens)));
            }
            _ => swept.push(Swept { setting, layer_average: usage.layer_average }),
        }
    }
    if swept.iter().any(|each| layer(&each.setting).is_some()) {
        return Ok((swept, refused));
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
    drawn: Drawn,
) -> Result<std::result::Result<Measured, String>> {
    let (source, item) = (run.sources[drawn.source], &drawn.item);
    let spec = &source.tracks()[item.track];
    let most = source.max_new_tokens();
    let mut looks = Looks::new(run, source, source.prompt(item)?);
    let mut reference = Reference::default();
    let failed = |reason: String| Ok(Err(format!("{} {}: {reason}", spec.name, item.id)));
    let plain = match looks.ask(item, &run.settings[0], most, &mut reference)? {
        Ok(outcome) => outcome,
        Err(reason) => return failed(reason),
    };
    let fields = looks.fields(item);
    let unpruned = spec.grade(&item.id, &fields, &plain.answer.text)?;
    let mut marks = vec![Mark { grade: unpruned.clone(), kl: 0.0 }];
    for setting in &run.settings[1..] {
        let mut forced = Forced::new(&reference);
        if let Err(reason) = looks.ask(item, setting, reference.len(), &mut forced)? {
            return failed(reason);
        }
        let (agrees, kl) = (forced.agrees, forced.divergence());
        let grade = if agrees {
            unpruned.clone()
        } else {
            match looks.ask(item, setting, most, &mut ())? {
                Ok(outcome) => spec.grade(&item.id, &fields, &outcome.answer.text)?,
                Err(reason) => return failed(reason),
            }
        };
        marks.push(Mark { grade, kl });
    }
    Ok(Ok(Measured { drawn, marks }))
}
