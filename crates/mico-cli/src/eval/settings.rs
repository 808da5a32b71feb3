//! Under which settings items are asked.

use clap::Args;
use mico_engine::Engine;
use mico_engine::pruner::PRUNERS;
use mico_eval::{Pruned, Setting, Sweep, switched};
use mico_select::schedule::DEFAULT_POOL;

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
    methods: Vec<String>,
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

impl SettingArgs {
    pub(super) fn sweep(&self) -> Result<Option<Sweep>, Failure> {
        self.sweep.as_deref().map(Sweep::open).transpose().map_err(Failure::misused)
    }

    /// What can never be is told before a model is loaded.
    pub(super) fn check(&self, sweep: Option<&Sweep>) -> Result<(), Failure> {
        let settings = match sweep {
            Some(sweep) => sweep.settings(&[1]),
            None => self.own(false),
        };
        for setting in settings {
            setting.pruning(0)?.budget.tokens(1).map_err(Failure::misused)?;
            switched(mico_engine::Switches::default(), setting.switches())?;
        }
        Ok(())
    }

    /// Every setting, once; the built-in suite is also asked about plain grey.
    pub(super) fn settings(
        &self,
        sweep: Option<&Sweep>,
        engine: &Engine,
        suite: bool,
    ) -> Vec<Setting> {
        let Some(sweep) = sweep else { return self.own(suite) };
        let decoder = engine.model().decoder();
        // Refinement reads attention: blocks without any are no candidates.
        let attends = |block: &usize| decoder.has_attention(block - 1);
        let all: Vec<usize> = (1..decoder.blocks()).filter(attends).collect();
        let mut settings = sweep.settings(&all);
        if self.blank && !settings.contains(&Setting::Blank) {
            settings.insert(usize::from(sweep.unpruned), Setting::Blank);
        }
        settings
    }

    fn own(&self, suite: bool) -> Vec<Setting> {
        let all = || {
            let names = PRUNERS.iter().map(|pruner| pruner.name.to_owned());
            names.filter(|name| name != "none").collect()
        };
        let methods: Vec<String> =
            if self.methods.is_empty() { all() } else { self.methods.clone() };
        let budgets = if self.budgets.is_empty() { &BUDGETS[..] } else { &self.budgets };
        let mut settings = vec![Setting::Unpruned];
        if self.blank || suite {
            settings.push(Setting::Blank);
        }
        for &tokens in budgets {
            for method in methods.iter().filter(|method| *method != "none") {
                let setting = Setting::Pruned(Pruned {
                    refine_layer: self.refine_layer,
                    pool: self.pool.unwrap_or(DEFAULT_POOL),
                    authors: self.authors_budget,
                    ..Pruned::new(method, tokens)
                });
                if !settings.contains(&setting) {
                    settings.push(setting);
                }
            }
        }
        settings
    }
}
