//! The similarity kernel of a group's features, computed and cached within a memory limit.

use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::gram::{Columns, Gram, Sketch, least_memory, packed_bytes};
use crate::progress::Progress;
use crate::selector::Context;
use crate::signal::Signal;
use crate::tokens::Tokens;

/// The packed unit vectors of a group's features, and the memory left for the kernel's columns.
pub(crate) struct Kernel<'a> {
    pub(crate) gram: Gram,
    memory: usize,
    progress: Progress<'a>,
    packing: Duration,
}

impl<'a> Kernel<'a> {
    /// Packs the features of a group; an error if not even the fewest columns would fit beside them.
    pub(crate) fn of(tokens: &Tokens<'_>, context: &Context<'a>) -> Result<Self> {
        Self::beside(tokens, context, 0)
    }

    /// Like [`Kernel::of`], where the rule itself takes `reserved` bytes of the memory.
    pub(crate) fn beside(
        tokens: &Tokens<'_>,
        context: &Context<'a>,
        reserved: usize,
    ) -> Result<Self> {
        let features = tokens.rows(Signal::Features)?;
        let limit = context.memory.saturating_sub(reserved);
        let packed = packed_bytes(features.len(), features.cols());
        let least = least_memory(features.len());
        let needed = packed.saturating_add(least);
        let left = limit.checked_sub(packed).filter(|&left| left >= least);
        let memory = left.ok_or(Error::Memory { limit, needed })?;
        let start = Instant::now();
        let gram = Gram::pack(&features);
        Ok(Self { gram, memory, progress: context.progress, packing: start.elapsed() })
    }

    /// The columns of plain cosines, in `[-1, 1]`.
    pub(crate) fn cosines(&self) -> Result<Columns<'_>> {
        self.mapped(&|_, _| {})
    }

    /// The columns of cosines, each modified in place by `map(token, column)`.
    pub(crate) fn mapped<'k>(
        &'k self,
        map: &'k (dyn Fn(usize, &mut [f32]) + Sync + 'k),
    ) -> Result<Columns<'k>> {
        self.columns(map, self.memory)
    }

    /// The columns of `[cos]₊`; where not all fit in memory, with a sketch that bounds the others.
    pub(crate) fn positive(&self) -> Result<(Columns<'_>, Option<Sketch>)> {
        let n = self.gram.len();
        let whole = n.saturating_mul(n).saturating_mul(size_of::<f32>());
        let left = self.memory.checked_sub(Sketch::bytes(n));
        match left.filter(|&left| left >= least_memory(n)) {
            Some(left) if whole > self.memory => {
                let start = Instant::now();
                let sketch = Sketch::new(&self.gram, &self.progress);
                let sketching = start.elapsed();
                let mut columns = self.columns(&positive, left)?;
                columns.add_spent(sketching);
                Ok((columns, Some(sketch)))
            }
            _ => Ok((self.columns(&positive, self.memory)?, None)),
        }
    }

    /// `Σ_v weight_v [cos(v, i)]₊` of every token `i`.
    pub(crate) fn positive_sums(&self, weights: &[f64]) -> Vec<f64> {
        self.gram.weighted_sums(weights, |cosine| f64::from(cosine.max(0.0)))
    }

    fn columns<'k>(
        &'k self,
        map: &'k (dyn Fn(usize, &mut [f32]) + Sync + 'k),
        memory: usize,
    ) -> Result<Columns<'k>> {
        let mut columns = Columns::new(&self.gram, map, memory, &self.progress)?;
        columns.add_spent(self.packing);
        Ok(columns)
    }
}

/// Clamps a column of cosines at 0 from below, in place.
fn positive(_token: usize, column: &mut [f32]) {
    for k in column {
        *k = k.max(0.0);
    }
}
