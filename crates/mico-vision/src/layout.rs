//! The visual layout: for every visual token of an image, its group and the region it shows.
//!
//! This is the one value from which placeholder counts, positions, group budgets, cache lengths,
//! token usage and overlays derive. A layout lists the tokens in the model's own unpruned sequence
//! order; a visual token's index anywhere else in the project is its position in this list.
//!
//! A video is laid out as one sequence of frames. Its frames may differ in size: a token's region is
//! in pixels of its own frame, and the layout's image size is that of the first frame.

use crate::pixels::Size;

/// A rectangle of the source image (of a video: the token's own frame) in pixels, end-exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Region {
    /// Left border, in pixels from the left edge; inclusive.
    pub x0: f32,
    /// Top border, in pixels from the upper edge; inclusive.
    pub y0: f32,
    /// Right border, in pixels from the left edge; exclusive.
    pub x1: f32,
    /// Bottom border, in pixels from the upper edge; exclusive.
    pub y1: f32,
}

impl Region {
    /// The region of a token that shows nothing of the image.
    pub const EMPTY: Self = Self { x0: 0.0, y0: 0.0, x1: 0.0, y1: 0.0 };

    /// Whether the region has no area, as for padding and inserted tokens.
    pub fn is_empty(&self) -> bool {
        !(self.x1 > self.x0 && self.y1 > self.y0)
    }
}

/// The role of a group of tokens in its image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKind {
    /// The whole image in one view (LLaVA's base view, Qwen's only one).
    Whole,
    /// A crop of a tiling whose crops are stitched into one grid (LLaVA-NeXT).
    Crop {
        /// The crop's row in the tiling, counted from 0.
        row: usize,
        /// The crop's column in the tiling, counted from 0.
        column: usize,
    },
    /// A tile whose tokens stay together in the sequence (InternVL).
    Tile {
        /// The tile's row in the tiling, counted from 0.
        row: usize,
        /// The tile's column in the tiling, counted from 0.
        column: usize,
    },
    /// The whole image in one more tile, after the others (InternVL).
    Thumbnail,
    /// A frame of a video (LLaVA-Video).
    Frame {
        /// The frame's number among those the model sees, counted from 0.
        index: usize,
    },
}

/// A natural group of tokens (view, crop, tile, frame): one grid of visual tokens.
///
/// Where the model merges or pools the tower's patches, a visual token stands for several of them
/// and is the unit here: "patch" in this module always means what one visual token shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// The role of the group in its image.
    pub kind: GroupKind,
    /// Rows of the group's grid of visual tokens.
    pub rows: usize,
    /// Columns of the group's grid of visual tokens.
    pub columns: usize,
}

impl Group {
    /// The number of patches in the grid, whether or not the model's packing keeps them all.
    pub fn patches(&self) -> usize {
        self.rows * self.columns
    }

    /// The group's tokens in raster order; `index` is the group's number in its layout, and `region`
    /// returns what the token in a row and column shows.
    pub(crate) fn tokens(
        &self,
        index: usize,
        region: impl Fn(usize, usize) -> Region,
    ) -> impl Iterator<Item = VisualToken> {
        let columns = self.columns;
        (0..self.patches()).map(move |local| VisualToken {
            patch: Some(Patch { group: index, local }),
            region: region(local / columns, local % columns),
        })
    }
}

/// A patch, identified by its group and its raster index inside the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Patch {
    /// The group's index in the layout.
    pub group: usize,
    /// `row * columns + column` inside the group.
    pub local: usize,
}

/// One token of the visual sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VisualToken {
    /// The patch it comes from, `None` for a token the model inserts (a newline).
    pub patch: Option<Patch>,
    /// The region of the source image it shows, empty for an inserted token.
    pub region: Region,
}

impl VisualToken {
    /// A token the model inserts at the end of a row; it shows nothing of the image.
    pub const NEWLINE: Self = Self { patch: None, region: Region::EMPTY };
}

/// Why tokens do not fit the groups they are said to belong to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// A token names a patch its group does not have.
    #[error(
        "token {token} names patch {local} of group {group}, which has {patches} patches (0 if there is no such group)"
    )]
    NoSuchPatch {
        /// The token's position in the sequence.
        token: usize,
        /// The group index it names.
        group: usize,
        /// The patch index it names.
        local: usize,
        /// The number of patches of that group, 0 if there is no such group.
        patches: usize,
    },
    /// Two tokens name the same patch.
    #[error("patch {local} of group {group} occurs at both token {first} and token {second}")]
    Repeated {
        /// The group index of the patch.
        group: usize,
        /// The patch's index inside the group.
        local: usize,
        /// The sequence position of its first token.
        first: usize,
        /// The sequence position of its second token.
        second: usize,
    },
}

/// The visual tokens of one image in the model's unpruned sequence order.
#[derive(Debug, Clone, PartialEq)]
pub struct VisualLayout {
    image: Size,
    groups: Vec<Group>,
    tokens: Vec<VisualToken>,
    places: Vec<Vec<Option<usize>>>,
}

impl VisualLayout {
    /// A layout of `tokens` over an image of size `image`. No patch may occur twice; patches that a
    /// model's packing leaves out simply do not occur.
    pub fn new(
        image: Size,
        groups: Vec<Group>,
        tokens: Vec<VisualToken>,
    ) -> Result<Self, LayoutError> {
        let layout = Self::trusted(image, groups, tokens);
        for (token, patch) in layout.tokens.iter().enumerate() {
            let Some(patch) = patch.patch else { continue };
            let Patch { group, local } = patch;
            let patches = layout.groups.get(group).map_or(0, Group::patches);
            match layout.index_of(patch) {
                None => return Err(LayoutError::NoSuchPatch { token, group, local, patches }),
                Some(first) if first != token => {
                    return Err(LayoutError::Repeated { group, local, first, second: token });
                }
                Some(_) => {}
            }
        }
        Ok(layout)
    }

    /// A layout from tokens that are known to be valid; of a repeated patch the first place counts.
    pub(crate) fn trusted(image: Size, groups: Vec<Group>, tokens: Vec<VisualToken>) -> Self {
        let mut places: Vec<Vec<Option<usize>>> =
            groups.iter().map(|group| vec![None; group.patches()]).collect();
        for (token, patch) in tokens.iter().enumerate() {
            let Some(Patch { group, local }) = patch.patch else { continue };
            if let Some(place) = places.get_mut(group).and_then(|group| group.get_mut(local)) {
                place.get_or_insert(token);
            }
        }
        Self { image, groups, tokens, places }
    }

    /// Size of the source image; for a video, that of its first frame.
    pub fn image(&self) -> Size {
        self.image
    }

    /// N0: the number of visual tokens in the unpruned sequence.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether the sequence has no token.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The groups; the view of the whole image is first in families that begin with one.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The tokens in the order of the unpruned sequence.
    pub fn tokens(&self) -> &[VisualToken] {
        &self.tokens
    }

    /// The group of a token; `None` for an inserted token and beyond the sequence.
    pub fn group_of(&self, token: usize) -> Option<usize> {
        Some(self.tokens.get(token)?.patch?.group)
    }

    /// The region of the source image that a token shows; empty beyond the sequence.
    pub fn region(&self, token: usize) -> Region {
        self.tokens.get(token).map_or(Region::EMPTY, |token| token.region)
    }

    /// The sequence position of a patch; `None` if the packing leaves it out.
    pub fn index_of(&self, patch: Patch) -> Option<usize> {
        *self.places.get(patch.group)?.get(patch.local)?
    }

    /// The number of tokens each group has in the sequence.
    pub fn group_sizes(&self) -> Vec<usize> {
        self.places.iter().map(|group| group.iter().flatten().count()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(group: usize, local: usize) -> VisualToken {
        VisualToken { patch: Some(Patch { group, local }), region: Region::EMPTY }
    }

    fn groups() -> Vec<Group> {
        vec![Group { kind: GroupKind::Whole, rows: 1, columns: 2 }]
    }

    #[test]
    fn finds_patches_and_groups() {
        let tokens = vec![token(0, 1), VisualToken::NEWLINE];
        let layout = VisualLayout::new(Size::new(1, 1), groups(), tokens).unwrap();
        assert_eq!((layout.len(), layout.group_sizes()), (2, vec![1]));
        assert_eq!(layout.index_of(Patch { group: 0, local: 1 }), Some(0));
        assert_eq!(layout.index_of(Patch { group: 0, local: 0 }), None);
        assert_eq!(
            (layout.group_of(0), layout.group_of(1), layout.group_of(9)),
            (Some(0), None, None)
        );
    }

    #[test]
    fn refuses_contradictions() {
        let size = Size::new(1, 1);
        let stray = VisualLayout::new(size, groups(), vec![token(0, 2)]).unwrap_err();
        assert_eq!(
            stray.to_string(),
            "token 0 names patch 2 of group 0, which has 2 patches (0 if there is no such group)"
        );
        let twice = VisualLayout::new(size, groups(), vec![token(0, 0), token(0, 0)]).unwrap_err();
        assert!(matches!(twice, LayoutError::Repeated { first: 0, second: 1, .. }));
    }
}
