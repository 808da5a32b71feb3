//! Budgets and schedules: from a layer-average number of visual tokens to exact counts.
//!
//! With `N0` visual tokens, `L` decoder blocks and refinement after block `K`, Stage 1 keeps a
//! pool of `N1 = min(nT, N0)` tokens (split over natural groups) and Stage 2 keeps
//!
//! `R = clip(round((T L − K N1) / (L − K)), 1, N1)`,
//!
//! so that `(K N1 + (L − K) R) / L` is `T` up to rounding (halves to even).

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::groups::{Remainder, split_budget};
use crate::rank::round_ratio;

/// The default size of the Stage-1 pool, as a multiple of the budget.
pub const DEFAULT_POOL: usize = 2;

/// How many visual tokens to keep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Budget {
    /// The layer-average number of tokens `T`, per image, or per frame of a video.
    Tokens(usize),
    /// The same as a fraction of the unpruned count `N0`, in `(0, 1]`.
    Share(f64),
}

impl Budget {
    /// `T` for an input of `unit` visual tokens (an image's, or one frame's).
    ///
    /// ```
    /// use mico_select::schedule::Budget;
    /// assert_eq!(Budget::Share(0.111).tokens(576)?, 64);
    /// # Ok::<(), mico_select::Error>(())
    /// ```
    pub fn tokens(self, unit: usize) -> Result<usize> {
        let refused = |what, found: String, accepted: &str| {
            Err(Error::OutOfRange { what, found, accepted: accepted.into() })
        };
        match self {
            Self::Tokens(0) => refused("budget", "0".into(), "at least 1 token"),
            Self::Tokens(tokens) => Ok(tokens),
            Self::Share(share) if share > 0.0 && share <= 1.0 => {
                Ok(((share * unit as f64).round_ties_even() as usize).max(1))
            }
            Self::Share(share) => refused("keep", share.to_string(), "a share in (0, 1]"),
        }
    }
}

/// Which Stage-1 count the refinement count is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolBasis {
    /// The number of tokens Stage 1 really leaves, after splitting and clipping.
    Realized,
    /// The number asked for, `nT`, before it is split over groups and clipped.
    Nominal,
}

/// What happens when no count in `[1, N1]` meets the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutOfRange {
    /// The nearest count in the range is used, so the budget is missed slightly.
    Clip,
    /// The request fails with [`Error::Schedule`].
    Refuse,
}

/// How one model family turns a budget into counts. Made by [`Policy::realized`] or
/// [`Policy::nominal`]; what else differs is set afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The number of decoder blocks `L`.
    pub layers: usize,
    /// Refinement block `K`, counted from 1; Stage 2 prunes on its output.
    pub refine_layer: usize,
    /// Which Stage-1 count `R` is computed from.
    pub basis: PoolBasis,
    /// What happens to tokens left over when the pool is divided among groups.
    pub remainder: Remainder,
    /// What happens when the budget cannot be met.
    pub out_of_range: OutOfRange,
}

/// The exact token counts of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Visual tokens before pruning, `N0`.
    pub visual_tokens: usize,
    /// Tokens of each group that Stage 1 keeps; their sum is `N1`.
    pub pool: Vec<usize>,
    /// Tokens that Stage 2 keeps, `R`, over all groups.
    pub keep: usize,
    /// The number of decoder blocks `L`.
    pub layers: usize,
    /// The number of decoder blocks that run on the Stage-1 pool, `K`.
    pub refine_layer: usize,
}

impl Schedule {
    /// The number of tokens Stage 1 keeps over all groups, `N1`.
    pub fn pooled(&self) -> usize {
        self.pool.iter().sum()
    }

    /// The realized layer average `(K N1 + (L − K) R) / L`.
    pub fn layer_average(&self) -> f64 {
        let before = (self.refine_layer * self.pooled()) as f64;
        let after = ((self.layers - self.refine_layer) * self.keep) as f64;
        (before + after) / self.layers as f64
    }
}

impl Policy {
    /// The refinement count follows from the Stage-1 count that is really kept; tokens left over by the
    /// split over groups are not used, and budgets that cannot be met are clipped.
    pub const fn realized(layers: usize, refine_layer: usize) -> Self {
        Self {
            layers,
            refine_layer,
            basis: PoolBasis::Realized,
            remainder: Remainder::Drop,
            out_of_range: OutOfRange::Clip,
        }
    }

    /// Like [`Policy::realized`], but the refinement count follows from the pool that was asked for.
    pub const fn nominal(layers: usize, refine_layer: usize) -> Self {
        Self { basis: PoolBasis::Nominal, ..Self::realized(layers, refine_layer) }
    }

    /// An image's schedule: `budget` tokens over groups of `sizes`, Stage-1 pool `pool x budget`.
    pub fn image(&self, budget: usize, sizes: &[usize], pool: usize) -> Result<Schedule> {
        let shares = split_budget(pool.saturating_mul(budget), sizes, self.remainder);
        self.schedule(budget, budget, sizes, pool, shares)
    }

    /// A video's schedule: `budget` tokens for each of the frames of `sizes`.
    pub fn video(&self, budget: usize, sizes: &[usize], pool: usize) -> Result<Schedule> {
        let share = pool.saturating_mul(budget);
        let shares = sizes.iter().map(|&size| share.min(size)).collect();
        self.schedule(budget, budget.saturating_mul(sizes.len()), sizes, pool, shares)
    }

    fn schedule(
        &self,
        budget: usize,
        total: usize,
        sizes: &[usize],
        multiple: usize,
        pool: Vec<usize>,
    ) -> Result<Schedule> {
        self.check(budget, sizes, multiple)?;
        let pooled: usize = pool.iter().sum();
        let basis = match self.basis {
            PoolBasis::Realized => pooled,
            PoolBasis::Nominal => multiple.saturating_mul(total),
        };
        let (l, k) = (self.layers as i128, self.refine_layer as i128);
        let rest = total as i128 * l - k * basis as i128;
        let wanted = round_ratio(rest, l - k);
        let keep = wanted.clamp(1, pooled as i128);
        if keep != wanted && self.out_of_range == OutOfRange::Refuse {
            return Err(Error::Schedule {
                reason: format!(
                    "R = round(({l} x {total} - {k} x {basis}) / {}) = {wanted} lies outside \
                     [1, {pooled}]; budget, pool and refine-layer decide",
                    l - k
                ),
            });
        }
        Ok(Schedule {
            visual_tokens: sizes.iter().sum(),
            pool,
            keep: keep as usize,
            layers: self.layers,
            refine_layer: self.refine_layer,
        })
    }

    fn check(&self, budget: usize, sizes: &[usize], multiple: usize) -> Result<()> {
        let refused = |what, found: usize, accepted: String| {
            Err(Error::OutOfRange { what, found: found.to_string(), accepted })
        };
        if budget == 0 {
            return refused("budget", budget, "at least 1 token".into());
        }
        if multiple == 0 {
            return refused("pool", multiple, "a multiple of at least 1".into());
        }
        if self.layers < 2 {
            let reason = format!("{} decoder block leaves no room for refinement", self.layers);
            return Err(Error::Schedule { reason });
        }
        if self.refine_layer == 0 || self.refine_layer >= self.layers {
            let accepted = format!("1 to {}", self.layers.saturating_sub(1));
            return refused("refine-layer", self.refine_layer, accepted);
        }
        match sizes.iter().position(|&size| size == 0) {
            Some(group) => refused("empty group", group, "groups of at least 1 token".into()),
            None if sizes.is_empty() => refused("number of groups", 0, "at least 1".into()),
            None => Ok(()),
        }
    }
}
