//! Choosing the refinement block: sweep it on items that no benchmark asks, take the best.

mod figure;
mod measure;
mod table;

use std::fmt::Write as _;

use mico_engine::Engine;
use rayon::prelude::*;
use serde::Serialize;

use mico_util::text::printable;

use crate::condition::Condition;
use crate::error::Result;
use crate::run::{Progress, Run, unless_stopped};
use crate::summary::Estimate;
use measure::{SampledItem, feasible_settings, layer, measure, sample};
use table::Table;

/// The rule whose block is chosen, and the same without refinement.
const METHOD: &str = "mico";
const STAGE1_ONLY: &str = "mico-s1";

/// The refinement blocks to try, at which budget, and on how many items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalibrationOptions {
    /// The budget, the same for every block.
    pub tokens: usize,
    /// The blocks, counted from 1.
    pub layers: Vec<usize>,
    /// Stage-1 pool as a multiple of the budget.
    pub pool: usize,
    /// How many items to draw from each track; all of them unless given.
    pub sample: Option<usize>,
    /// Decides which pictures are sampled; the same seed draws the same items on every machine.
    pub seed: u64,
}

/// How one refinement block does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// The block; `None` for Stage 1 alone.
    pub refine_layer: Option<usize>,
    /// Visual tokens per block that it came to.
    pub layer_average: f64,
    /// The track's value, or the mean of the tracks' values; its interval by drawing pictures again.
    pub acc: Estimate,
    /// Mean KL(unpruned ‖ pruned) over the tokens of the unpruned answers, in nats.
    pub kl: f64,
    /// That minus the same of Stage 1 alone, with a paired interval; below 0 is better.
    pub delta_kl: Estimate,
}

/// The result of a sweep over refinement blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// The items it ran on.
    pub suite: String,
    /// The number of items that were answered under every setting.
    pub items: usize,
    /// Items and rows that could not be asked, with the reasons.
    pub failed: Vec<String>,
    /// The budget T that every block was tried at, in visual tokens averaged over the blocks.
    pub tokens: usize,
    /// The unpruned model's Acc.
    pub unpruned: Estimate,
    /// The same budget spent by Stage 1 alone, which the divergences are compared with.
    pub stage1_only: Candidate,
    /// Every block that can meet the budget.
    pub candidates: Vec<Candidate>,
    /// Blocks that cannot, and why.
    pub refused: RefusedBlocks,
    /// The block with the highest Acc; of equals the first.
    pub best: usize,
    /// All blocks with that Acc.
    pub ties: Vec<usize>,
    /// Which divergence it is, and along which tokens.
    pub kl_is: &'static str,
}

/// Blocks with the reasons why they cannot be refined after.
type RefusedBlocks = Vec<(usize, String)>;

/// Differences of Acc below this are the rounding of sums.
const SAME: f64 = 1e-9;
const KL_IS: &str = "KL(unpruned || pruned) per token of the unpruned answer, its end included, both models given that answer";

/// A setting with the layer average it comes to.
struct FeasibleSetting {
    setting: Condition,
    layer_average: f64,
}

/// The blocks of a model that can be refined after, from 1: all but the last that have attention, which
/// refinement reads.
pub fn refinable_blocks(engine: &Engine) -> Vec<usize> {
    let decoder = engine.model().decoder();
    (1..decoder.blocks()).filter(|block| decoder.has_attention(block - 1)).collect()
}

/// Sweeps the refinement block on all items of the run's sources; its settings are not looked at.
pub fn calibrate(
    run: &Run<'_>,
    options: &CalibrationOptions,
    progress: &Progress<'_>,
) -> Result<Calibration> {
    let mut failed = Vec::new();
    let items = sample(run, options, &mut failed)?;
    let (feasible, refused) = feasible_settings(run, &items, options)?;
    let settings: Vec<Condition> = feasible.iter().map(|each| each.setting.clone()).collect();
    let run = &Run { settings: &settings, ..*run };
    let (mut measured, total) = (Vec::new(), items.len());
    let mut items = items.into_iter();
    loop {
        let done = measured.len() + failed.len();
        let advance = |_: usize| progress(done, Some(total));
        unless_stopped(advance(0))?;
        let chunk: Vec<SampledItem> = items.by_ref().take(rayon::current_num_threads()).collect();
        if chunk.is_empty() {
            break;
        }
        let answered = chunk.into_par_iter().map(|sampled| measure(run, sampled, &advance));
        for outcome in answered.collect::<Result<Vec<_>>>()? {
            match outcome {
                Ok(found) => measured.push(found),
                Err(reason) => failed.push(reason),
            }
        }
    }
    let table = Table::new(run, &measured, settings.len());
    let base: Vec<f64> = measured.iter().map(|each| each.results[1].kl).collect();
    let candidate = |at: usize| {
        let kl: Vec<f64> = measured.iter().map(|each| each.results[at].kl).collect();
        let delta: Vec<f64> = kl.iter().zip(&base).map(|(kl, base)| kl - base).collect();
        Ok(Candidate {
            refine_layer: layer(&settings[at]),
            layer_average: feasible[at].layer_average,
            acc: table.acc(at)?,
            kl: kl.iter().sum::<f64>() / kl.len().max(1) as f64,
            delta_kl: table.mean(&delta),
        })
    };
    let candidates: Vec<Candidate> = (2..settings.len()).map(candidate).collect::<Result<_>>()?;
    let most = candidates.iter().map(|each| each.acc.value).fold(0.0, f64::max);
    let tied = candidates.iter().filter(|each| most - each.acc.value < SAME);
    let ties: Vec<usize> = tied.filter_map(|each| each.refine_layer).collect();
    let best = ties.iter().copied().min().unwrap_or_default();
    let names: Vec<String> = run.sources.iter().map(|source| source.name()).collect();
    Ok(Calibration {
        suite: names.join("; "),
        items: measured.len(),
        failed,
        tokens: options.tokens,
        unpruned: table.acc(0)?,
        stage1_only: candidate(1)?,
        candidates,
        refused,
        best,
        ties,
        kl_is: KL_IS,
    })
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
        printable(&text)
    }
}
