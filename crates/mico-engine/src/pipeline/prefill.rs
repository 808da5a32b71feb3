//! A turn through the decoder: all its tokens, pruned on the way as planned.

use candle_core::Tensor;
use mico_model::{Caches, Position};
use mico_select::pruner::{Cut, PositionRule, TextAttention};
use mico_select::{Merge, Selection};

use super::live::LiveTokens;
use super::stage2::{CutSignals, Observing, choose, raters, tap};
use super::{Stage1, Telemetry, TurnContext};
use crate::error::{Error, Result};
use crate::sink::Phase;
use crate::trace::timed;

/// Result of a prefill: the first logits, and what decoding and traces need of the tokens that
/// stayed.
#[derive(Debug)]
pub(crate) struct Prefilled {
    /// Logits at the last token, `[vocab]`.
    pub(crate) logits: Tensor,
    /// Position ids of the tokens that entered block 1.
    pub(crate) position_ids: Vec<Position>,
    /// Logical position of the token that follows, in each block.
    pub(crate) next_positions: Vec<u32>,
    /// What each cut left.
    pub(crate) cuts: Vec<CutSurvivors>,
    /// Visual tokens in each block.
    pub(crate) visual_per_block: Vec<usize>,
    /// What the cuts saw: the last one, or all of them.
    pub(crate) observed: Vec<CutSignals>,
}

/// What a cut left.
#[derive(Debug)]
pub(crate) struct CutSurvivors {
    /// The block, counted from 1.
    pub(crate) block: usize,
    /// Visual tokens, numbered as in the prompt, ascending.
    pub(crate) visual: Vec<usize>,
    /// Tokens that took others in.
    pub(crate) merges: Vec<Merge>,
}

impl CutSurvivors {
    fn new(block: usize, live: &LiveTokens<'_>, selection: &Selection, before: &[usize]) -> Self {
        let mut visual = live.visual.clone();
        visual.sort_unstable();
        let merges = selection.merges.iter().map(|merge| Merge {
            target: before[merge.target],
            sources: merge.sources.iter().map(|&place| before[place]).collect(),
            ..merge.clone()
        });
        Self { block, visual, merges: merges.collect() }
    }
}

/// Runs a turn through the decoder, on top of what its caches hold.
pub(crate) fn prefill(
    context: &TurnContext<'_>,
    stage1: &Stage1,
    caches: &mut Caches,
    telemetry: &mut Telemetry<'_>,
) -> Result<Prefilled> {
    let mut prefill = Prefill::enter(*context, stage1, telemetry)?;
    for cut in prefill.cuts {
        prefill.cut(cut, caches, telemetry)?;
    }
    prefill.finish(caches, telemetry)
}

/// A turn between two blocks.
struct Prefill<'a> {
    context: TurnContext<'a>,
    live: LiveTokens<'a>,
    cuts: &'a [Cut],
    /// Slots of the words that rate visual tokens, if a cut asks for them.
    raters: Vec<u32>,
    /// Rows that entered block 1, and their position ids.
    entered: Vec<Position>,
    /// Number of decoder blocks that have run, which is the 0-based index of the next one.
    from: usize,
    rows_per_block: Vec<usize>,
    visual_per_block: Vec<usize>,
    survivors: Vec<CutSurvivors>,
    observed: Vec<CutSignals>,
}

/// Positions are renumbered only where tokens go: an untouched prompt stays as it is.
fn position_rule(context: &TurnContext<'_>, stage1: &Stage1) -> PositionRule {
    let entered = stage1.kept.len();
    let whole = entered == context.layout.visual_tokens()
        && context.plan.cuts.iter().all(|cut| cut.keep >= entered);
    if whole { PositionRule::Original } else { context.positions() }
}

impl<'a> Prefill<'a> {
    fn enter(
        context: TurnContext<'a>,
        stage1: &Stage1,
        telemetry: &mut Telemetry<'_>,
    ) -> Result<Self> {
        let rule = position_rule(&context, stage1);
        let live = LiveTokens::enter(context, stage1, rule)?;
        // Without visual tokens there is nothing to cut.
        let cuts: &[Cut] = if live.visual.is_empty() { &[] } else { &context.plan.cuts };
        let rated = cuts.iter().any(|cut| cut.signals.attention() == Some(TextAttention::Raters));
        let raters = if rated {
            timed(&mut telemetry.seconds.stage2_relevance, || raters(&live))?
        } else {
            Vec::new()
        };
        Ok(Self {
            context,
            cuts,
            raters,
            entered: live.positions.ids().to_vec(),
            live,
            from: 0,
            rows_per_block: Vec::new(),
            visual_per_block: Vec::new(),
            survivors: Vec::new(),
            observed: Vec::new(),
        })
    }

    /// Runs the blocks up to a cut, observes what it declares, and drops what it does not keep.
    fn cut(&mut self, cut: &Cut, caches: &mut Caches, telemetry: &mut Telemetry<'_>) -> Result<()> {
        let (decoder, live) = (self.context.decoder(), &mut self.live);
        if cut.block <= self.from || cut.block >= decoder.blocks() {
            let accepted = format!("{} to {}", self.from + 1, decoder.blocks() - 1);
            return Err(Error::range("refine-layer", cut.block, accepted));
        }
        self.visual_per_block.resize(cut.block, live.visual.len());
        self.rows_per_block.resize(cut.block, live.len());
        let drops = cut.keep < live.visual.len();
        let looks = drops || self.context.observe_all;
        let kinds = live.row_kinds();
        let wanted = looks.then(|| tap(cut, &kinds, live.len(), &live.rows_at(&self.raters)));
        let tapped =
            live.advance(self.from..cut.block, caches, wanted.flatten().as_ref(), telemetry)?;
        self.from = cut.block;
        let mut seen = CutSignals::default();
        if looks {
            live.set_block_positions(cut.block)?;
            let kinds = kinds.first(cut.among);
            let observing =
                Observing { decoder, caches, live, kinds: &kinds, tap: tapped.as_ref() };
            seen = timed(&mut telemetry.seconds.stage2_relevance, || observing.observe(cut))?;
        }
        let selection = choose(&self.context, cut, &seen, live.visual.len(), telemetry.seconds)?;
        self.apply(cut, selection, drops)?;
        if !self.context.observe_all {
            self.observed.clear();
        }
        self.observed.push(seen);
        telemetry.report(Phase::Stage2, self.survivors.len(), self.cuts.len())
    }

    fn apply(&mut self, cut: &Cut, mut selection: Selection, drops: bool) -> Result<()> {
        let before = self.live.visual.clone();
        if drops {
            if self.live.rule != PositionRule::Packed {
                selection.sequence.clear();
            }
            self.live.keep(&selection)?;
        }
        self.survivors.push(CutSurvivors::new(cut.block, &self.live, &selection, &before));
        Ok(())
    }

    /// Runs the remaining blocks and the head.
    fn finish(mut self, caches: &mut Caches, telemetry: &mut Telemetry<'_>) -> Result<Prefilled> {
        let (decoder, live) = (self.context.decoder(), &mut self.live);
        let blocks = decoder.blocks();
        self.visual_per_block.resize(blocks, live.visual.len());
        self.rows_per_block.resize(blocks, live.len());
        let last = blocks - 1;
        live.advance(self.from..last, caches, None, telemetry)?;
        live.set_block_positions(last)?;
        let logits = timed(&mut telemetry.seconds.decoder_prefill, || {
            // Pruned or not, the prompt ends this way, so that keeping everything changes no bit.
            let last = decoder.run_tokens_to_last(last, live.tokens(), caches)?;
            Ok::<Tensor, Error>(decoder.logits(&last)?.squeeze(0)?)
        })?;
        telemetry.report(Phase::Prefill, blocks, blocks)?;
        Ok(Prefilled {
            logits,
            next_positions: self.next_positions(),
            position_ids: self.entered,
            cuts: self.survivors,
            visual_per_block: self.visual_per_block,
            observed: self.observed,
        })
    }

    /// Position of the token that follows the prompt, in each block.
    fn next_positions(&self) -> Vec<u32> {
        let advance = |block: usize| match self.live.rule {
            PositionRule::Original => self.context.layout.next_position(),
            PositionRule::Compact => self.entered.len() as u32,
            PositionRule::Packed => self.rows_per_block[block] as u32,
        };
        let starts = self.context.starts.iter().enumerate();
        starts.map(|(block, start)| start + advance(block)).collect()
    }
}
