//! Merging dropped tokens into the kept token they resemble most, as several methods do.

use crate::gram::Gram;
use crate::selection::Merge;
use crate::signal::Signal;
use crate::tokens::Tokens;

/// Targets compared at once, which bounds the memory of their similarity columns.
const CHUNK: usize = 96;

/// For each token of `members`, the position in `targets` of the most cosine-similar one; the
/// first among equals. `targets` must not be empty.
pub(super) fn by_cosine(gram: &Gram, members: &[usize], targets: &[usize]) -> Vec<usize> {
    let mut best = vec![(f32::NEG_INFINITY, 0); members.len()];
    for (chunk, tokens) in targets.chunks(CHUNK).enumerate() {
        let columns = gram.columns(tokens);
        for (slot, column) in columns.chunks_exact(gram.len()).enumerate() {
            for (best, &member) in best.iter_mut().zip(members) {
                if column[member] > best.0 {
                    *best = (column[member], chunk * CHUNK + slot);
                }
            }
        }
    }
    best.into_iter().map(|(_, position)| position).collect()
}

/// The members assigned to each target, in the order of `members`.
pub(super) fn collect(members: &[usize], joins: &[usize], targets: usize) -> Vec<Vec<usize>> {
    let mut sources = vec![Vec::new(); targets];
    for (&member, &target) in members.iter().zip(joins) {
        sources[target].push(member);
    }
    sources
}

/// A merge to the plain mean of a target and its sources.
pub(super) fn mean(target: usize, sources: Vec<usize>) -> Merge {
    let share = 1.0 / (sources.len() + 1) as f64;
    Merge { target, own: share, shares: vec![share; sources.len()], sources }
}

/// Every index of `0..n` that is not in `kept`, ascending.
pub(super) fn others(n: usize, kept: &[usize]) -> Vec<usize> {
    let mut is_kept = vec![false; n];
    kept.iter().for_each(|&i| is_kept[i] = true);
    (0..n).filter(|&i| !is_kept[i]).collect()
}

/// Packs a signal of the group for cosine similarities.
pub(super) fn pack(tokens: &Tokens<'_>, signal: Signal) -> crate::error::Result<Gram> {
    Ok(Gram::pack(&tokens.rows(signal)?))
}
