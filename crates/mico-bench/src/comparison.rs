//! What is compared: the unpruned model, and every method at every budget.

use mico_engine::Setting;
use mico_engine::pruner::{MethodSpec, PruningSpec, Refinement};
use mico_eval::Condition;
use mico_select::schedule::{Budget, DEFAULT_POOL};

use crate::error::Result;

/// Budgets unless said otherwise: the paper's 128, 64 and 32 of LLaVA-1.5's 576 tokens, and 640, 320
/// and 160 of LLaVA-NeXT's 2,880.
pub const SHARES: [f64; 3] = [2.0 / 9.0, 1.0 / 9.0, 1.0 / 18.0];

/// Methods and budgets to multiply; everything else holds for all of them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Comparison {
    /// The methods. One that prunes nothing adds nothing: the unpruned model is always there.
    pub methods: Vec<MethodSpec>,
    /// Budgets of each; [`SHARES`] at first.
    pub budgets: Vec<Budget>,
    /// Refinement block of the methods that drop tokens inside the decoder, in place of their own.
    pub refine_layer: Option<usize>,
    /// Stage-1 pool of the methods that have one, as a multiple of the budget.
    pub pool: usize,
    /// Whether counts are the authors' own.
    pub authors: bool,
}

impl Comparison {
    /// Methods at the usual budgets.
    pub fn new(methods: Vec<MethodSpec>) -> Self {
        let budgets = SHARES.map(Budget::Share).to_vec();
        Self { methods, budgets, refine_layer: None, pool: DEFAULT_POOL, authors: false }
    }

    /// The conditions, the unpruned one first and none twice; an error for a method or budget that can
    /// never be right. Labels leave out block, pool and switches, since these are the same for all.
    pub fn conditions(&self, base: &Setting) -> Result<Vec<Condition>> {
        let mut all = vec![Condition::unpruned(base)];
        for method in &self.methods {
            let pruner = method.build().map_err(mico_engine::Error::from)?;
            if !pruner.prunes() {
                continue;
            }
            let refinement = pruner.refinement();
            let refine_layer = self.refine_layer.filter(|_| refinement != Refinement::None);
            let own_pool = self.pool != DEFAULT_POOL && refinement == Refinement::Model;
            for &budget in &self.budgets {
                let mut pruning = PruningSpec::new(method.clone(), budget);
                pruning.authors = self.authors;
                let label = Condition::of(pruning.clone().into(), &Setting::default()).label;
                (pruning.refine_layer, pruning.pool) =
                    (refine_layer, own_pool.then_some(self.pool));
                let mut condition = Condition::of(base.with_pruning(Some(pruning)), base);
                condition.label = label;
                condition.setting.options()?;
                if all.iter().all(|other| other.key() != condition.key()) {
                    all.push(condition);
                }
            }
        }
        Ok(all)
    }
}

/// A condition with its budget, before anybody knows how many tokens a share comes to.
pub(crate) fn full_label(condition: &Condition) -> String {
    let label = &condition.label;
    match condition.pruning().map(|pruning| pruning.budget) {
        None => label.clone(),
        Some(Budget::Tokens(tokens)) => format!("{label} T={tokens}"),
        Some(Budget::Share(share)) => format!("{label} R={share:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_for_all_is_in_keys_and_not_in_labels() {
        let base: Setting = "unpruned position_mode=compact".parse().unwrap();
        let mut comparison = Comparison::new(
            ["mico", "none", "random", "mico"].map(|m| m.parse().unwrap()).to_vec(),
        );
        comparison.budgets = vec![Budget::Tokens(6), Budget::Share(0.25)];
        (comparison.refine_layer, comparison.pool, comparison.authors) = (Some(3), 4, true);
        let conditions = comparison.conditions(&base).unwrap();
        let keys: Vec<String> = conditions.iter().map(Condition::key).collect();
        let expected = [
            "unpruned position_mode=compact",
            "mico T=6 K=3 n=4 authors position_mode=compact",
            "mico keep=0.25 K=3 n=4 authors position_mode=compact",
            "random T=6 authors position_mode=compact",
            "random keep=0.25 authors position_mode=compact",
        ];
        assert_eq!(keys, expected);
        let labels: Vec<String> = conditions.iter().map(full_label).collect();
        assert_eq!(labels[..2], ["unpruned", "mico (authors' counts) T=6"]);
        assert_eq!(labels[4], "random (authors' counts) R=0.250");
        comparison.budgets = vec![Budget::Tokens(0)];
        assert!(comparison.conditions(&base).is_err());
    }
}
