//! Stage 2: what a pruner sees at a decoder block, and what it leaves.

use candle_core::Tensor;
use mico_model::{Caches, Decoder, Peek, QkTap, Tap, attention_row, text_to_visual_attention};
use mico_select::pruner::{
    Count, Cut, FeatureSpace, Observed, Stage, Stage2View, TextAttention, check_selection,
};
use mico_select::{Matrix, Rows, Selection, Signal, methods};

use super::live::{LiveTokens, RowKinds};
use super::{TurnContext, gather};
use crate::error::Result;
use crate::features::Features;
use crate::model_traits::normalization;
use crate::trace::{Seconds, timed};

/// What was observed at a cut.
#[derive(Debug, Default)]
pub(crate) struct CutSignals {
    /// The block, counted from 1.
    pub(crate) block: usize,
    /// The visual tokens that were observed, numbered as in the prompt.
    pub(crate) tokens: Vec<usize>,
    pub(crate) features: Option<Features>,
    pub(crate) relevance: Option<Vec<f32>>,
    pub(crate) text: Option<Features>,
    pub(crate) keys: Option<Features>,
    pub(crate) text_keys: Option<Features>,
}

/// The rows whose queries a cut wants from its own block, if it wants any.
pub(super) fn tap(cut: &Cut, kinds: &RowKinds, rows: usize, raters: &[u32]) -> Option<Tap> {
    let last = || vec![rows.saturating_sub(1) as u32];
    let query_rows = match cut.signals.attention() {
        Some(TextAttention::Mean(_)) => kinds.text.clone(),
        Some(TextAttention::LastToken) => last(),
        Some(TextAttention::Raters) => raters.to_vec(),
        // Keys come with any query.
        Some(TextAttention::NextLastToken { .. }) | None if keyed(cut) => last(),
        Some(TextAttention::NextLastToken { .. }) | None => return None,
    };
    Some(Tap { block: cut.block - 1, query_rows })
}

/// Whether a cut declares attention keys of its block.
fn keyed(cut: &Cut) -> bool {
    cut.signals.has(Signal::Keys) || cut.signals.has(Signal::TextKeys)
}

/// What a cut is observed with.
pub(super) struct Observing<'a> {
    pub(super) decoder: &'a Decoder,
    pub(super) caches: &'a Caches,
    pub(super) live: &'a LiveTokens,
    /// The rows that compete, and those of the text.
    pub(super) kinds: &'a RowKinds,
    pub(super) tap: Option<&'a QkTap>,
}

impl Observing<'_> {
    /// Computes what the cut declares, from the block's output and its tapped queries and keys.
    pub(super) fn observe(&self, cut: &Cut) -> Result<CutSignals> {
        let tokens = self.live.visual.iter().take(self.kinds.visual.len()).copied().collect();
        let mut seen = CutSignals { block: cut.block, tokens, ..CutSignals::default() };
        if let Some(kind) = cut.signals.attention() {
            seen.relevance = self.attention(cut, kind)?;
        }
        let space = cut.signals.space();
        if cut.signals.has(Signal::Features) {
            seen.features = Some(self.states(&self.kinds.visual, space)?);
        }
        let question = self.kinds.question();
        if cut.signals.has(Signal::Text) && !question.is_empty() {
            seen.text = Some(self.states(&question, space)?);
        }
        let Some(tap) = self.tap else { return Ok(seen) };
        if cut.signals.has(Signal::Keys) {
            seen.keys = Some(keys(tap, &self.kinds.visual)?);
        }
        if cut.signals.has(Signal::TextKeys) && !question.is_empty() {
            seen.text_keys = Some(keys(tap, &question)?);
        }
        Ok(seen)
    }

    fn states(&self, rows: &[u32], space: FeatureSpace) -> Result<Features> {
        let rows = gather(&self.live.hidden, rows)?;
        Features::from_tensor(&match space {
            FeatureSpace::Normed => self.decoder.normed(&rows)?,
            _ => rows,
        })
    }

    /// One number per visual token.
    fn attention(&self, cut: &Cut, kind: TextAttention) -> Result<Option<Vec<f32>>> {
        let visual = |tap: &QkTap| -> Vec<u32> {
            self.kinds.visual.iter().map(|row| tap.earlier as u32 + row).collect()
        };
        let of_row = |tap: &QkTap| {
            let row = attention_row(tap, tap.query_index.len() - 1)?;
            Ok(Some(visual(tap).into_iter().map(|key| row[key as usize]).collect()))
        };
        match (kind, self.tap) {
            (TextAttention::NextLastToken { rotary, back }, _) => {
                let query_rows = vec![self.live.len().saturating_sub(1 + back) as u32];
                let peek = Peek { block: kind.observed_block(cut.block) - 1, query_rows, rotary };
                of_row(&self.decoder.peek(&peek, self.live.tokens(), self.caches)?)
            }
            (TextAttention::LastToken, Some(tap)) => of_row(tap),
            (TextAttention::Mean(how), Some(tap)) => {
                Ok(Some(text_to_visual_attention(tap, &visual(tap), normalization(how))?))
            }
            (TextAttention::Raters, Some(tap)) => {
                let how = mico_model::Normalization::FullCausal;
                Ok(Some(text_to_visual_attention(tap, &visual(tap), how)?))
            }
            (_, None) => Ok(None),
        }
    }
}

/// Keys of some rows of the run, heads side by side.
fn keys(tap: &QkTap, rows: &[u32]) -> Result<Features> {
    let (heads, count, width) = tap.k.dims3()?;
    let flat = tap.k.transpose(0, 1)?.contiguous()?.reshape((count, heads * width))?;
    let index: Vec<u32> = rows.iter().map(|row| tap.earlier as u32 + row).collect();
    Features::from_tensor(&gather(&flat, &index)?)
}

/// Slots of the text behind the first image that the image answers to (see
/// [`methods::SparseVlm::raters`]), by the decoder's input; all text where none is behind it.
pub(super) fn raters(live: &LiveTokens) -> Result<Vec<u32>> {
    let kinds = &live.kinds;
    let behind = kinds.question();
    let dense = |rows: &Tensor| -> Result<Features> { Features::from_tensor(rows) };
    let visual = dense(&gather(&live.hidden, &kinds.visual)?)?;
    let text = dense(&gather(&live.hidden, &behind)?)?;
    let whole = |matrix: Matrix<'_>| Rows::all(matrix).to_dense();
    let raters = methods::SparseVlm::raters(&whole(visual.matrix()?), &whole(text.matrix()?));
    Ok(raters.into_iter().map(|word| live.slot(behind[word])).collect())
}

/// The pruner's choice; everything if the plan keeps as many as there are.
pub(super) fn choose(
    context: &TurnContext<'_>,
    cut: &Cut,
    seen: &CutSignals,
    tokens: usize,
    seconds: &mut Seconds,
) -> Result<Selection> {
    if cut.keep >= tokens {
        return Ok(Selection::everything(tokens));
    }
    let pruner = context.pruner();
    let competing = cut.among.unwrap_or(tokens).min(tokens);
    let others = tokens - competing;
    let observed = seen.shown(pruner.name(), cut, competing)?;
    let view = Stage2View { block: cut.block, model: &context.engine.traits, observed };
    let mut selection = timed(&mut seconds.stage2_select, || pruner.after_block(&view, cut.ask))?;
    let count = Count::Exactly(cut.keep.saturating_sub(others));
    check_selection(pruner.name(), &selection, count, competing)?;
    if !selection.sequence.is_empty() {
        selection.sequence.extend(competing..tokens);
    }
    selection.kept.extend(competing..tokens);
    Ok(selection)
}

impl CutSignals {
    /// As the pruner called `method` is shown them. Text may be missing: a prompt need not have any
    /// behind its images.
    fn shown(&self, method: &'static str, cut: &Cut, tokens: usize) -> Result<Observed<'_>> {
        let mut observed = Observed::new(method, Stage::AfterBlock, cut.signals, tokens);
        let rows = [
            (Signal::Features, &self.features),
            (Signal::Text, &self.text),
            (Signal::Keys, &self.keys),
            (Signal::TextKeys, &self.text_keys),
        ];
        for (signal, rows) in rows {
            if let Some(rows) = rows {
                observed = observed.with(signal, rows.matrix()?);
            }
        }
        if let Some(relevance) = &self.relevance {
            observed = observed.with_vector(Signal::Relevance, relevance)?;
        }
        Ok(observed)
    }
}
