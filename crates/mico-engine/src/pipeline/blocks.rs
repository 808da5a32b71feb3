//! A turn's tokens on their way through the decoder, block by block, pruned as planned.

use candle_core::Tensor;
use mico_model::{Caches, Position, QkTap, Tap};
use mico_select::pruner::{Cut, PositionRule, TextAttention};
use mico_select::{Merge, Selection};

use super::live::LiveTokens;
use super::stage2::{CutSignals, Observing, choose, raters, tap};
use super::{Stage1, TurnContext};
use crate::error::{Error, Result};
use crate::sink::{Phase, Step};
use crate::trace::{Seconds, timed};

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
    fn new(block: usize, live: &LiveTokens, selection: &Selection, before: &[usize]) -> Self {
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

/// A turn between two decoder blocks, on top of what its caches hold.
#[derive(Debug)]
pub(super) struct Blocks {
    live: LiveTokens,
    /// Cuts that the plan makes of these tokens.
    cuts: usize,
    /// Slots of the words that rate visual tokens, if a cut asks for them.
    raters: Vec<u32>,
    /// Position ids of the rows that entered block 1.
    entered: Vec<Position>,
    /// Number of decoder blocks that have run, which is the 0-based index of the next one.
    done: usize,
    /// What the block before the next cut let see.
    tapped: Option<QkTap>,
    rows_per_block: Vec<usize>,
    visual_per_block: Vec<usize>,
    survivors: Vec<CutSurvivors>,
    observed: Vec<CutSignals>,
    /// Logits at the last token, once all blocks have run.
    logits: Option<Tensor>,
}

/// Positions are renumbered only where tokens go: an untouched prompt stays as it is.
fn position_rule(context: &TurnContext<'_>, stage1: &Stage1) -> PositionRule {
    let entered = stage1.kept.len();
    let whole = entered == context.turn.layout.visual_tokens()
        && context.turn.plan.cuts.iter().all(|cut| cut.keep >= entered);
    if whole { PositionRule::Original } else { context.turn.positions() }
}

impl Blocks {
    /// Text and what Stage 1 left, before block 1.
    pub(super) fn enter(
        context: &TurnContext<'_>,
        stage1: &Stage1,
        seconds: &mut Seconds,
    ) -> Result<Self> {
        let live = LiveTokens::enter(context, stage1, position_rule(context, stage1))?;
        // Without visual tokens there is nothing to cut.
        let cuts: &[Cut] = if live.visual.is_empty() { &[] } else { &context.turn.plan.cuts };
        let rated = cuts.iter().any(|cut| cut.signals.attention() == Some(TextAttention::Raters));
        let raters = if rated {
            timed(&mut seconds.stage2_relevance, || raters(&live))?
        } else {
            Vec::new()
        };
        let entered = live.positions.ids().to_vec();
        let blocks = Self {
            live,
            cuts: cuts.len(),
            raters,
            entered,
            done: 0,
            tapped: None,
            rows_per_block: Vec::new(),
            visual_per_block: Vec::new(),
            survivors: Vec::new(),
            observed: Vec::new(),
            logits: None,
        };
        blocks.check_next_cut(context)?;
        Ok(blocks)
    }

    /// Runs one more block, or makes one cut; `None` once all are done.
    pub(super) fn advance(
        &mut self,
        context: &TurnContext<'_>,
        caches: &mut Caches,
        seconds: &mut Seconds,
    ) -> Result<Option<Step>> {
        let blocks = context.decoder().blocks();
        match self.next_cut(context) {
            Some(cut) if cut.block == self.done => {
                self.cut(context, cut, caches, seconds)?;
                return Ok(Some(Step::new(Phase::Stage2, self.survivors.len(), self.cuts)));
            }
            _ if self.done == blocks => return Ok(None),
            _ if self.done + 1 == blocks => self.last_block(context, caches, seconds)?,
            cut => self.block(context, cut, caches, seconds)?,
        }
        self.visual_per_block.push(self.live.visual.len());
        self.rows_per_block.push(self.live.len());
        self.done += 1;
        Ok(Some(Step::new(Phase::Prefill, self.done, blocks)))
    }

    /// What the prefill came to, after the last step.
    pub(super) fn finish(self, context: &TurnContext<'_>) -> Result<Prefilled> {
        let next_positions = self.next_positions(context);
        let Some(logits) = self.logits else {
            return Err(Error::internal("a prompt ended before its last block"));
        };
        Ok(Prefilled {
            logits,
            next_positions,
            position_ids: self.entered,
            cuts: self.survivors,
            visual_per_block: self.visual_per_block,
            observed: self.observed,
        })
    }

    fn next_cut<'a>(&self, context: &TurnContext<'a>) -> Option<&'a Cut> {
        context.turn.plan.cuts[..self.cuts].get(self.survivors.len())
    }

    /// Refuses a cut behind the blocks that are left, before any of them runs.
    fn check_next_cut(&self, context: &TurnContext<'_>) -> Result<()> {
        let blocks = context.decoder().blocks();
        match self.next_cut(context) {
            Some(cut) if cut.block <= self.done || cut.block >= blocks => {
                let accepted = format!("{} to {}", self.done + 1, blocks.saturating_sub(1));
                Err(Error::range("refine-layer", cut.block, accepted))
            }
            _ => Ok(()),
        }
    }

    /// Whether a cut is observed: those that drop nothing only on request.
    fn looks(&self, context: &TurnContext<'_>, cut: &Cut) -> bool {
        cut.keep < self.live.visual.len() || context.observes_all()
    }

    fn block(
        &mut self,
        context: &TurnContext<'_>,
        cut: Option<&Cut>,
        caches: &mut Caches,
        seconds: &mut Seconds,
    ) -> Result<()> {
        let observed = cut.filter(|cut| cut.block == self.done + 1 && self.looks(context, cut));
        let wanted: Option<Tap> = observed.and_then(|cut| {
            let (live, raters) = (&self.live, self.live.rows_at(&self.raters));
            tap(cut, &live.kinds, live.len(), &raters)
        });
        self.tapped = timed(&mut seconds.decoder_prefill, || {
            self.live.advance(context, self.done, caches, wanted.as_ref())
        })?;
        Ok(())
    }

    /// Observes what a cut declares, and drops what it does not keep.
    fn cut(
        &mut self,
        context: &TurnContext<'_>,
        cut: &Cut,
        caches: &Caches,
        seconds: &mut Seconds,
    ) -> Result<()> {
        let (drops, looks) = (cut.keep < self.live.visual.len(), self.looks(context, cut));
        let (tapped, live) = (self.tapped.take(), &mut self.live);
        let mut seen = CutSignals::default();
        if looks {
            live.set_block_positions(context, cut.block)?;
            let kinds = live.kinds.first(cut.among);
            let decoder = context.decoder();
            let observing =
                Observing { decoder, caches, live, kinds: &kinds, tap: tapped.as_ref() };
            seen = timed(&mut seconds.stage2_relevance, || observing.observe(cut))?;
        }
        let mut selection = choose(context, cut, &seen, live.visual.len(), seconds)?;
        let before = live.visual.clone();
        if drops {
            if live.rule != PositionRule::Packed {
                selection.sequence.clear();
            }
            live.keep(context, &selection)?;
        }
        self.survivors.push(CutSurvivors::new(cut.block, live, &selection, &before));
        if !context.observes_all() {
            self.observed.clear();
        }
        self.observed.push(seen);
        self.check_next_cut(context)
    }

    /// Runs the last block on the last token alone, and the head. Pruned or not, the prompt ends this
    /// way, so that keeping everything changes no bit.
    fn last_block(
        &mut self,
        context: &TurnContext<'_>,
        caches: &mut Caches,
        seconds: &mut Seconds,
    ) -> Result<()> {
        let (decoder, live) = (context.decoder(), &mut self.live);
        live.set_block_positions(context, self.done)?;
        let logits = timed(&mut seconds.decoder_prefill, || {
            let last = decoder.run_tokens_to_last(self.done, live.tokens(), caches)?;
            Ok::<Tensor, Error>(decoder.logits(&last)?.squeeze(0)?)
        })?;
        self.logits = Some(logits);
        Ok(())
    }

    /// Position of the token that follows the prompt, in each block.
    fn next_positions(&self, context: &TurnContext<'_>) -> Vec<u32> {
        let advance = |block: usize| match self.live.rule {
            PositionRule::Original => context.turn.layout.next_position(),
            PositionRule::Compact => self.entered.len() as u32,
            PositionRule::Packed => self.rows_per_block[block] as u32,
        };
        let starts = context.turn.starts.iter().enumerate();
        starts.map(|(block, start)| start + advance(block)).collect()
    }
}
