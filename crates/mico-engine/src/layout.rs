//! The prompt layout: what stands at every position of the unpruned prompt.
//!
//! Prompt length, positions, placeholder counts, cache lengths and token usage all derive from this
//! one value and a list of kept visual tokens; nothing else counts.

use std::ops::Range;

use mico_model::Position;
use mico_vision::layout::VisualLayout;

use crate::error::{Error, Result};

/// What stands at one position of the unpruned prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// A text token's id.
    Text(u32),
    /// A visual token, numbered through all images of the prompt.
    Visual(usize),
}

/// The visual tokens of one image in a prompt, and where they stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// Position of each token relative to the first.
    offsets: Vec<Position>,
    /// What follows the image stands this far behind its beginning.
    advance: u32,
}

impl Extent {
    /// Tokens one after the other: models whose positions are one number.
    pub fn line(tokens: usize) -> Self {
        let advance = tokens as u32;
        Self { offsets: (0..advance).map(Position::text).collect(), advance }
    }

    /// Tokens at the row and column of their grid, all at the same time: models whose positions have
    /// three axes. What follows stands behind the longer side.
    pub fn grid(layout: &VisualLayout) -> Self {
        let groups = layout.groups();
        let offset = |token: &mico_vision::layout::VisualToken| {
            let patch = token.patch?;
            let columns = groups.get(patch.group)?.columns.max(1);
            let (row, column) = (patch.local / columns, patch.local % columns);
            Some(Position { time: 0, row: row as u32, column: column as u32 })
        };
        let offsets = layout.tokens().iter().map(|token| offset(token).unwrap_or_default());
        let longest = groups.iter().map(|group| group.rows.max(group.columns)).max();
        Self { offsets: offsets.collect(), advance: longest.unwrap_or(0) as u32 }
    }

    /// Number of visual tokens that get a position id.
    pub fn tokens(&self) -> usize {
        self.offsets.len()
    }
}

/// A prompt with its image placeholders expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptLayout {
    slots: Vec<Slot>,
    /// Where each slot stands, counted from the prompt's beginning.
    positions: Vec<Position>,
    /// Where the token after the prompt stands.
    next: u32,
    /// First visual token of each image, and the total.
    offsets: Vec<usize>,
}

impl PromptLayout {
    /// Replaces the i-th `placeholder` among `ids` by the i-th image's visual tokens.
    ///
    /// ```
    /// use mico_engine::{Extent, PromptLayout};
    /// let layout = PromptLayout::expand(&[1, 9, 5], 9, &[Extent::line(4)])?;
    /// assert_eq!((layout.len(), layout.visual_tokens()), (6, 4));
    /// assert_eq!(layout.rows(&[0, 3]), [0, 1, 4, 5]);
    /// assert!(PromptLayout::expand(&[1, 5], 9, &[Extent::line(4)]).is_err());
    /// # Ok::<(), mico_engine::Error>(())
    /// ```
    pub fn expand(ids: &[u32], placeholder: u32, images: &[Extent]) -> Result<Self> {
        let placeholders = ids.iter().filter(|&&id| id == placeholder).count();
        if placeholders != images.len() {
            return Err(Error::Placeholders {
                id: placeholder,
                placeholders,
                images: images.len(),
            });
        }
        let (mut slots, mut positions, mut offsets, mut next) = (vec![], vec![], vec![0], 0);
        let mut extents = images.iter();
        for &id in ids {
            if let Some(extent) = (id == placeholder).then(|| extents.next()).flatten() {
                let start = offsets.last().copied().unwrap_or(0);
                slots.extend((start..start + extent.tokens()).map(Slot::Visual));
                positions.extend(extent.offsets.iter().map(|offset| offset.moved(next)));
                offsets.push(start + extent.tokens());
                next += extent.advance;
            } else {
                slots.push(Slot::Text(id));
                positions.push(Position::text(next));
                next += 1;
            }
        }
        if slots.is_empty() {
            return Err(Error::range("prompt", "empty", "at least 1 token"));
        }
        Ok(Self { slots, positions, next, offsets })
    }

    /// The prompt with a text token before it: the end of an answer that no cache holds yet.
    pub(crate) fn after(mut self, pending: Option<u32>) -> Self {
        if let Some(id) = pending {
            self.slots.insert(0, Slot::Text(id));
            self.positions.iter_mut().for_each(|position| *position = position.moved(1));
            self.positions.insert(0, Position::text(0));
            self.next += 1;
        }
        self
    }

    /// Where each slot stands, counted from the prompt's beginning.
    pub fn positions(&self) -> &[Position] {
        &self.positions
    }

    /// Where the token after the prompt stands, pruned or not.
    pub fn next_position(&self) -> u32 {
        self.next
    }

    /// P0: the length of the unpruned prompt.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether nothing is in it (never true for a built value).
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// N0: visual tokens of all images.
    pub fn visual_tokens(&self) -> usize {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Number of images, or videos, of the turn.
    pub fn images(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The visual tokens of one image.
    pub fn image(&self, image: usize) -> Range<usize> {
        match (self.offsets.get(image), self.offsets.get(image + 1)) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        }
    }

    /// What stands at each position.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The positions that remain when of the visual tokens only `kept` (ascending) do.
    pub fn rows(&self, kept: &[usize]) -> Vec<u32> {
        let stays = |slot: &Slot| match slot {
            Slot::Text(_) => true,
            Slot::Visual(token) => kept.binary_search(token).is_ok(),
        };
        (0_u32..).zip(&self.slots).filter(|(_, slot)| stays(slot)).map(|(row, _)| row).collect()
    }

    /// The ids of the text tokens, in order.
    pub fn text(&self) -> Vec<u32> {
        let text = self.slots.iter().filter_map(|slot| match slot {
            Slot::Text(id) => Some(*id),
            Slot::Visual(_) => None,
        });
        text.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mico_vision::Size;
    use mico_vision::layout::{Group, GroupKind, Patch, Region, VisualToken};

    fn grid(rows: usize, columns: usize) -> Extent {
        let groups = vec![Group { kind: GroupKind::Whole, rows, columns }];
        let token =
            |local| VisualToken { patch: Some(Patch { group: 0, local }), region: Region::EMPTY };
        let tokens = (0..rows * columns).map(token).collect();
        Extent::grid(&VisualLayout::new(Size::new(1, 1), groups, tokens).unwrap())
    }

    #[test]
    fn positions_of_images_on_a_grid() {
        // Two tokens, 2 x 3 visual ones, a token, 1 x 1, a token.
        let layout =
            PromptLayout::expand(&[1, 2, 9, 3, 9, 4], 9, &[grid(2, 3), grid(1, 1)]).unwrap();
        let axes: Vec<[u32; 3]> = layout.positions().iter().map(|p| p.axes()).collect();
        let expected = [
            [0, 0, 0],
            [1, 1, 1],
            [2, 2, 2],
            [2, 2, 3],
            [2, 2, 4],
            [2, 3, 2],
            [2, 3, 3],
            [2, 3, 4],
            [5, 5, 5],
            [6, 6, 6],
            [7, 7, 7],
        ];
        assert_eq!(axes, expected);
        assert_eq!((layout.next_position(), layout.len()), (8, 11));
        let later = layout.after(Some(7));
        assert_eq!(later.positions()[1].axes(), [1, 1, 1]);
        assert_eq!((later.next_position(), later.len()), (9, 12));
    }
}
