//! VisionZip: dominant tokens by CLS attention, the rest merged into contextual ones, before the decoder.

use std::sync::Arc;

use super::{Method, nearest};
use crate::error::{Error, Result};
use crate::pruner::quotas::{check_budget, quotas};
use crate::pruner::{
    FeatureSpace, Plan, PlanRequest, PositionRule, Pruner, Quota, SelectionSize, Signals,
    Stage1Plan, Stage1View,
};
use crate::rank::{round_ratio, top};
use crate::selection::{Merge, Selection};
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::signal::{Signal, SignalSet};
use crate::tokens::Tokens;

pub(super) const METHOD: Method = Method {
    name: "visionzip",
    about: "dominant tokens by CLS attention, contextual merge by keys, before the decoder",
    selector: Some(|settings| Ok(Box::new(VisionZip::from_settings(settings)?))),
    pruner: Some(|settings| {
        Ok(Arc::new(VisionZipPruner { rule: VisionZip::from_settings(settings)? }))
    }),
};

/// VisionZip's rule. Contextual tokens follow the dominant ones in the sequence. The CLS token the
/// authors also keep is no patch and is not counted here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VisionZip {
    /// The number of contextual tokens in the budget; `None` for `round(10 B / 64)`.
    pub contextual: Option<usize>,
}

impl VisionZip {
    fn from_settings(settings: &mut Settings) -> Result<Self> {
        Ok(Self { contextual: settings.number("contextual", 0..=usize::MAX)? })
    }

    /// The number of contextual tokens at a budget. An error if it exceeds the budget.
    pub fn contextual(&self, budget: usize) -> Result<usize> {
        let count = self.contextual.unwrap_or(round_ratio(10 * budget as i128, 64) as usize);
        if count > budget {
            return Err(Error::BadSetting {
                key: "contextual".into(),
                value: count.to_string(),
                accepted: format!("at most the budget of {budget} (per group)"),
            });
        }
        Ok(count)
    }
}

impl Selector for VisionZip {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        let needs = [Signal::Reliability, Signal::Keys];
        present.require(self.name(), &needs)?;
        Ok(SignalSet::of(&needs))
    }

    fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        let contextual = self.contextual(budget)?;
        let mut order = top(&tokens.vector(Signal::Reliability)?, budget - contextual);
        if contextual == 0 {
            return Ok(Selection::from_order(order));
        }
        let rest = nearest::others(tokens.len(), &order);
        let step = (rest.len() / contextual).max(1);
        let anchors: Vec<usize> = rest.iter().copied().step_by(step).take(contextual).collect();
        let members: Vec<usize> =
            rest.into_iter().filter(|i| anchors.binary_search(i).is_err()).collect();
        let joins = nearest::by_cosine(&nearest::pack(tokens, Signal::Keys)?, &members, &anchors);
        let sources = nearest::collect(&members, &joins, anchors.len());
        let mut sequence = order.clone();
        sequence.sort_unstable();
        sequence.extend(&anchors);
        order.extend(&anchors);
        let mut selection = Selection::from_order(order);
        selection.sequence = sequence;
        let merges = anchors.into_iter().zip(sources).filter(|(_, sources)| !sources.is_empty());
        selection.merges =
            merges.map(|(anchor, sources)| anchor_plus_mean(anchor, sources)).collect();
        Ok(selection)
    }
}

/// A merge that adds the mean of the members to the anchor, as the authors do, instead of averaging.
fn anchor_plus_mean(target: usize, sources: Vec<usize>) -> Merge {
    let shares = vec![1.0 / sources.len() as f64; sources.len()];
    Merge { target, own: 1.0, sources, shares }
}

/// VisionZip before a decoder, crop by crop. Tokens are merged as tower features where the projector
/// takes tokens one by one, else as embeddings. The class token, which the authors count among the
/// dominant ones, is no visual token of the model and is left out; by default a patch takes its
/// place.
#[derive(Debug)]
struct VisionZipPruner {
    rule: VisionZip,
}

impl VisionZipPruner {
    /// The quota of each image. One of the authors' tokens of each crop is the class token.
    fn quotas(&self, request: &PlanRequest<'_>) -> Result<Vec<Quota>> {
        let mut quotas = quotas(request, |tokens| tokens)?;
        for quota in &mut quotas {
            let Quota::Groups(counts) = quota else { continue };
            for count in counts {
                if request.authors {
                    *count = count.saturating_sub(1).max(1);
                }
                self.rule.contextual(*count)?;
            }
        }
        Ok(quotas)
    }

    /// The order of the authors' code for stitched crops: the base crop, then the dominant tokens of
    /// the others where the stitched grid has them, then the contextual ones crop by crop.
    fn stitched(
        &self,
        view: &Stage1View<'_>,
        counts: &[usize],
        sequence: &[usize],
    ) -> Result<Vec<usize>> {
        let (mut first, mut crops, mut behind) = (Vec::new(), Vec::new(), Vec::new());
        let mut left = sequence;
        for (group, (&count, size)) in counts.iter().zip(view.layout.sizes()).enumerate() {
            let contextual = if count < size { self.rule.contextual(count)? } else { 0 };
            let (own, others) = left.split_at(count.min(size));
            let (dominant, merged) = own.split_at(own.len() - contextual);
            left = others;
            if group == 0 {
                first = own.to_vec();
            } else {
                crops.extend(dominant);
                behind.extend(merged);
            }
        }
        crops.sort_unstable();
        Ok([first, crops, behind].concat())
    }
}

impl Pruner for VisionZipPruner {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let names = [Signal::Reliability, Signal::Keys];
        let signals = Signals::of(FeatureSpace::Tower, &names);
        let mut stage1 = Stage1Plan::new(signals, self.quotas(request)?, request.images());
        stage1.merge_in_tower = request.model().projects_tokens;
        let positions = request.renumbered(PositionRule::Compact);
        Ok(Plan::before_decoder(stage1).with_positions(positions))
    }

    fn before_decoder(&self, view: &Stage1View<'_>, quota: &Quota) -> Result<Selection> {
        let mut selection = view.select(&self.rule, quota, 0)?;
        // Without contextual tokens the sequence is empty: everything stands as it stood.
        if let (true, Quota::Groups(counts), [_, ..]) =
            (view.model.anyres_crops, quota, selection.sequence.as_slice())
        {
            selection.sequence = self.stitched(view, counts, &selection.sequence)?;
        }
        Ok(selection)
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        let contextual = self.rule.contextual.map_or(size.kept * 10.0 / 64.0, |c| c as f64);
        let rest = (size.tokens - size.kept).max(0.0);
        2.0 * rest * contextual * size.keys
    }
}
