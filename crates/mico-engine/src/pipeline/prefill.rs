//! A turn through the decoder: all its tokens, pruned on the way as planned.

use std::ops::Range;

use candle_core::Tensor;
use mico_model::{Caches, Decoder, DeepStack, Position, Positions, QkTap, Tap, Tokens};

use super::stage2::{Observed, Split, choose, observe};
use super::{Stage1, gather, reduce};
use crate::error::{Error, Result};
use crate::generate::{Phase, Sink, Step};
use crate::layout::{PromptLayout, Slot};
use crate::pruner::{Cut, Pruner};
use crate::switches::PositionMode;
use crate::trace::{Seconds, timed};

/// What goes into the decoder, on top of what its caches hold.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pub(crate) layout: &'a PromptLayout,
    pub(crate) stage1: &'a Stage1,
    pub(crate) cuts: &'a [Cut],
    pub(crate) pruner: &'a dyn Pruner,
    /// Logical position of the first token.
    pub(crate) start: u32,
    pub(crate) positions: PositionMode,
    /// Observe cuts that drop nothing, too.
    pub(crate) observe_all: bool,
}

impl Turn<'_> {
    /// Positions are renumbered only where tokens go: an untouched prompt stays as it is.
    fn mode(&self) -> PositionMode {
        let entered = self.stage1.kept.len();
        let whole = entered == self.layout.visual_tokens()
            && self.cuts.iter().all(|cut| cut.keep >= entered);
        if whole { PositionMode::Original } else { self.positions }
    }
}

/// What came out.
#[derive(Debug)]
pub(crate) struct Prefilled {
    /// Logits at the last token, `[vocab]`.
    pub(crate) logits: Tensor,
    /// Positions of the tokens that entered block 1.
    pub(crate) position_ids: Vec<Position>,
    /// Logical position of the token that follows.
    pub(crate) next_position: u32,
    /// Visual tokens left after each cut, numbered as in the prompt.
    pub(crate) kept: Vec<Vec<usize>>,
    /// Visual tokens in each block.
    pub(crate) visual_per_block: Vec<usize>,
    /// What the last cut saw.
    pub(crate) observed: Observed,
}

/// The tokens alive at some depth of the decoder.
struct Alive {
    hidden: Tensor,
    positions: Positions,
    /// Slot of each row in the prompt.
    rows: Vec<u32>,
    /// Visual tokens among them.
    visual: Vec<usize>,
    /// What the first blocks add to those.
    deepstack: Option<DeepStack>,
}

impl Alive {
    fn tokens(&self) -> Tokens<'_> {
        let (hidden, positions) = (&self.hidden, &self.positions);
        Tokens { hidden, positions, deepstack: self.deepstack.as_ref() }
    }

    /// Runs the tokens through some blocks, one at a time so that it can be told how far they are.
    fn advance(
        &mut self,
        decoder: &Decoder,
        blocks: Range<usize>,
        caches: &mut Caches,
        tap: Option<&Tap>,
        watched: &mut Watched<'_>,
    ) -> Result<Option<QkTap>> {
        let mut tapped = None;
        for block in blocks {
            let taps = tap.filter(|tap| tap.block == block).map(std::slice::from_ref);
            let run = timed(&mut watched.seconds.decoder_prefill, || {
                decoder.run_tokens(block..block + 1, self.tokens(), caches, taps.unwrap_or(&[]))
            })?;
            self.hidden = run.hidden;
            tapped = run.taps.into_iter().next().or(tapped);
            watched.tell(block + 1, decoder.blocks());
        }
        Ok(tapped)
    }
}

/// Where the time goes, and who is told of it.
pub(crate) struct Watched<'a> {
    pub(crate) seconds: &'a mut Seconds,
    pub(crate) sink: &'a mut dyn Sink,
}

impl Watched<'_> {
    fn tell(&mut self, done: usize, total: usize) {
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
    let mut alive = enter(decoder, turn)?;
    let position_ids = alive.positions.ids().to_vec();
    let next_position = match turn.mode() {
        PositionMode::Original => turn.start + turn.layout.next_position(),
        PositionMode::Compact => turn.start + alive.rows.len() as u32,
    };
    let (mut kept, mut visual_per_block) = (Vec::new(), Vec::new());
    let mut observed = Observed::default();
    let mut from = 0;
    // Without visual tokens there is nothing to cut.
    let cuts = if alive.visual.is_empty() { &[] } else { turn.cuts };
    for cut in cuts {
        if cut.block <= from || cut.block >= decoder.blocks() {
            let accepted = format!("{} to {}", from + 1, decoder.blocks() - 1);
            return Err(Error::range("refine-layer", cut.block, accepted));
        }
        visual_per_block.resize(cut.block, alive.visual.len());
        let drops = cut.keep < alive.visual.len();
        let split = split_rows(turn.layout, &alive.rows);
        let looks = drops || turn.observe_all;
        let tap = match cut.signals.attention {
            Some(_) if looks => Some(Tap { block: cut.block - 1, query_rows: split.text.clone() }),
            _ => None,
        };
        let tapped = alive.advance(decoder, from..cut.block, caches, tap.as_ref(), watched)?;
        let seconds = &mut *watched.seconds;
        if looks {
            observed = observe(cut, &alive.hidden, tapped.as_ref(), &split, seconds)?;
        }
        let selection = choose(turn.pruner, cut, &observed, alive.visual.len(), seconds)?;
        if drops {
            let dropped = drop_rows(turn.layout, &alive, &selection)?;
            alive = dropped;
        }
        kept.push(alive.visual.clone());
        from = cut.block;
    }
    visual_per_block.resize(decoder.blocks(), alive.visual.len());
    let last = decoder.blocks() - 1;
    alive.advance(decoder, from..last, caches, None, watched)?;
    let logits = timed(&mut watched.seconds.decoder_prefill, || {
        // Pruned or not, the prompt ends this way, so that keeping everything changes no bit.
        let last = decoder.run_tokens_to_last(last, alive.tokens(), caches)?;
        Ok::<Tensor, Error>(decoder.logits(&last)?.squeeze(0)?)
    })?;
    watched.tell(decoder.blocks(), decoder.blocks());
    Ok(Prefilled { logits, position_ids, next_position, kept, visual_per_block, observed })
}

/// The tokens that enter block 1: text and Stage-1 survivors at their places.
fn enter(decoder: &Decoder, turn: &Turn<'_>) -> Result<Alive> {
    let layout = turn.layout;
    let rows = layout.rows(&turn.stage1.kept);
    let text = layout.text();
    // Sources: text embeddings first, then the visual ones; the prompt interleaves them.
    let (mut next_text, mut next_visual) = (0_u32, text.len() as u32);
    let order: Vec<u32> = rows
        .iter()
        .map(|&row| {
            let next = match layout.slots()[row as usize] {
                Slot::Text(_) => &mut next_text,
                Slot::Visual(_) => &mut next_visual,
            };
            *next += 1;
            *next - 1
        })
        .collect();
    let text = if text.is_empty() { None } else { Some(decoder.embed(&text)?) };
    let visual = turn.stage1.embeds.as_ref().map(|e| e.to_dtype(decoder.dtype())).transpose()?;
    let sources: Vec<Tensor> = text.into_iter().chain(visual).collect();
    let hidden = gather(&Tensor::cat(&sources, 0)?, &order)?;
    let ids: Vec<Position> = match turn.mode() {
        PositionMode::Original => {
            rows.iter().map(|&row| layout.positions()[row as usize].moved(turn.start)).collect()
        }
        PositionMode::Compact => (turn.start..).take(rows.len()).map(Position::text).collect(),
    };
    let positions = decoder.positions_at(ids)?;
    let layers = &turn.stage1.deepstack;
    let deepstack = (!layers.is_empty())
        .then(|| DeepStack::new(split_rows(layout, &rows).visual, layers.clone()));
    Ok(Alive { hidden, positions, rows, visual: turn.stage1.kept.clone(), deepstack })
}

fn split_rows(layout: &PromptLayout, rows: &[u32]) -> Split {
    let (mut visual, mut text) = (Vec::new(), Vec::new());
    for (at, &row) in (0_u32..).zip(rows) {
        match layout.slots()[row as usize] {
            Slot::Text(_) => text.push(at),
            Slot::Visual(_) => visual.push(at),
        }
    }
    Split { visual, text }
}

/// Takes the visual tokens out that a selection does not keep.
fn drop_rows(
    layout: &PromptLayout,
    alive: &Alive,
    selection: &mico_select::Selection,
) -> Result<Alive> {
    let split = split_rows(layout, &alive.rows);
    let visual: Vec<usize> = selection.kept.iter().map(|&place| alive.visual[place]).collect();
    let mut stay: Vec<u32> = split.text;
    stay.extend(selection.kept.iter().map(|&place| split.visual[place]));
    stay.sort_unstable();
    let hidden = if selection.merges.is_empty() && selection.replaced.is_empty() {
        gather(&alive.hidden, &stay)?
    } else {
        reduce(&alive.hidden, &lifted(selection, &split.visual, &stay))?
    };
    let positions = alive.positions.select(&stay)?;
    let rows: Vec<u32> = stay.iter().map(|&at| alive.rows[at as usize]).collect();
    let deepstack = match &alive.deepstack {
        Some(deepstack) => {
            let layers = deepstack.layers().iter().map(|layer| reduce(layer, selection));
            let layers = layers.collect::<Result<Vec<_>>>()?;
            Some(DeepStack::new(split_rows(layout, &rows).visual, layers))
        }
        None => None,
    };
    Ok(Alive { hidden, positions, rows, visual, deepstack })
}

/// A selection among visual tokens as one among all rows, text rows staying.
fn lifted(
    selection: &mico_select::Selection,
    visual: &[u32],
    stay: &[u32],
) -> mico_select::Selection {
    let row = |place: usize| visual[place] as usize;
    let mut lifted = selection.clone();
    lifted.kept = stay.iter().map(|&at| at as usize).collect();
    for merge in &mut lifted.merges {
        merge.target = row(merge.target);
        merge.sources.iter_mut().for_each(|source| *source = row(*source));
    }
    for replaced in &mut lifted.replaced {
        replaced.position = row(replaced.position);
        replaced.token = row(replaced.token);
    }
    lifted
}
