//! Kernel columns on demand: all at once where memory allows, else recomputed in batches.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::{Gram, TILE};
use crate::error::{Error, Result};
use crate::progress::Progress;

/// Columns computed together when one is missing: enough to be bound by arithmetic, not memory.
const BATCH: usize = TILE;
/// The fewest columns a store holds: two batches, so that a batch never evicts itself.
const MIN_COLUMNS: usize = 2 * BATCH;
/// Marks an empty slot in `held`, and a column without a slot in `slot_of`.
const NONE: usize = usize::MAX;

/// Turns the cosines of column `i` into kernel values, in place.
type Map<'a> = dyn Fn(usize, &mut [f32]) + Sync + 'a;

/// The columns of a kernel that is an entry-wise function of the cosines, cached within a memory limit.
pub(crate) struct Columns<'a> {
    gram: &'a Gram,
    map: &'a Map<'a>,
    values: Vec<f32>,
    slots: Slots,
    missing: Vec<usize>,
    spent: Duration,
}

enum Slots {
    /// Every column is held; column `i` is in slot `i`.
    All,
    /// A cache in which the least recently used column is evicted first.
    Recent { slot_of: Vec<usize>, held: Vec<usize>, used: Vec<u64>, clock: u64 },
}

impl<'a> Columns<'a> {
    /// Holds all columns if they fit in `memory` bytes, else as many as do.
    pub(crate) fn new(
        gram: &'a Gram,
        map: &'a Map<'a>,
        memory: usize,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let start = Instant::now();
        let n = gram.len();
        let column = n * size_of::<f32>();
        let batch = 2 * BATCH * column;
        if n.checked_mul(column).is_some_and(|all| all <= memory) {
            let mut values = gram.cosines_reporting(progress);
            values.par_chunks_mut(n).enumerate().for_each(|(i, column)| map(i, column));
            let slots = Slots::All;
            let missing = Vec::new();
            return Ok(Self { gram, map, values, slots, missing, spent: start.elapsed() });
        }
        let capacity = memory.saturating_sub(batch) / column;
        if capacity < MIN_COLUMNS.min(n) {
            return Err(Error::Memory { limit: memory, needed: least_memory(n) });
        }
        let slots = Slots::Recent {
            slot_of: vec![NONE; n],
            held: vec![NONE; capacity],
            used: vec![0; capacity],
            clock: 0,
        };
        let values = vec![0.0; capacity * n];
        let missing = Vec::with_capacity(BATCH);
        Ok(Self { gram, map, values, slots, missing, spent: start.elapsed() })
    }

    /// The number of columns `N`, which is also the number of entries in each.
    pub(crate) fn len(&self) -> usize {
        self.gram.len()
    }

    /// Whether every column is held, so that nothing is ever recomputed.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.slots, Slots::All)
    }

    /// Time spent on computing similarities so far.
    pub(crate) fn spent(&self) -> Duration {
        self.spent
    }

    /// Adds time spent on the same kernel elsewhere, for the report of seconds.
    pub(crate) fn add_spent(&mut self, time: Duration) {
        self.spent += time;
    }

    /// Whether column `i` is in memory now.
    pub(crate) fn holds(&self, i: usize) -> bool {
        match &self.slots {
            Slots::All => true,
            Slots::Recent { slot_of, .. } => slot_of[i] != NONE,
        }
    }

    /// The most columns one [`Columns::fetch`] may ask for.
    pub(crate) const fn batch() -> usize {
        BATCH
    }

    /// Makes sure the columns `wanted`, at most a batch, are held.
    pub(crate) fn fetch(&mut self, wanted: &[usize]) {
        let Slots::Recent { slot_of, held, used, clock } = &mut self.slots else {
            return;
        };
        let start = Instant::now();
        *clock += 1;
        self.missing.clear();
        for &i in wanted {
            match slot_of[i] {
                NONE => self.missing.push(i),
                slot => used[slot] = *clock,
            }
        }
        if self.missing.is_empty() {
            return;
        }
        let n = self.gram.len();
        let mut fresh = vec![0.0; self.missing.len() * n];
        self.gram.gather(&self.missing, &mut fresh);
        let map = self.map;
        let indexed = self.missing.par_iter().zip(fresh.par_chunks_mut(n));
        indexed.for_each(|(&i, column)| map(i, column));
        let mut oldest: Vec<usize> = (0..held.len()).collect();
        let victims = self.missing.len();
        if victims < oldest.len() {
            oldest.select_nth_unstable_by_key(victims - 1, |&slot| (used[slot], slot));
        }
        for ((&i, column), &slot) in self.missing.iter().zip(fresh.chunks_exact(n)).zip(&oldest) {
            if held[slot] != NONE {
                slot_of[held[slot]] = NONE;
            }
            held[slot] = i;
            slot_of[i] = slot;
            used[slot] = *clock;
            self.values[slot * n..(slot + 1) * n].copy_from_slice(column);
        }
        self.spent += start.elapsed();
    }

    /// Column `i`, which must be held (see [`Columns::fetch`]).
    pub(crate) fn held(&self, i: usize) -> &[f32] {
        let n = self.gram.len();
        let slot = match &self.slots {
            Slots::All => i,
            Slots::Recent { slot_of, .. } => slot_of[i],
        };
        &self.values[slot * n..(slot + 1) * n]
    }

    /// Column `i`, computed now if it is not held.
    pub(crate) fn get(&mut self, i: usize) -> &[f32] {
        if !self.holds(i) {
            self.fetch(&[i]);
        }
        self.held(i)
    }

    /// Marks column `i` as the first to be evicted: a picked token's column is not read again.
    pub(crate) fn release(&mut self, i: usize) {
        if let Slots::Recent { slot_of, used, .. } = &mut self.slots
            && slot_of[i] != NONE
        {
            used[slot_of[i]] = 0;
        }
    }
}

/// The least bytes of columns with which a selection from `n` tokens can run.
pub(crate) fn least_memory(n: usize) -> usize {
    let columns = n.min(2 * BATCH + MIN_COLUMNS);
    columns.saturating_mul(n).saturating_mul(size_of::<f32>())
}
