//! The matrix-multiplication micro-kernel: blocks of `X Xᵀ` from packed panels.
//!
//! Every entry is one chain of multiply-adds over the columns in ascending order, cut into
//! blocks of [`BLOCK_DEPTH`] whose sums are added in order. The chain depends on nothing but the
//! two rows, so an entry has the same bits wherever it is computed: in a triangle of tiles or in a
//! batch of columns, on one thread or on many, and `K(i,j)` equals `K(j,i)`.

#![allow(
    clippy::inline_always,
    reason = "the body must be compiled inside the closure that enables the vector instructions"
)]

use pulp::Arch;

/// Tokens in one packed panel, the width of a 256-bit vector of f32.
pub(super) const PANEL: usize = 8;
/// Panels a tile spans on each side.
pub(super) const TILE_PANELS: usize = 12;
/// Tokens a tile spans on each side.
pub(super) const TILE: usize = PANEL * TILE_PANELS;
/// Columns multiplied before the sums go back to the tile: three panels of that depth and one
/// more stay in a 32 KB first-level cache.
const BLOCK_DEPTH: usize = 192;
/// Rows and panels of the register tile: 4 x 24 sums fill twelve 256-bit registers.
const MICRO_ROWS: usize = 4;
const MICRO_PANELS: usize = 3;
const MICRO_COLS: usize = MICRO_PANELS * PANEL;

/// One step along the depth: the values of eight tokens.
pub(super) type Lane = [f32; PANEL];
/// A finished tile, row-major.
pub(super) type Tile = [[f32; TILE]; TILE];

/// An empty tile, on the heap: it is too large for a stack that may be deep.
pub(super) fn new_tile() -> Box<Tile> {
    match vec![[0.0; TILE]; TILE].into_boxed_slice().try_into() {
        Ok(tile) => tile,
        Err(_) => unreachable!("the slice has the length of a tile"),
    }
}

/// Consecutive panels of `depth` lanes each.
#[derive(Clone, Copy)]
pub(super) struct Panels<'a> {
    pub(super) lanes: &'a [Lane],
    pub(super) depth: usize,
}

impl<'a> Panels<'a> {
    fn count(self) -> usize {
        self.lanes.len() / self.depth
    }

    #[inline(always)]
    fn part(self, panel: usize, from: usize, to: usize) -> &'a [Lane] {
        &self.lanes[panel * self.depth + from..panel * self.depth + to]
    }
}

/// Which entries of a tile are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Every entry of the tile.
    Whole,
    /// Those on and above the diagonal; others may be left as they are.
    Upper,
    /// The entries of the first this many rows; others may be left as they are.
    Rows(usize),
}

/// Inner products of every token of `a` with every token of `b`, at most a tile of each.
pub(super) fn multiply(arch: Arch, a: Panels<'_>, b: Panels<'_>, part: Part, out: &mut Tile) {
    arch.dispatch(
        #[inline(always)]
        || blocks(a, b, part, out),
    );
}

#[inline(always)]
fn blocks(a: Panels<'_>, b: Panels<'_>, part: Part, out: &mut Tile) {
    let rows = match part {
        Part::Rows(rows) => rows.next_multiple_of(MICRO_ROWS).min(a.count() * PANEL),
        Part::Whole | Part::Upper => a.count() * PANEL,
    };
    let mut from = 0;
    while from < a.depth {
        let to = (from + BLOCK_DEPTH).min(a.depth);
        for group in (0..b.count()).step_by(MICRO_PANELS) {
            let col = group * PANEL;
            let columns = [0, 1, 2].map(|p| b.part(group + p, from, to));
            for row in (0..rows).step_by(MICRO_ROWS) {
                if part == Part::Upper && row >= col + MICRO_COLS {
                    break;
                }
                let lanes = a.part(row / PANEL, from, to);
                let sums = if row % PANEL == 0 {
                    micro::<0>(lanes, columns)
                } else {
                    micro::<MICRO_ROWS>(lanes, columns)
                };
                store(&sums, from == 0, row, col, out);
            }
        }
        from = to;
    }
}

type Sums = [[[f32; PANEL]; MICRO_PANELS]; MICRO_ROWS];

/// Four tokens of panel `a`, from lane `OFFSET` on, against three panels of `b`.
#[inline(always)]
fn micro<const OFFSET: usize>(a: &[Lane], b: [&[Lane]; MICRO_PANELS]) -> Sums {
    let mut sums: Sums = [[[0.0; PANEL]; MICRO_PANELS]; MICRO_ROWS];
    let steps = a.iter().zip(b[0]).zip(b[1]).zip(b[2]);
    for (((a, b0), b1), b2) in steps {
        for r in 0..MICRO_ROWS {
            for (sum, b) in sums[r].iter_mut().zip([b0, b1, b2]) {
                for l in 0..PANEL {
                    sum[l] = a[OFFSET + r].mul_add(b[l], sum[l]);
                }
            }
        }
    }
    sums
}

#[inline(always)]
fn store(sums: &Sums, first: bool, row: usize, col: usize, out: &mut Tile) {
    for (sums, out) in sums.iter().zip(&mut out[row..row + MICRO_ROWS]) {
        let out = &mut out[col..col + MICRO_COLS];
        let sums = sums.as_flattened();
        if first {
            out.copy_from_slice(sums);
        } else {
            out.iter_mut().zip(sums).for_each(|(o, s)| *o += s);
        }
    }
}
