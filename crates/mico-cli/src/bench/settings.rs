//! What is compared: the unpruned model, and every method at every budget.

use mico_engine::pruner::{MethodSpec, Pruning};
use mico_select::schedule::Budget;

use super::args::BenchArgs;
use crate::failure::Failure;

/// Budgets unless said otherwise: the paper's 128, 64 and 32 of LLaVA-1.5's 576 tokens, and 640, 320
/// and 160 of LLaVA-NeXT's 2,880.
const SHARES: [f64; 3] = [2.0 / 9.0, 1.0 / 9.0, 1.0 / 18.0];
/// The name of the setting that prunes nothing.
const NONE: &str = "none";

/// One thing to measure.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// The method with the settings it was given, as `name:key=value`.
    pub(super) name: String,
    pub(super) pruning: Pruning,
}

impl Setting {
    pub(super) fn prunes(&self) -> bool {
        self.pruning.pruner.prunes()
    }

    /// Everything that sets it apart from other settings of a bench.
    pub(super) fn key(&self) -> String {
        if !self.prunes() {
            return self.name.clone();
        }
        let budget = match self.pruning.budget {
            Budget::Tokens(tokens) => format!("T={tokens}"),
            Budget::Share(share) => format!("R={share}"),
        };
        let layer = self.pruning.refine_layer.map_or("own".to_owned(), |layer| layer.to_string());
        format!("{} {budget} K={layer} pool={}", self.name, self.pruning.pool)
    }

    /// Its budget in words, before anybody knows how many tokens a share comes to.
    pub(super) fn label(&self) -> String {
        match self.pruning.budget {
            _ if !self.prunes() => "unpruned".to_owned(),
            Budget::Tokens(tokens) => format!("{} T={tokens}", self.name),
            Budget::Share(share) => format!("{} R={share:.3}", self.name),
        }
    }
}

/// The settings of a call, the unpruned one first and none twice.
pub(super) fn settings(args: &BenchArgs) -> Result<Vec<Setting>, Failure> {
    let unpruned = Setting { name: NONE.to_owned(), pruning: Pruning::off() };
    let mut all = vec![unpruned];
    if args.no_prune {
        return Ok(all);
    }
    let tokens = args.budget.iter().map(|&tokens| Budget::Tokens(tokens));
    let shares = args.keep.iter().map(|&share| Budget::Share(share));
    let mut budgets: Vec<Budget> = tokens.chain(shares).collect();
    if budgets.is_empty() {
        budgets.extend(SHARES.map(Budget::Share));
    }
    for text in &args.method {
        let spec: MethodSpec = text.parse().map_err(Failure::misused)?;
        let (mut name, pruner) = (spec.to_string(), spec.build()?);
        if args.authors_budget && pruner.prunes() {
            name.push_str(" (authors' counts)");
        }
        if !pruner.prunes() {
            continue;
        }
        for &budget in &budgets {
            // A budget that can never be right is told before a model is loaded.
            budget.tokens(1).map_err(|error| Failure::misused(error.to_string()))?;
            let pruning = Pruning {
                refine_layer: args.refine_layer,
                pool: args.pool,
                authors: args.authors_budget,
                ..Pruning::new(pruner.clone(), budget)
            };
            let setting = Setting { name: name.clone(), pruning };
            if all.iter().all(|other| other.key() != setting.key()) {
                all.push(setting);
            }
        }
    }
    Ok(all)
}
