//! How much to prune, written the same way on every verb.

use clap::Args;
use mico_engine::pruner::{MethodSpec, PruningSpec, Refinement};
use mico_select::schedule::Budget;
use mico_util::text::quoted;

use crate::choices::{self, single};
use crate::failure::Failure;

/// The pruner used when a budget is given without a method.
pub(crate) const DEFAULT_METHOD: &str = "mico";

/// The flags that choose a method, its budget and its settings.
#[derive(Debug, Args)]
pub(crate) struct PruningArgs {
    /// Layer-average number of visual tokens per image.
    #[arg(long, visible_alias = "budgets", value_name = "T", value_parser = single::<usize>, allow_negative_numbers = true, conflicts_with_all = ["keep", "no_prune"])]
    pub(crate) budget: Option<usize>,
    /// The same as a share of the unpruned count, in (0, 1].
    #[arg(long, value_name = "R", allow_negative_numbers = true, conflicts_with = "no_prune")]
    pub(crate) keep: Option<f64>,
    /// Run the model untouched; the default when no budget is given.
    #[arg(long)]
    pub(crate) no_prune: bool,
    /// How to prune; mico unless given.
    #[arg(long, visible_alias = "methods", value_name = "NAME", value_parser = choices::pruner())]
    pub(crate) method: Option<String>,
    /// Take the counts the method's authors give for a budget of that name, whatever the layer
    /// average then is; the answer reports the real one.
    #[arg(long)]
    pub(crate) authors_budget: bool,
    /// Decoder block after which tokens go, counted from 1, in place of the model's or the method's
    /// own.
    #[arg(long, value_name = "K")]
    pub(crate) refine_layer: Option<usize>,
    /// Stage-1 pool as a multiple of the budget; 2 unless said otherwise.
    #[arg(long, value_name = "N")]
    pub(crate) pool: Option<usize>,
    /// A setting of the method.
    #[arg(long = "set", value_name = "KEY=VALUE", value_delimiter = ',')]
    pub(crate) set: Vec<String>,
}

impl PruningArgs {
    /// What the flags ask for; `None` without a budget.
    pub(crate) fn pruning(&self) -> Result<Option<PruningSpec>, Failure> {
        let budget = match (self.budget, self.keep) {
            (Some(tokens), _) => Budget::Tokens(tokens),
            (None, Some(share)) => Budget::Share(share),
            (None, None) => return self.unpruned().map(|()| None),
        };
        let mut pruning = PruningSpec::new(self.spec()?, budget);
        pruning.refine_layer = self.refine_layer;
        pruning.pool = self.pool;
        pruning.authors = self.authors_budget;
        self.check(&pruning)?;
        Ok(Some(pruning))
    }

    fn spec(&self) -> Result<MethodSpec, Failure> {
        let name = self.method.as_deref().unwrap_or(DEFAULT_METHOD);
        Ok(MethodSpec::new(name, pairs(&self.set)?)?)
    }

    /// Says in the words of the flags what the method does not have.
    fn check(&self, pruning: &PruningSpec) -> Result<(), Failure> {
        let pruner = pruning.method.build()?;
        let (name, refinement) = (pruner.name(), pruner.refinement());
        let message = match (self.refine_layer, self.pool) {
            _ if !pruner.prunes() => {
                format!("--method {name} prunes nothing, so it takes no budget")
            }
            (Some(block), _) if refinement == Refinement::None => {
                format!("--refine-layer {block}: {name} drops nothing inside the decoder")
            }
            (_, Some(pool)) if refinement != Refinement::Model => {
                format!("--pool {pool}: {name} has no pool")
            }
            _ => return Ok(()),
        };
        Err(Failure::misused(message))
    }

    /// No budget: nothing else may ask for pruning.
    fn unpruned(&self) -> Result<(), Failure> {
        if self.method.is_some() {
            self.spec()?.build()?;
        }
        let asks = [
            ("--method", self.method.as_deref().is_some_and(|method| method != "none")),
            ("--authors-budget", self.authors_budget),
            ("--refine-layer", self.refine_layer.is_some()),
            ("--pool", self.pool.is_some()),
            ("--set", !self.set.is_empty()),
        ];
        match asks.iter().find(|(_, given)| *given) {
            Some((flag, _)) if self.no_prune => {
                Err(Failure::misused(format!("{flag} has no effect beside --no-prune")))
            }
            Some((flag, _)) => {
                Err(Failure::misused(format!("{flag} needs a budget: --budget T or --keep R")))
            }
            None => Ok(()),
        }
    }
}

/// Splits arguments of the form `KEY=VALUE` at the first equals sign.
pub(crate) fn pairs(set: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let split = |setting: &String| match setting.split_once('=') {
        Some((key, value)) => Ok((key.to_string(), value.to_string())),
        None => Err(Failure::misused(format!("--set '{}', accepted: KEY=VALUE", quoted(setting)))),
    };
    set.iter().map(split).collect()
}
