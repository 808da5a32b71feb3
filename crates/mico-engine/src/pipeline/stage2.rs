//! Stage 2: what a pruner sees at a decoder block, and what it leaves.

use mico_model::{QkTap, attention_row, text_to_visual_attention};
use mico_select::Selection;

use super::{check, gather};
use crate::error::Result;
use crate::pruner::{Cut, Features, Pruner, Stage2View, TextAttention};
use crate::trace::{Seconds, timed};

/// The rows of the residual stream that are visual, and those that are text.
#[derive(Debug)]
pub(super) struct Split {
    pub(super) visual: Vec<u32>,
    pub(super) text: Vec<u32>,
}

/// What was observed at a cut.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    pub(crate) features: Option<Features>,
    pub(crate) attention: Option<Vec<f32>>,
    text: Option<Features>,
}

/// Computes what the cut declares, from the block's output and its tapped queries and keys.
pub(super) fn observe(
    cut: &Cut,
    hidden: &candle_core::Tensor,
    tap: Option<&QkTap>,
    split: &Split,
    seconds: &mut Seconds,
) -> Result<Observed> {
    timed(&mut seconds.stage2_relevance, || {
        let mut seen = Observed::default();
        if let (Some(kind), Some(tap)) = (cut.signals.attention, tap) {
            let keys: Vec<u32> = split.visual.iter().map(|row| tap.earlier as u32 + row).collect();
            seen.attention = Some(match kind {
                TextAttention::Mean(how) => text_to_visual_attention(tap, &keys, how)?,
                TextAttention::LastToken => {
                    let row = attention_row(tap, tap.query_index.len() - 1)?;
                    keys.iter().map(|&key| row[key as usize]).collect()
                }
            });
        }
        if cut.signals.features {
            seen.features = Some(Features::from_tensor(&gather(hidden, &split.visual)?)?);
        }
        if cut.signals.text {
            seen.text = Some(Features::from_tensor(&gather(hidden, &split.text)?)?);
        }
        Ok(seen)
    })
}

/// The pruner's choice; everything if the plan keeps as many as there are.
pub(super) fn choose(
    pruner: &dyn Pruner,
    cut: &Cut,
    seen: &Observed,
    tokens: usize,
    seconds: &mut Seconds,
) -> Result<Selection> {
    if cut.keep >= tokens {
        return Ok(Selection { kept: (0..tokens).collect(), ..Selection::default() });
    }
    let view = Stage2View {
        block: cut.block,
        tokens,
        features: seen.features.as_ref(),
        attention: seen.attention.as_deref(),
        text: seen.text.as_ref(),
    };
    let selection = timed(&mut seconds.stage2_select, || pruner.after_block(&view, cut.keep))?;
    check(pruner.name(), &selection, cut.keep, tokens)?;
    Ok(selection)
}
