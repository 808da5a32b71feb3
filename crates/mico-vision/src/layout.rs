//! The visual layout: what every visual token of one image is and shows.
//!
//! This is the one value from which placeholder counts, positions, group budgets, cache lengths,
//! token usage and overlays derive. A layout lists the tokens in the model's own unpruned sequence
//! order; a visual token's index anywhere else in the project is its position in this list.
//!
//! A video is laid out as one sequence of frames. Its frames may differ in size: a token's region is
//! in pixels of its own frame, and the layout's image size is that of the first frame.

use crate::pixels::Size;

/// A rectangle of the source image (of a video: the token's own frame) in pixels; the right and bottom borders are exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Region {
    /// Left border.
    pub x0: f32,
    /// Top border.
    pub y0: f32,
    /// Right border.
    pub x1: f32,
    /// Bottom border.
    pub y1: f32,
}

impl Region {
    /// The region of a token that shows nothing of the image.
    pub const EMPTY: Self = Self { x0: 0.0, y0: 0.0, x1: 0.0, y1: 0.0 };

    /// Whether the region has no area.
    pub fn is_empty(&self) -> bool {
        !(self.x1 > self.x0 && self.y1 > self.y0)
    }
}

/// What a group of tokens is in its image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKind {
    /// The whole image in one view.
    Whole,
    /// The crop in this row and column of the tiling.
    Crop {
        /// Row of the tiling.
        row: usize,
        /// Column of the tiling.
        column: usize,
    },
    /// The tile in this row and column of a tiling that keeps no order across tiles.
    Tile {
        /// Row of the tiling.
        row: usize,
        /// Column of the tiling.
        column: usize,
    },
    /// The whole image once more, beside its tiles.
    Thumbnail,
    /// A frame of a video.
    Frame {
        /// Its number among the frames the model sees.
        index: usize,
    },
}

/// A natural group of tokens (view, crop, tile, frame): one grid of visual tokens.
///
/// Where the model merges or pools the tower's patches, a visual token stands for several of them
/// and is the unit here: "patch" in this module always means what one visual token shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// What the group is in its image.
    pub kind: GroupKind,
    /// Rows of its grid of visual tokens.
    pub rows: usize,
    /// Columns of its grid of visual tokens.
    pub columns: usize,
}

impl Group {
    /// Patches in the grid, whether or not the model's packing keeps them all.
    pub fn patches(&self) -> usize {
        self.rows * self.columns
    }

    /// The group's tokens in raster order, the group being number `index` of its layout; `region`
    /// says what the token in a row and column shows.
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

/// A patch: its group and its index inside the group in raster order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Patch {
    /// Index of the group.
    pub group: usize,
    /// `row * columns + column` inside the group.
    pub local: usize,
}

/// One entry of the visual sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VisualToken {
    /// The patch it comes from, `None` for a token the model inserts (a newline).
    pub patch: Option<Patch>,
    /// What it shows of the image.
    pub region: Region,
}

impl VisualToken {
    /// A token the model inserts between patches; it shows nothing.
    pub const NEWLINE: Self = Self { patch: None, region: Region::EMPTY };
}

/// Tokens that contradict the groups they are said to belong to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// A token names a patch its group does not have.
    #[error(
        "token {token} names patch {local} of group {group}, which has {patches} patches (0 if there is no such group)"
    )]
    NoSuchPatch {
        /// Position in the sequence.
        token: usize,
        /// The group it names.
        group: usize,
        /// The patch it names.
        local: usize,
        /// Patches of that group.
        patches: usize,
    },
    /// A patch occurs twice.
    #[error("patch {local} of group {group} occurs at both token {first} and token {second}")]
    Repeated {
        /// The group.
        group: usize,
        /// The patch.
        local: usize,
        /// Where it occurs first.
        first: usize,
        /// Where it occurs again.
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

    /// A layout whose tokens are known to be right; of a repeated patch the first place counts.
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

    /// Size of the source image; of a video, that of its first frame.
    pub fn image(&self) -> Size {
        self.image
    }

    /// N0: the length of the unpruned visual sequence.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there is no token at all.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The groups, the view of the whole image first where the family has one.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The tokens in sequence order.
    pub fn tokens(&self) -> &[VisualToken] {
        &self.tokens
    }

    /// The group of a token; `None` for an inserted token and beyond the sequence.
    pub fn group_of(&self, token: usize) -> Option<usize> {
        Some(self.tokens.get(token)?.patch?.group)
    }

    /// What a token shows; empty beyond the sequence.
    pub fn region(&self, token: usize) -> Region {
        self.tokens.get(token).map_or(Region::EMPTY, |token| token.region)
    }

    /// Where a patch stands in the sequence; `None` if the packing leaves it out.
    pub fn index_of(&self, patch: Patch) -> Option<usize> {
        *self.places.get(patch.group)?.get(patch.local)?
    }

    /// Number of tokens each group has in the sequence.
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
