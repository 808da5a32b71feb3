//! The result of a selection: kept tokens, merges and replacements. Open it to apply a selection.

use serde::Serialize;

use crate::matrix::{Dense, Rows};

/// Which tokens stay, the order in which they were picked, and how others were merged into them.
///
/// Made by [`Selection::keeping`] or [`Selection::from_order`]; the fields that differ are set afterwards.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Selection {
    /// Every position that carries a token afterwards, ascending.
    pub kept: Vec<usize>,
    /// The same positions in the order in which the method picked them.
    pub order: Vec<usize>,
    /// The marginal gain of each pick; empty for methods that only rank by score.
    pub gains: Vec<f64>,
    /// The method's own value of the kept set, if it has one.
    pub objective: Option<f64>,
    /// Kept tokens into which others were merged, at most one entry per token.
    pub merges: Vec<Merge>,
    /// Positions that carry another token's vector afterwards.
    pub replaced: Vec<Replacement>,
    /// The kept positions in their order in the pruned sequence; empty if that is ascending.
    pub sequence: Vec<usize>,
    /// Time spent on the selection.
    pub seconds: Seconds,
}

/// A kept token that became a combination of itself and others:
/// `x_target <- own * x_target + Σ_s share_s * x_s`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Merge {
    /// The position of the kept token.
    pub target: usize,
    /// The coefficient of the kept token's own vector.
    pub own: f64,
    /// The positions of the tokens merged into it, ascending.
    pub sources: Vec<usize>,
    /// The coefficients of the sources, in their order.
    pub shares: Vec<f64>,
}

/// A position that carries another token's vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Replacement {
    /// The kept position whose vector is replaced.
    pub position: usize,
    /// The token whose vector goes there.
    pub token: usize,
}

/// Seconds spent, summed over groups.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Seconds {
    /// Computing similarities, in seconds.
    pub kernel: f64,
    /// All other work of the selection, in seconds.
    pub select: f64,
}

impl Selection {
    /// The tokens `kept`, which are ascending, picked in that order; nothing merged.
    pub fn keeping(kept: Vec<usize>) -> Self {
        Self { order: kept.clone(), kept, ..Self::default() }
    }

    /// The picks `order`, nothing merged.
    pub fn from_order(order: Vec<usize>) -> Self {
        let mut kept = order.clone();
        kept.sort_unstable();
        Self { kept, order, ..Self::default() }
    }

    /// All of `n` tokens, in index order.
    pub fn everything(n: usize) -> Self {
        Self::keeping((0..n).collect())
    }

    /// The rows of `features` that stay, in ascending order of position, with replacements and
    /// merges carried out.
    ///
    /// ```
    /// use mico_select::{Matrix, Merge, Rows, Selection};
    /// let data = [1.0, 3.0, 10.0];
    /// let features = Rows::all(Matrix::from_f32(&data, 3, 1)?);
    /// let merge = Merge { target: 0, own: 0.5, sources: vec![1], shares: vec![0.5] };
    /// let mut selection = Selection::keeping(vec![0, 2]);
    /// selection.merges.push(merge);
    /// let kept = selection.apply(&features);
    /// assert_eq!((kept.row(0), kept.row(1)), (&[2.0][..], &[10.0][..]));
    /// # Ok::<(), mico_select::Error>(())
    /// ```
    pub fn apply(&self, features: &Rows<'_>) -> Dense {
        let mut out = Dense::zeros(self.kept.len(), features.cols());
        for (row, &token) in self.kept.iter().enumerate() {
            features.copy_row(token, out.row_mut(row));
        }
        let row_of = |token: usize| self.kept.binary_search(&token).ok();
        for replaced in &self.replaced {
            if let Some(row) = row_of(replaced.position) {
                features.copy_row(replaced.token, out.row_mut(row));
            }
        }
        let mut source = vec![0.0; features.cols()];
        for merge in &self.merges {
            let Some(row) = row_of(merge.target) else { continue };
            let mut sum: Vec<f64> =
                out.row(row).iter().map(|&x| merge.own * f64::from(x)).collect();
            for (&token, &share) in merge.sources.iter().zip(&merge.shares) {
                features.copy_row(token, &mut source);
                sum.iter_mut().zip(&source).for_each(|(s, &x)| *s += share * f64::from(x));
            }
            out.row_mut(row).iter_mut().zip(sum).for_each(|(o, s)| *o = s as f32);
        }
        out
    }

    /// The kept positions in their order in the pruned sequence.
    ///
    /// ```
    /// use mico_select::Selection;
    /// let mut selection = Selection::keeping(vec![1, 4]);
    /// assert_eq!(selection.in_sequence(), [1, 4]);
    /// selection.sequence = vec![4, 1];
    /// assert_eq!(selection.in_sequence(), [4, 1]);
    /// ```
    pub fn in_sequence(&self) -> &[usize] {
        if self.sequence.is_empty() { &self.kept } else { &self.sequence }
    }

    /// The same selection in another numbering: local index `i` becomes token `members[i]`.
    pub fn among(self, members: &[usize]) -> Self {
        let mut whole = Self::default();
        whole.absorb(self, members);
        whole.finish()
    }

    /// Appends the selection of a further group, numbered among all tokens.
    pub fn join(&mut self, group: Self) {
        if !(self.sequence.is_empty() && group.sequence.is_empty()) {
            let mut sequence = self.in_sequence().to_vec();
            sequence.extend(group.in_sequence());
            self.sequence = sequence;
        }
        self.kept.extend(group.kept);
        self.order.extend(group.order);
        self.gains.extend(group.gains);
        self.objective = match (self.objective, group.objective) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.merges.extend(group.merges);
        self.replaced.extend(group.replaced);
        self.seconds.kernel += group.seconds.kernel;
        self.seconds.select += group.seconds.select;
    }

    /// Appends the selection of one group, whose local index `i` is token `members[i]`.
    pub(crate) fn absorb(&mut self, mut group: Self, members: &[usize]) {
        let global = |local: &mut Vec<usize>| local.iter_mut().for_each(|i| *i = members[*i]);
        global(&mut group.kept);
        global(&mut group.order);
        global(&mut group.sequence);
        for merge in &mut group.merges {
            merge.target = members[merge.target];
            global(&mut merge.sources);
        }
        for replaced in &mut group.replaced {
            replaced.position = members[replaced.position];
            replaced.token = members[replaced.token];
        }
        self.join(group);
    }

    /// Restores ascending order after groups were appended.
    pub fn finish(mut self) -> Self {
        self.kept.sort_unstable();
        self.merges.sort_unstable_by_key(|merge| merge.target);
        self.replaced.sort_unstable_by_key(|r| r.position);
        self
    }
}
