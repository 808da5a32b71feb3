//! Under which settings items are asked.

use std::path::Path;

use clap::Args;
use mico_engine::Setting;
use mico_engine::pruner::{MethodSpec, PruningSpec, Refinement};
use mico_eval::{Condition, Conditions, Sweep};
use mico_select::methods::pruners;
use mico_select::schedule::Budget;

use crate::choices;
use crate::failure::Failure;

/// Budgets unless others are given.
const BUDGETS: [usize; 3] = [128, 64, 32];

/// Methods and budgets, or a sweep that lists them.
#[derive(Debug, Args)]
pub(super) struct SettingArgs {
    // Its help names the sweeps there are.
    #[arg(long, help = choices::sweep_help(), value_name = "NAME|FILE", conflicts_with_all = ["methods", "budgets", "authors_budget", "refine_layer", "pool"])]
    sweep: Option<String>,
    /// Pruners, separated by commas, with settings as `name:key=value`; all of them unless said
    /// otherwise. The unpruned model always runs. A method that is not defined for the model, or cannot
    /// meet a budget, is left out and named.
    #[arg(long, visible_alias = "method", value_name = "NAMES", value_delimiter = ',', value_parser = choices::pruner_spec())]
    methods: Vec<MethodSpec>,
    /// Layer-average numbers of visual tokens per image, separated by commas; 128,64,32 unless given.
    #[arg(
        long,
        visible_alias = "budget",
        value_name = "TS",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    budgets: Vec<usize>,
    /// Take the counts the methods' authors give for a budget of that name, whatever the layer
    /// average then is.
    #[arg(long)]
    authors_budget: bool,
    /// Decoder block after which tokens go, counted from 1.
    #[arg(long, value_name = "K")]
    refine_layer: Option<usize>,
    /// Stage-1 pool as a multiple of the budget; 2 unless given.
    #[arg(long, value_name = "N")]
    pool: Option<usize>,
    /// Also ask the unpruned model about plain grey in place of each picture; the built-in suite's usual
    /// settings include it.
    #[arg(long)]
    blank: bool,
}

/// What a method that prunes nothing is called.
const NONE: &str = "none";

impl SettingArgs {
    /// The file that lists the settings; a built-in sweep has none.
    pub(super) fn sweep_file(&self) -> Option<&Path> {
        self.sweep.as_deref().map(Path::new).filter(|path| path.exists())
    }

    /// What is compared; the built-in suite is also asked about plain grey.
    pub(super) fn conditions(&self, base: &Setting, suite: bool) -> Result<Conditions, Failure> {
        let Some(name) = &self.sweep else {
            return Ok(Conditions::Explicit(self.own(base, self.blank || suite)?));
        };
        let sweep = Sweep::open(name)?;
        Ok(Conditions::Sweep { sweep, blank: self.blank })
    }

    fn own(&self, base: &Setting, blank: bool) -> Result<Vec<Condition>, Failure> {
        let budgets = if self.budgets.is_empty() { &BUDGETS[..] } else { &self.budgets };
        let methods = self.refined()?;
        let mut conditions = vec![Condition::unpruned(base)];
        if blank {
            conditions.push(Condition::blank(base));
        }
        for &tokens in budgets {
            for (method, refinement) in &methods {
                let mut pruning = PruningSpec::new(method.clone(), Budget::Tokens(tokens));
                pruning.authors = self.authors_budget;
                pruning.refine_layer = self.refine_layer.filter(|_| has_block(*refinement));
                pruning.pool = self.pool.filter(|_| has_pool(*refinement));
                conditions.push(Condition::of(base.with_pruning(Some(pruning)), base));
            }
        }
        Ok(conditions)
    }

    /// The methods with how each refines. A flag that none of them has a use for is an error.
    fn refined(&self) -> Result<Vec<(MethodSpec, Refinement)>, Failure> {
        let mut named = self.methods.clone();
        if named.is_empty() {
            named = pruners().map(|method| method.name.parse()).collect::<Result<_, _>>()?;
        }
        let mut methods = Vec::new();
        for method in named.into_iter().filter(|method| method.name() != NONE) {
            let refinement = method.build()?.refinement();
            methods.push((method, refinement));
        }
        let used = |uses: fn(Refinement) -> bool| methods.iter().any(|(_, how)| uses(*how));
        let unused = match (self.refine_layer, self.pool) {
            (Some(block), _) if !used(has_block) => {
                format!("--refine-layer {block}: no method here has one block to drop tokens after")
            }
            (_, Some(pool)) if !used(has_pool) => {
                format!("--pool {pool}: no method here has a pool")
            }
            _ => return Ok(methods),
        };
        Err(Failure::misused(unused))
    }
}

/// Whether tokens go after one block that can be moved.
fn has_block(refinement: Refinement) -> bool {
    matches!(refinement, Refinement::Model | Refinement::Own)
}

/// Whether there is a pool before the decoder.
fn has_pool(refinement: Refinement) -> bool {
    refinement == Refinement::Model
}
