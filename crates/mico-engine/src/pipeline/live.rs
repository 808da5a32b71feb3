//! The tokens alive at some depth of the decoder, with their position ids.

use candle_core::Tensor;
use mico_model::{Caches, Decoder, DeepStack, Position, Positions, QkTap, Tap, Tokens};
use mico_select::pruner::PositionRule;
use mico_select::{Merge, Replacement, Selection};

use super::{Stage1, TurnContext, arrange, gather};
use crate::error::Result;
use crate::layout::{PromptLayout, Slot};

/// The rows of the residual stream that are visual, and those that are text.
#[derive(Debug)]
pub(super) struct RowKinds {
    pub(super) visual: Vec<u32>,
    pub(super) text: Vec<u32>,
}

impl RowKinds {
    /// The same with so many visual rows at most, the first ones.
    pub(super) fn first(&self, visual: Option<usize>) -> Self {
        let count = visual.unwrap_or(self.visual.len()).min(self.visual.len());
        Self { visual: self.visual[..count].to_vec(), text: self.text.clone() }
    }

    /// The text behind the first visual row; all of it where none is behind it.
    pub(super) fn question(&self) -> Vec<u32> {
        let first = self.visual.first().copied().unwrap_or(0);
        let behind: Vec<u32> = self.text.iter().copied().filter(|&row| row > first).collect();
        if behind.is_empty() { self.text.clone() } else { behind }
    }
}

/// The rows of the residual stream between two blocks.
#[derive(Debug)]
pub(super) struct LiveTokens {
    /// How position ids follow from what was dropped.
    pub(super) rule: PositionRule,
    pub(super) hidden: Tensor,
    /// Position ids in the block they are about to enter.
    pub(super) positions: Positions,
    /// The same, counted from the beginning of the turn.
    ids: Vec<Position>,
    /// Position of the turn's beginning in that block.
    start: u32,
    /// Slot of each row in the prompt.
    rows: Vec<u32>,
    /// Which rows are visual, and which are text.
    pub(super) kinds: RowKinds,
    /// Visual tokens among them, in the order in which they stand.
    pub(super) visual: Vec<usize>,
    /// What the first blocks add to those.
    deepstack: Option<DeepStack>,
}

impl LiveTokens {
    /// The tokens that enter block 1: text and Stage-1 survivors at their places.
    pub(super) fn enter(
        context: &TurnContext<'_>,
        stage1: &Stage1,
        rule: PositionRule,
    ) -> Result<Self> {
        let (decoder, layout) = (context.decoder(), &context.turn.layout);
        let rows = rows_of(layout, &stage1.kept, &stage1.sequence);
        let hidden = embeddings(decoder, layout, &rows, stage1.embeds.as_ref())?;
        let ids: Vec<Position> = match rule {
            PositionRule::Original => {
                rows.iter().map(|&row| layout.positions()[row as usize]).collect()
            }
            PositionRule::Compact | PositionRule::Packed => numbered(rows.len()),
        };
        let start = context.turn.starts.first().copied().unwrap_or(0);
        let (kinds, layers) = (row_kinds(layout, &rows), &stage1.deepstack);
        let deepstack =
            (!layers.is_empty()).then(|| DeepStack::new(kinds.visual.clone(), layers.clone()));
        let positions = decoder.positions_at(moved(&ids, start))?;
        let visual = stage1.sequence.clone();
        Ok(Self { rule, hidden, positions, ids, start, rows, kinds, visual, deepstack })
    }

    /// Number of rows that are still in the residual stream, text included.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn tokens(&self) -> Tokens<'_> {
        let (hidden, positions) = (&self.hidden, &self.positions);
        Tokens { hidden, positions, deepstack: self.deepstack.as_ref() }
    }

    /// The slot of a row.
    pub(super) fn slot(&self, row: u32) -> u32 {
        self.rows[row as usize]
    }

    /// The row of each of these slots, as far as they are alive.
    pub(super) fn rows_at(&self, slots: &[u32]) -> Vec<u32> {
        (0_u32..).zip(&self.rows).filter(|(_, row)| slots.contains(row)).map(|(at, _)| at).collect()
    }

    /// Runs the tokens through one block (0-based).
    pub(super) fn advance(
        &mut self,
        context: &TurnContext<'_>,
        block: usize,
        caches: &mut Caches,
        tap: Option<&Tap>,
    ) -> Result<Option<QkTap>> {
        self.set_block_positions(context, block)?;
        let taps = tap.map_or(&[][..], std::slice::from_ref);
        let run = context.decoder().run_tokens(block..block + 1, self.tokens(), caches, taps)?;
        self.hidden = run.hidden;
        Ok(run.taps.into_iter().next())
    }

    /// Takes the position ids of a block (0-based), should its count of earlier tokens be another.
    pub(super) fn set_block_positions(
        &mut self,
        context: &TurnContext<'_>,
        block: usize,
    ) -> Result<()> {
        let start = context.turn.starts.get(block).copied().unwrap_or(self.start);
        if start != self.start {
            self.start = start;
            self.positions = context.decoder().positions_at(moved(&self.ids, start))?;
        }
        Ok(())
    }

    /// Drops all visual tokens but those of a selection.
    pub(super) fn keep(&mut self, context: &TurnContext<'_>, selection: &Selection) -> Result<()> {
        let kinds = &self.kinds;
        let stay = surviving_rows(kinds, self.len(), selection);
        let hidden = arrange(&self.hidden, &to_row_selection(selection, &kinds.visual, &stay))?;
        let rows: Vec<u32> = stay.iter().map(|&at| self.rows[at as usize]).collect();
        let left = row_kinds(&context.turn.layout, &rows);
        let places = visual_places(&stay, &kinds.visual);
        let visual = places.iter().map(|&place| self.visual[place as usize]).collect();
        let (ids, positions) = match self.rule {
            PositionRule::Original | PositionRule::Compact => {
                let ids = stay.iter().map(|&at| self.ids[at as usize]).collect();
                (ids, self.positions.select(&stay)?)
            }
            PositionRule::Packed => {
                let ids = numbered(stay.len());
                let positions = context.decoder().positions_at(moved(&ids, self.start))?;
                (ids, positions)
            }
        };
        let deepstack = match &self.deepstack {
            Some(deepstack) => {
                let layers = deepstack.layers().iter().map(|layer| gather(layer, &places));
                let layers = layers.collect::<Result<Vec<_>>>()?;
                Some(DeepStack::new(left.visual.clone(), layers))
            }
            None => None,
        };
        (self.hidden, self.positions, self.ids) = (hidden, positions, ids);
        (self.rows, self.kinds) = (rows, left);
        (self.visual, self.deepstack) = (visual, deepstack);
        Ok(())
    }
}

/// Embeddings of the rows that enter block 1: text and visual ones interleaved as in the prompt.
fn embeddings(
    decoder: &Decoder,
    layout: &PromptLayout,
    rows: &[u32],
    visual: Option<&Tensor>,
) -> Result<Tensor> {
    let text = layout.text();
    // Sources: text embeddings first, then the visual ones.
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
    let visual = visual.map(|e| e.to_dtype(decoder.dtype())).transpose()?;
    let sources: Vec<Tensor> = text.into_iter().chain(visual).collect();
    gather(&Tensor::cat(&sources, 0)?, &order)
}

/// Positions 0, 1, 2, ...
fn numbered(count: usize) -> Vec<Position> {
    (0..count as u32).map(Position::text).collect()
}

fn moved(ids: &[Position], start: u32) -> Vec<Position> {
    ids.iter().map(|id| id.moved(start)).collect()
}

/// Slots of the text and of the kept visual tokens, these in the order of `sequence` (which stays
/// within each image).
fn rows_of(layout: &PromptLayout, kept: &[usize], sequence: &[usize]) -> Vec<u32> {
    let rows = layout.rows(kept);
    let slots: Vec<u32> = (0_u32..)
        .zip(layout.slots())
        .filter(|(_, slot)| matches!(slot, Slot::Visual(_)))
        .map(|(row, _)| row)
        .collect();
    let mut next = sequence.iter();
    rows.into_iter()
        .map(|row| match layout.slots()[row as usize] {
            Slot::Text(_) => row,
            Slot::Visual(_) => next.next().map_or(row, |&token| slots[token]),
        })
        .collect()
}

fn row_kinds(layout: &PromptLayout, rows: &[u32]) -> RowKinds {
    let (mut visual, mut text) = (Vec::new(), Vec::new());
    for (at, &row) in (0_u32..).zip(rows) {
        match layout.slots()[row as usize] {
            Slot::Text(_) => text.push(at),
            Slot::Visual(_) => visual.push(at),
        }
    }
    RowKinds { visual, text }
}

/// Rows that stay, in the order in which they stand afterwards: text where it is, and in the place of
/// each run of visual tokens what is kept of it in the order of the selection's sequence.
fn surviving_rows(kinds: &RowKinds, rows: usize, selection: &Selection) -> Vec<u32> {
    let mut run_of = vec![0_usize; kinds.visual.len()];
    for place in 1..kinds.visual.len() {
        let joined = kinds.visual[place] == kinds.visual[place - 1] + 1;
        run_of[place] = run_of[place - 1] + usize::from(!joined);
    }
    let runs = run_of.last().map_or(0, |last| last + 1);
    let mut kept: Vec<Vec<u32>> = vec![Vec::new(); runs];
    for &place in selection.in_sequence() {
        kept[run_of[place]].push(kinds.visual[place]);
    }
    let mut stay = Vec::with_capacity(rows);
    let (mut text, mut run) = (kinds.text.iter().peekable(), 0);
    for (place, &at) in kinds.visual.iter().enumerate() {
        while let Some(&&row) = text.peek().filter(|row| ***row < at) {
            stay.push(row);
            text.next();
        }
        if place == 0 || run_of[place] != run_of[place - 1] {
            stay.append(&mut kept[run]);
            run += 1;
        }
    }
    stay.extend(text);
    stay
}

/// Places among the visual rows of those that stay, in their order.
fn visual_places(stay: &[u32], rows: &[u32]) -> Vec<u32> {
    stay.iter().filter_map(|at| rows.binary_search(at).ok().map(|place| place as u32)).collect()
}

/// A selection among visual tokens as one among all rows, text rows staying.
fn to_row_selection(selection: &Selection, visual: &[u32], stay: &[u32]) -> Selection {
    let row = |place: usize| visual[place] as usize;
    let sequence: Vec<usize> = stay.iter().map(|&at| at as usize).collect();
    let mut kept = sequence.clone();
    kept.sort_unstable();
    let mut rows = Selection::keeping(kept);
    rows.sequence = sequence;
    rows.merges = selection.merges.iter().map(|merge| to_row_merge(merge, &row)).collect();
    let replaced = selection.replaced.iter();
    rows.replaced =
        replaced.map(|r| Replacement { position: row(r.position), token: row(r.token) }).collect();
    rows
}

fn to_row_merge(merge: &Merge, row: &impl Fn(usize) -> usize) -> Merge {
    Merge {
        target: row(merge.target),
        sources: merge.sources.iter().map(|&source| row(source)).collect(),
        ..merge.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_of_each_run_takes_its_place() {
        // Text at rows 0, 4 and 7; two runs of visual rows.
        let kinds = RowKinds { visual: vec![1, 2, 3, 5, 6], text: vec![0, 4, 7] };
        let mut selection = Selection::keeping(vec![0, 2, 4]);
        assert_eq!(surviving_rows(&kinds, 8, &selection), [0, 1, 3, 4, 6, 7]);
        selection.sequence = vec![2, 4, 0];
        assert_eq!(surviving_rows(&kinds, 8, &selection), [0, 3, 1, 4, 6, 7]);
        assert_eq!(visual_places(&[0, 3, 1, 4, 6, 7], &kinds.visual), [2, 0, 4]);
        let none = RowKinds { visual: vec![0, 1], text: vec![2] };
        let first = Selection::keeping(vec![1]);
        assert_eq!(surviving_rows(&none, 3, &first), [1, 2]);
    }
}
