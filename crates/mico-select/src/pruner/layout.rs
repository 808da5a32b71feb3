//! The layout of an image's visual tokens: groups, their grids, and the order of the sequence.

use std::collections::BTreeSet;

use crate::error::{Error, Result};

/// The grid of tokens of a natural group (view, crop, tile, frame).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenGrid {
    /// The number of rows of tokens.
    pub rows: usize,
    /// The number of tokens in each row.
    pub columns: usize,
}

impl TokenGrid {
    /// The number of grid cells, `rows * columns`.
    pub const fn size(&self) -> usize {
        self.rows.saturating_mul(self.columns)
    }
}

/// A token's place: its group, and its cell in the group's grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenPlace {
    /// The index of the group in the layout.
    pub group: usize,
    /// `row * columns + column` in the group's grid.
    pub local: usize,
}

/// The visual tokens of one image (or video) in the order of the model's unpruned sequence.
///
/// A model may leave grid cells out (padding), and may insert tokens that belong to no group
/// (newlines); a selection keeps inserted tokens only where an image stays whole.
///
/// ```
/// use mico_select::pruner::{TokenGrid, TokenLayout};
/// let layout = TokenLayout::raster(vec![TokenGrid { rows: 2, columns: 3 }; 2]);
/// assert_eq!((layout.len(), layout.sizes()), (12, vec![6, 6]));
/// assert_eq!(layout.members(1), [6, 7, 8, 9, 10, 11]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenLayout {
    grids: Vec<TokenGrid>,
    places: Vec<Option<TokenPlace>>,
    members: Vec<Vec<usize>>,
}

impl TokenLayout {
    /// The tokens in sequence order, `None` for one that belongs to no group. An error if a place does
    /// not exist or is taken twice.
    pub fn new(grids: Vec<TokenGrid>, places: Vec<Option<TokenPlace>>) -> Result<Self> {
        let mut members = vec![Vec::new(); grids.len()];
        let mut taken = BTreeSet::new();
        for (token, place) in places.iter().enumerate() {
            let Some(TokenPlace { group, local }) = *place else { continue };
            let size = grids.get(group).map_or(0, TokenGrid::size);
            if local >= size || !taken.insert((group, local)) {
                return Err(misplaced(token, group, local));
            }
            members[group].push(token);
        }
        Ok(Self { grids, places, members })
    }

    /// The grids one after another, each in raster order, without gaps or inserted tokens.
    pub fn raster(grids: Vec<TokenGrid>) -> Self {
        let (mut places, mut members) = (Vec::new(), Vec::new());
        for (group, grid) in grids.iter().enumerate() {
            let size = grid.size();
            members.push((places.len()..places.len() + size).collect());
            places.extend((0..size).map(|local| Some(TokenPlace { group, local })));
        }
        Self { grids, places, members }
    }

    /// N0: the number of visual tokens in the unpruned sequence.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the sequence has no token.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The groups' grids, whether or not the sequence has a token for every cell.
    pub fn grids(&self) -> &[TokenGrid] {
        &self.grids
    }

    /// The number of groups (views, crops, tiles or frames).
    pub fn groups(&self) -> usize {
        self.grids.len()
    }

    /// The group of a token; `None` for an inserted token, and beyond the sequence.
    pub fn group_of(&self, token: usize) -> Option<usize> {
        Some((*self.places.get(token)?)?.group)
    }

    /// The tokens of a group, ascending; empty beyond the last group.
    pub fn members(&self, group: usize) -> &[usize] {
        self.members.get(group).map_or(&[], Vec::as_slice)
    }

    /// The number of tokens of each group, inserted tokens not counted.
    pub fn sizes(&self) -> Vec<usize> {
        self.members.iter().map(Vec::len).collect()
    }

    /// The number of tokens that belong to a group: all but the inserted ones.
    pub fn grouped(&self) -> usize {
        self.members.iter().map(Vec::len).sum()
    }

    /// Tokens per row of a group, counted in its first row; fewer than the grid's without padding.
    pub fn columns(&self, group: usize) -> Option<usize> {
        let wide = self.grids.get(group)?.columns.max(1);
        let row = |&token: &usize| self.places[token].map(|place| place.local / wide);
        let mut rows = self.members(group).iter().map(row);
        let first = rows.next()?;
        Some(1 + rows.filter(|row| *row == first).count())
    }
}

fn misplaced(token: usize, group: usize, local: usize) -> Error {
    let found = format!("{local} of group {group} for token {token}");
    Error::range("the place of a visual token", found, "places of the group's grid, each once")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(places: &[(usize, usize)]) -> Vec<Option<TokenPlace>> {
        places.iter().map(|&(group, local)| Some(TokenPlace { group, local })).collect()
    }

    #[test]
    fn groups_may_be_interleaved_and_incomplete() {
        let grids = vec![TokenGrid { rows: 2, columns: 2 }, TokenGrid { rows: 2, columns: 3 }];
        let mut places = places(&[(1, 1), (0, 0), (1, 2), (0, 3), (1, 5)]);
        places.insert(2, None);
        let layout = TokenLayout::new(grids, places).unwrap();
        assert_eq!((layout.len(), layout.grouped(), layout.sizes()), (6, 5, vec![2, 3]));
        assert_eq!((layout.members(0), layout.members(1)), (&[1, 4][..], &[0, 3, 5][..]));
        assert_eq!(
            (layout.group_of(2), layout.group_of(3), layout.group_of(9)),
            (None, Some(1), None)
        );
        assert_eq!(
            (layout.columns(0), layout.columns(1), layout.columns(2)),
            (Some(1), Some(2), None)
        );
    }

    #[test]
    fn places_that_do_not_exist_or_repeat_are_refused() {
        let grids = || vec![TokenGrid { rows: 1, columns: 2 }];
        for wrong in [&[(0, 2)][..], &[(1, 0)], &[(0, 0), (0, 0)]] {
            let error = TokenLayout::new(grids(), places(wrong)).unwrap_err().to_string();
            assert!(error.contains("each once"), "{error}");
        }
    }
}
