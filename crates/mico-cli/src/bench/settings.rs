//! What is compared: the unpruned model, and every method at every budget.

use mico_engine::pruner::{Pruning, by_name};
use mico_select::Settings;
use mico_select::schedule::Budget;

use super::BenchArgs;
use crate::failure::Failure;

/// Budgets unless said otherwise: the paper's 128, 64 and 32 of LLaVA-1.5's 576 tokens, and 640, 320
/// and 160 of LLaVA-NeXT's 2,880.
const SHARES: [f64; 3] = [2.0 / 9.0, 1.0 / 9.0, 1.0 / 18.0];
/// The name of the setting that prunes nothing.
const NONE: &str = "none";

/// One thing to measure.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) method: &'static str,
    pub(super) pruning: Pruning,
}

impl Setting {
    pub(super) fn prunes(&self) -> bool {
        self.pruning.pruner.prunes()
    }
}

/// The settings of a call, the unpruned one first.
pub(super) fn settings(args: &BenchArgs) -> Result<Vec<Setting>, Failure> {
    let mut all = vec![Setting { method: NONE, pruning: Pruning::off() }];
    if args.no_prune {
        return Ok(all);
    }
    let tokens = args.budget.iter().map(|&tokens| Budget::Tokens(tokens));
    let shares = args.keep.iter().map(|&share| Budget::Share(share));
    let mut budgets: Vec<Budget> = tokens.chain(shares).collect();
    if budgets.is_empty() {
        budgets.extend(SHARES.map(Budget::Share));
    }
    for name in &args.method {
        let pruner = by_name(name, Settings::default())?;
        if !pruner.prunes() {
            continue;
        }
        for &budget in &budgets {
            // A budget that can never be right is told before a model is loaded.
            budget.tokens(1).map_err(|error| Failure::misused(error.to_string()))?;
            let pruning = Pruning {
                refine_layer: args.refine_layer,
                pool: args.pool,
                ..Pruning::new(pruner.clone(), budget)
            };
            all.push(Setting { method: pruner.name(), pruning });
        }
    }
    Ok(all)
}
