//! Attention in row tiles: scores of a bounded number of query rows exist at a time, never a whole
//! heads x N x N map.

mod decode;
mod heads;
mod prefill;
mod tiled;

pub(crate) use tiled::{AttentionInput, attention};

/// Largest number of scores that exist at once (16 MiB of f32), unless a single row of all heads
/// is longer.
pub(crate) const SCORE_TILE: usize = 1 << 22;

/// Query rows per tile at most: smaller tiles skip more of what causality hides.
const MAX_TILE_ROWS: usize = 128;

/// Query rows whose scores against `keys` keys in `heads` heads fit into [`SCORE_TILE`].
pub(crate) fn tile_rows(heads: usize, keys: usize) -> usize {
    (SCORE_TILE / (heads * keys).max(1)).max(1)
}
