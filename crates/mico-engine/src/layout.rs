//! The prompt layout: what stands at every position of the unpruned prompt.
//!
//! Prompt length, positions, placeholder counts, cache lengths and token usage all derive from this
//! one value and a list of kept visual tokens; nothing else counts.

use std::ops::Range;

use crate::error::{Error, Result};

/// What stands at one position of the unpruned prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// A text token's id.
    Text(u32),
    /// A visual token, numbered through all images of the prompt.
    Visual(usize),
}

/// A prompt with its image placeholders expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptLayout {
    slots: Vec<Slot>,
    /// First visual token of each image, and the total.
    offsets: Vec<usize>,
}

impl PromptLayout {
    /// Replaces the i-th `placeholder` among `ids` by the i-th image's number of visual tokens.
    ///
    /// ```
    /// use mico_engine::PromptLayout;
    /// let layout = PromptLayout::expand(&[1, 9, 5], 9, &[4])?;
    /// assert_eq!((layout.len(), layout.visual_tokens()), (6, 4));
    /// assert_eq!(layout.rows(&[0, 3]), [0, 1, 4, 5]);
    /// assert!(PromptLayout::expand(&[1, 5], 9, &[4]).is_err());
    /// # Ok::<(), mico_engine::Error>(())
    /// ```
    pub fn expand(ids: &[u32], placeholder: u32, images: &[usize]) -> Result<Self> {
        let placeholders = ids.iter().filter(|&&id| id == placeholder).count();
        if placeholders != images.len() {
            return Err(Error::Placeholders { placeholders, images: images.len() });
        }
        let mut offsets = vec![0];
        let mut slots = Vec::with_capacity(ids.len() + images.iter().sum::<usize>());
        let mut sizes = images.iter();
        for &id in ids {
            match (id == placeholder).then(|| sizes.next()).flatten() {
                Some(size) => {
                    let start = offsets.last().copied().unwrap_or(0);
                    slots.extend((start..start + size).map(Slot::Visual));
                    offsets.push(start + size);
                }
                None => slots.push(Slot::Text(id)),
            }
        }
        if slots.is_empty() {
            return Err(Error::range("prompt", "empty", "at least 1 token"));
        }
        Ok(Self { slots, offsets })
    }

    /// The prompt with a text token before it: the end of an answer that no cache holds yet.
    pub(crate) fn after(mut self, pending: Option<u32>) -> Self {
        self.slots.splice(0..0, pending.map(Slot::Text));
        self
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

    /// Number of images.
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
