//! A turn through the decoder: all its tokens, pruned on the way as planned.

use candle_core::Tensor;
use mico_model::{Caches, Decoder, Family, Position};
use mico_select::{Merge, Selection};

use super::Stage1;
use super::alive::Alive;
use super::stage2::{Observed, Observing, choose, raters, tap};
use crate::error::{Error, Result};
use crate::generate::{Phase, Sink, Step};
use crate::layout::PromptLayout;
use crate::pruner::{Cut, PositionRule, Pruner, TextAttention};
use crate::trace::{Seconds, timed};

/// What goes into the decoder, on top of what its caches hold.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pub(crate) layout: &'a PromptLayout,
    pub(crate) stage1: &'a Stage1,
    pub(crate) cuts: &'a [Cut],
    pub(crate) pruner: &'a dyn Pruner,
    pub(crate) family: Family,
    /// Logical position of the first token in each block.
    pub(crate) starts: &'a [u32],
    pub(crate) positions: PositionRule,
    /// Observe cuts that drop nothing, too, and remember what every cut saw.
    pub(crate) observe_all: bool,
}

impl Turn<'_> {
    /// Positions are renumbered only where tokens go: an untouched prompt stays as it is.
    fn rule(&self) -> PositionRule {
        let entered = self.stage1.kept.len();
        let whole = entered == self.layout.visual_tokens()
            && self.cuts.iter().all(|cut| cut.keep >= entered);
        if whole { PositionRule::Original } else { self.positions }
    }
}

/// What came out.
#[derive(Debug)]
pub(crate) struct Prefilled {
    /// Logits at the last token, `[vocab]`.
    pub(crate) logits: Tensor,
    /// Positions of the tokens that entered block 1.
    pub(crate) position_ids: Vec<Position>,
    /// Logical position of the token that follows, in each block.
    pub(crate) next_positions: Vec<u32>,
    /// What each cut left.
    pub(crate) cuts: Vec<Kept>,
    /// Visual tokens in each block.
    pub(crate) visual_per_block: Vec<usize>,
    /// What the cuts saw: the last one, or all of them.
    pub(crate) observed: Vec<Observed>,
}

/// What a cut left.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The block, counted from 1.
    pub(crate) block: usize,
    /// Visual tokens, numbered as in the prompt, ascending.
    pub(crate) visual: Vec<usize>,
    /// Tokens that took others in.
    pub(crate) merges: Vec<Merge>,
}

impl Kept {
    fn new(block: usize, alive: &Alive, selection: &Selection, before: &[usize]) -> Self {
        let mut visual = alive.visual.clone();
        visual.sort_unstable();
        let merges = selection.merges.iter().map(|merge| Merge {
            target: before[merge.target],
            sources: merge.sources.iter().map(|&place| before[place]).collect(),
            ..merge.clone()
        });
        Self { block, visual, merges: merges.collect() }
    }
}

/// Where the time goes, and who is told of it.
pub(crate) struct Watched<'a> {
    pub(crate) seconds: &'a mut Seconds,
    pub(crate) sink: &'a mut dyn Sink,
}

impl Watched<'_> {
    pub(super) fn tell(&mut self, done: usize, total: usize) {
        self.sink.progress(Step { phase: Phase::Prefill, done, total });
    }
}

/// Runs a turn.
pub(crate) fn prefill(
    decoder: &Decoder,
    caches: &mut Caches,
    turn: &Turn<'_>,
    watched: &mut Watched<'_>,
) -> Result<Prefilled> {
    let rule = turn.rule();
    let mut alive = Alive::enter(decoder, turn, rule)?;
    let position_ids = alive.positions.ids().to_vec();
    let entered = alive.len();
    let (mut cut_kept, mut observed) = (Vec::new(), Vec::new());
    let (mut rows_per_block, mut visual_per_block) = (Vec::new(), Vec::new());
    let mut from = 0;
    // Without visual tokens there is nothing to cut.
    let cuts = if alive.visual.is_empty() { &[] } else { turn.cuts };
    let rated = cuts.iter().any(|cut| cut.signals.attention == Some(TextAttention::Raters));
    let raters = if rated {
        timed(&mut watched.seconds.stage2_relevance, || raters(&alive, turn.layout))?
    } else {
        Vec::new()
    };
    for cut in cuts {
        if cut.block <= from || cut.block >= decoder.blocks() {
            let accepted = format!("{} to {}", from + 1, decoder.blocks() - 1);
            return Err(Error::range("refine-layer", cut.block, accepted));
        }
        visual_per_block.resize(cut.block, alive.visual.len());
        rows_per_block.resize(cut.block, alive.len());
        let drops = cut.keep < alive.visual.len();
        let split = alive.split(turn.layout);
        let looks = drops || turn.observe_all;
        let wanted = looks.then(|| tap(cut, &split, alive.len(), &alive.rows_at(&raters)));
        let wanted = wanted.flatten();
        let blocks = from..cut.block;
        let tapped = alive.advance(decoder, blocks, caches, wanted.as_ref(), turn, watched)?;
        let seconds = &mut *watched.seconds;
        let mut seen = Observed::default();
        if looks {
            alive.stand_in(decoder, cut.block, turn)?;
            let competing = split.first(cut.among);
            let (alive, split, tap) = (&alive, &competing, tapped.as_ref());
            let observing = Observing { decoder, caches, alive, split, tap };
            seen = timed(&mut seconds.stage2_relevance, || observing.observe(cut))?;
        }
        let of = (alive.visual.len(), turn.family);
        let mut selection = choose(turn.pruner, cut, &seen, of, seconds)?;
        let before = alive.visual.clone();
        if drops {
            if rule != PositionRule::Packed {
                selection.sequence.clear();
            }
            alive = alive.keep(decoder, turn.layout, &selection, rule)?;
        }
        cut_kept.push(Kept::new(cut.block, &alive, &selection, &before));
        if !turn.observe_all {
            observed.clear();
        }
        observed.push(seen);
        from = cut.block;
    }
    visual_per_block.resize(decoder.blocks(), alive.visual.len());
    rows_per_block.resize(decoder.blocks(), alive.len());
    let last = decoder.blocks() - 1;
    alive.advance(decoder, from..last, caches, None, turn, watched)?;
    alive.stand_in(decoder, last, turn)?;
    let logits = timed(&mut watched.seconds.decoder_prefill, || {
        // Pruned or not, the prompt ends this way, so that keeping everything changes no bit.
        let last = decoder.run_tokens_to_last(last, alive.tokens(), caches)?;
        Ok::<Tensor, Error>(decoder.logits(&last)?.squeeze(0)?)
    })?;
    watched.tell(decoder.blocks(), decoder.blocks());
    let gone = |block: usize| match rule {
        PositionRule::Original => turn.layout.next_position(),
        PositionRule::Compact => entered as u32,
        PositionRule::Packed => rows_per_block[block] as u32,
    };
    let next_positions = turn.starts.iter().enumerate().map(|(block, start)| start + gone(block));
    Ok(Prefilled {
        logits,
        position_ids,
        next_positions: next_positions.collect(),
        cuts: cut_kept,
        visual_per_block,
        observed,
    })
}
