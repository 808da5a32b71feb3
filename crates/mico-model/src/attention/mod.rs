//! Softmax attention in row tiles: only the scores of some query rows exist at a time, never a whole
//! heads x N x N map.

mod decode;
mod heads;
mod prefill;
mod tiled;

pub(crate) use tiled::{AttentionInput, attention, attention_rows};

/// Largest number of scores that exist at once (16 MiB of f32), unless a single row of all heads
/// is longer.
pub(crate) const SCORE_TILE: usize = 1 << 22;

/// The most query rows per tile: smaller tiles skip more of what the causal mask hides.
const MAX_TILE_ROWS: usize = 128;

/// The number of query rows whose scores against `keys` keys in `heads` heads fit into [`SCORE_TILE`].
pub(crate) fn tile_rows(heads: usize, keys: usize) -> usize {
    (SCORE_TILE / (heads * keys).max(1)).max(1)
}
