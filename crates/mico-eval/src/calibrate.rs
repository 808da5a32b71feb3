//! Choosing the refinement block: sweep it on items that no benchmark asks, take the best.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mico_engine::Engine;
use rayon::prelude::*;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::kl::{Forced, Reference};
use crate::report::{Estimate, Tally};
use crate::run::{Pictures, Progress, Run, request};
use crate::setting::Setting;
use crate::stats::{RESAMPLES, Resamples};
use crate::task::{Item, Suite};

/// The rule whose block is chosen, and the same without refinement.
const METHOD: &str = "mico";
const STAGE1_ONLY: &str = "mico-s1";

/// What to sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalibrationOptions {
    /// The budget, the same for every block.
    pub tokens: usize,
    /// The blocks, counted from 1.
    pub layers: Vec<usize>,
    /// Stage-1 pool as a multiple of the budget.
    pub pool: usize,
}

/// How one refinement block does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// The block; `None` for Stage 1 alone.
    pub refine_layer: Option<usize>,
    /// Visual tokens per block that it came to.
    pub layer_average: f64,
    /// Mean accuracy of the tracks in percent; its interval by drawing pictures again.
    pub acc: Estimate,
    /// Mean KL(unpruned ‖ pruned) over the tokens of the unpruned answers, in nats.
    pub kl: f64,
    /// That minus the same of Stage 1 alone, with a paired interval; below 0 is better.
    pub delta_kl: Estimate,
}

/// A finished sweep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// The items it ran on.
    pub suite: String,
    /// How many.
    pub items: usize,
    /// The budget.
    pub tokens: usize,
    /// The unpruned model's Acc.
    pub unpruned: Estimate,
    /// Stage 1 alone.
    pub stage1_only: Candidate,
    /// Every block that can meet the budget.
    pub candidates: Vec<Candidate>,
    /// Blocks that cannot, and why.
    pub refused: Refused,
    /// The block with the highest Acc; of equals the first.
    pub best: usize,
    /// All blocks with that Acc.
    pub ties: Vec<usize>,
    /// Which divergence it is, and along which tokens.
    pub kl_is: &'static str,
}

/// Blocks with the reasons why they cannot be refined after.
type Refused = Vec<(usize, String)>;

/// How far the realised layer average may be from the budget: what rounding can cause.
const ROUNDING: f64 = 0.5;
/// Differences of Acc below this are the rounding of sums.
const SAME: f64 = 1e-9;
const KL_IS: &str = "KL(unpruned || pruned) per token of the unpruned answer, its end included, both models given that answer";

/// A setting with the layer average it comes to.
struct Swept {
    setting: Setting,
    layer_average: f64,
}

/// One setting's outcome on one item.
#[derive(Debug, Clone, Copy)]
struct Mark {
    right: bool,
    kl: f64,
}

/// Sweeps the refinement block.
pub fn calibrate(
    engine: &Engine,
    suite: &dyn Suite,
    options: &CalibrationOptions,
    progress: &Progress<'_>,
) -> Result<Calibration> {
    let (swept, refused) = feasible(engine, suite, options)?;
    let settings: Vec<Setting> = swept.iter().map(|each| each.setting.clone()).collect();
    let run = Run { engine, model: "", suite, settings: &settings };
    let mut pictures: BTreeMap<u64, Vec<&Item>> = BTreeMap::new();
    for item in suite.items() {
        pictures.entry(item.picture).or_default().push(item);
    }
    let pictures: Vec<(u64, Vec<&Item>)> = pictures.into_iter().collect();
    let (mut marks, total) = (Vec::new(), suite.items().len());
    for batch in pictures.chunks(2 * rayon::current_num_threads()) {
        progress(marks.len(), total);
        let measured = batch.par_iter().map(|(number, items)| {
            let mut pictures = Pictures::new(&run, *number);
            let measured = items.iter().map(|item| measure(&run, item, &mut pictures));
            measured.collect::<Result<Vec<_>>>()
        });
        marks.extend(measured.collect::<Result<Vec<_>>>()?.into_iter().flatten());
    }
    progress(total, total);
    let tracks = suite.tracks().len();
    // Marks are in the order of pictures; so are the items of a suite.
    let items: Vec<Item> = pictures.into_iter().flat_map(|(_, items)| items).cloned().collect();
    let column = |at: usize| marks.iter().map(move |row: &Vec<Mark>| row[at]);
    let tally = |at: usize| Tally::new(&items, tracks, column(at).map(|mark| mark.right).collect());
    let unpruned = tally(0);
    let resamples = Resamples::new(unpruned.pictures(), RESAMPLES);
    let base: Vec<f64> = column(1).map(|mark| mark.kl).collect();
    let candidate = |at: usize| {
        let kl: Vec<f64> = column(at).map(|mark| mark.kl).collect();
        let delta: Vec<f64> = kl.iter().zip(&base).map(|(kl, base)| kl - base).collect();
        Candidate {
            refine_layer: layer(&settings[at]),
            layer_average: swept[at].layer_average,
            acc: tally(at).acc(&resamples),
            kl: kl.iter().sum::<f64>() / kl.len().max(1) as f64,
            delta_kl: paired(&items, &delta, &resamples),
        }
    };
    let candidates: Vec<Candidate> = (2..settings.len()).map(candidate).collect();
    let most = candidates.iter().map(|each| each.acc.value).fold(0.0, f64::max);
    let tied = candidates.iter().filter(|each| most - each.acc.value < SAME);
    let ties: Vec<usize> = tied.filter_map(|each| each.refine_layer).collect();
    let best = ties.iter().copied().min().unwrap_or_default();
    Ok(Calibration {
        suite: suite.name(),
        items: items.len(),
        tokens: options.tokens,
        unpruned: unpruned.acc(&resamples),
        stage1_only: candidate(1),
        candidates,
        refused,
        best,
        ties,
        kl_is: KL_IS,
    })
}

fn layer(setting: &Setting) -> Option<usize> {
    match setting {
        Setting::Pruned { refine_layer, .. } => *refine_layer,
        _ => None,
    }
}

/// The settings that can be run: unpruned, Stage 1 alone, then a block each. The rest with reasons; an
/// error if no block is left.
fn feasible(
    engine: &Engine,
    suite: &dyn Suite,
    options: &CalibrationOptions,
) -> Result<(Vec<Swept>, Refused)> {
    let CalibrationOptions { tokens, pool, .. } = *options;
    let blocks = engine.model().decoder().blocks();
    if let Some(layer) = options.layers.iter().find(|layer| !(1..blocks).contains(layer)) {
        let accepted = format!("1 to {}", blocks - 1);
        return Err(Error::OutOfRange { what: "refine-layer", found: layer.to_string(), accepted });
    }
    let mut layers = options.layers.clone();
    layers.sort_unstable();
    layers.dedup();
    let refined = layers.into_iter().map(|layer| {
        let method = METHOD.to_owned();
        Setting::Pruned { method, tokens, refine_layer: Some(layer), pool, authors: false }
    });
    let all = [Setting::Unpruned, Setting::pruned(STAGE1_ONLY, tokens)].into_iter().chain(refined);
    let (mut swept, mut refused) = (Vec::new(), Refused::new());
    let Some(first) = suite.items().first() else { return Ok((swept, refused)) };
    let run = Run { engine, model: "", suite, settings: &[] };
    let mut pictures = Pictures::new(&run, first.picture);
    for setting in all {
        let prunes = setting != Setting::Unpruned;
        let outcome = engine.run(&request(first, &setting, pictures.seen(prunes)?)?, &mut ())?;
        let usage = outcome.answer.usage;
        let missed = usage.layer_average - tokens.min(usage.visual_tokens) as f64;
        match layer(&setting) {
            Some(layer) if missed.abs() >= ROUNDING => {
                let average = usage.layer_average;
                let why = format!("its layer average would be {average:.1} in place of {tokens}");
                refused.push((layer, why));
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

/// One item under every setting, the unpruned first.
fn measure(run: &Run<'_>, item: &Item, pictures: &mut Pictures<'_>) -> Result<Vec<Mark>> {
    let failed = Error::item(item);
    let right = |answer: &str| run.suite.tracks()[item.track].scorer.right(answer, &item.answer);
    let mut reference = Reference::default();
    let plain = request(item, &Setting::Unpruned, pictures.seen(false)?)?;
    let plain = run.engine.run(&plain, &mut reference).map_err(&failed)?;
    let unpruned = right(&plain.answer.text);
    let mut marks = vec![Mark { right: unpruned, kl: 0.0 }];
    for setting in &run.settings[1..] {
        let request = request(item, setting, pictures.seen(true)?)?;
        let mut forced = Forced::new(&reference);
        run.engine.run(&request, &mut forced).map_err(&failed)?;
        let own = if forced.agrees {
            unpruned
        } else {
            right(&run.engine.run(&request, &mut ()).map_err(&failed)?.answer.text)
        };
        marks.push(Mark { right: own, kl: forced.divergence() });
    }
    Ok(marks)
}

/// The mean over items, with its interval by drawing pictures again.
fn paired(items: &[Item], values: &[f64], resamples: &Resamples) -> Estimate {
    let mut pictures: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for (item, value) in items.iter().zip(values) {
        let sums = pictures.entry(item.picture).or_default();
        *sums = (sums.0 + value, sums.1 + 1.0);
    }
    let sums: Vec<(f64, f64)> = pictures.into_values().collect();
    let mean = |times: &[u16]| {
        let add = |(sum, count): (f64, f64), (&times, own): (&u16, &(f64, f64))| {
            (sum + f64::from(times) * own.0, count + f64::from(times) * own.1)
        };
        let (sum, count) = times.iter().zip(&sums).fold((0.0, 0.0), add);
        (count > 0.0).then(|| sum / count)
    };
    let value = mean(&vec![1; sums.len()]).unwrap_or(0.0);
    Estimate::drawn(value, resamples.map(mean))
}

impl Calibration {
    /// The sweep as a Markdown table.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "{}: {} items, T={}; unpruned Acc {:.1}\n\n| K | tokens | Acc (95 %) | KL | ΔKL to Stage 1 alone (95 %) |\n|---:|---:|---:|---:|---:|\n",
            self.suite, self.items, self.tokens, self.unpruned.value
        );
        for each in std::iter::once(&self.stage1_only).chain(&self.candidates) {
            let name = match each.refine_layer {
                Some(layer) if layer == self.best => format!("**{layer}**"),
                Some(layer) => layer.to_string(),
                None => "Stage 1 alone".into(),
            };
            let (acc, delta) = (each.acc, each.delta_kl);
            let _ = writeln!(
                text,
                "| {name} | {:.1} | {:.1} ({:.1} to {:.1}) | {:.4} | {:+.4} ({:+.4} to {:+.4}) |",
                each.layer_average,
                acc.value,
                acc.low,
                acc.high,
                each.kl,
                delta.value,
                delta.low,
                delta.high
            );
        }
        for (layer, reason) in &self.refused {
            let _ = writeln!(text, "\nK={layer} was left out: {reason}");
        }
        text
    }
}
