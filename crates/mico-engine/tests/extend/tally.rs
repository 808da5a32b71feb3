//! The made-up method Tally: the tokens with the largest vectors, once before the decoder and once
//! after its second block, where those that go are poured into the first that stays.

use mico_engine::pruner::{
    Cut, FeatureSpace, Plan, PlanRequest, Pruner, Quota, Signals, Stage1Plan, Stage1View,
    Stage2View,
};
use mico_select::schedule::Budget;
use mico_select::{Context, Error, Merge, Result, Selection, Selector, Signal, SignalSet, Tokens};

pub(super) const NAME: &str = "tally";
/// The block after which tokens go.
pub(super) const BLOCK: usize = 2;

/// The pruner. A merge that it is given takes the place of its own.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) in_rule: Option<Merge>,
    pub(super) after_block: Option<Merge>,
}

/// The selection rule: the largest vectors, equal ones in index order.
struct Largest<'a>(Option<&'a Merge>);

impl Selector for Largest<'_> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        present.require(NAME, &[Signal::Features])?;
        Ok(SignalSet::of(&[Signal::Features]))
    }

    fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        let rows = tokens.rows(Signal::Features)?.to_dense();
        let size = |token: usize| rows.row(token).iter().map(|x| x * x).sum::<f32>();
        let mut order: Vec<usize> = (0..tokens.len()).collect();
        order.sort_by(|&a, &b| size(b).total_cmp(&size(a)));
        order.truncate(budget);
        let mut selection = Selection::from_order(order);
        selection.merges.extend(self.0.cloned());
        Ok(selection)
    }
}

impl Pruner for Tally {
    fn name(&self) -> &'static str {
        NAME
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let Budget::Tokens(tokens) = request.budget else {
            let reason = "it counts tokens, not shares".into();
            return Err(Error::Refused { method: NAME, reason });
        };
        let features = |space| Signals::of(space, &[Signal::Features]);
        let images = request.images();
        let quotas = vec![Quota::Image(2 * tokens); images.len()];
        let stage1 = Stage1Plan::new(features(FeatureSpace::Tower), quotas, images);
        let cut = Cut::new(BLOCK, tokens * images.len(), features(FeatureSpace::Residual));
        Ok(Plan::before_decoder(stage1).with_cuts(vec![cut]))
    }

    fn before_decoder(&self, view: &Stage1View<'_>, quota: &Quota) -> Result<Selection> {
        view.select(&Largest(self.in_rule.as_ref()), quota, 0)
    }

    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        let mut selection = view.select(&Largest(None), ask, 0)?;
        let poured = self.after_block.clone().unwrap_or_else(|| {
            let gone = |token: &usize| !selection.kept.contains(token);
            let sources: Vec<usize> = (0..view.tokens()).filter(gone).collect();
            let shares = vec![0.5 / sources.len() as f64; sources.len()];
            Merge { target: selection.kept[0], own: 0.5, sources, shares }
        });
        selection.merges.push(poured);
        Ok(selection)
    }
}
