//! VisionZip: dominant tokens by CLS attention, the rest merged into contextual ones.

use super::nearest;
use crate::error::{Error, Result};
use crate::inputs::{Tensor, TensorSet};
use crate::rank::{round_ratio, top};
use crate::selection::{Merge, Selection};
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::tokens::Tokens;

/// VisionZip's rule. Contextual tokens stand behind the dominant ones. The CLS state the authors also
/// keep is no patch and is not counted here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VisionZip {
    /// How many of the budget are contextual tokens; `round(10 B / 64)` if not said.
    pub contextual: Option<usize>,
}

impl VisionZip {
    pub(super) fn build(settings: &mut Settings) -> Result<Box<dyn Selector>> {
        Ok(Box::new(Self { contextual: settings.number("contextual", 0..=usize::MAX)? }))
    }

    /// How many of a budget are contextual tokens.
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
        "visionzip"
    }

    fn reads(&self, present: TensorSet) -> Result<TensorSet> {
        let needs = [Tensor::Reliability, Tensor::Keys];
        present.require(self.name(), &needs)?;
        Ok(TensorSet::of(&needs))
    }

    fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        let contextual = self.contextual(budget)?;
        let mut order = top(&tokens.vector(Tensor::Reliability)?, budget - contextual);
        if contextual == 0 {
            return Ok(Selection::from_order(order));
        }
        let rest = nearest::others(tokens.len(), &order);
        let step = (rest.len() / contextual).max(1);
        let anchors: Vec<usize> = rest.iter().copied().step_by(step).take(contextual).collect();
        let members: Vec<usize> =
            rest.into_iter().filter(|i| anchors.binary_search(i).is_err()).collect();
        let joins = nearest::by_cosine(&nearest::pack(tokens, Tensor::Keys)?, &members, &anchors);
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

/// The authors add the mean of the members to the anchor, they do not average it in.
fn anchor_plus_mean(target: usize, sources: Vec<usize>) -> Merge {
    let shares = vec![1.0 / sources.len() as f64; sources.len()];
    Merge { target, own: 1.0, sources, shares }
}
