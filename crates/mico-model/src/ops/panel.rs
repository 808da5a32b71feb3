//! Small dense products for one thread, as attention needs them: rows times a row-major matrix,
//! written so that the compiler keeps a block of results in vector registers.

/// Columns of a register block: two 256-bit vectors of f32.
pub(crate) const PANEL: usize = 16;
/// Rows of a register block, so that its sums fit into vector registers.
const ROWS: usize = 6;

/// A row-major matrix whose rows start `stride` values apart.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) stride: usize,
}

impl<'a> Rows<'a> {
    fn row(&self, index: usize, len: usize) -> &'a [f32] {
        &self.data[index * self.stride..][..len]
    }
}

/// `out = a b` for `a` `[m, depth]`, `b` `[depth, columns]`; row `i` of the result is written to
/// `out[i * out_stride..]`, `m` being as many rows as fit.
pub(crate) fn product(a: Rows, b: Rows, out: &mut [f32], out_stride: usize, shape: Shape) {
    let Shape { rows, depth, columns } = shape;
    for column in (0..columns).step_by(PANEL) {
        let width = PANEL.min(columns - column);
        let mut row = 0;
        while row < rows {
            let at = Block { a, b, row, column, depth };
            let out = &mut out[row * out_stride + column..];
            row += match rows - row {
                _ if width < PANEL => {
                    let values = edge(a.row(row, depth), b, column, width);
                    out[..width].copy_from_slice(&values[..width]);
                    1
                }
                ROWS.. => at.write::<ROWS>(out, out_stride),
                4.. => at.write::<4>(out, out_stride),
                2.. => at.write::<2>(out, out_stride),
                _ => at.write::<1>(out, out_stride),
            };
        }
    }
}

/// The sizes of a product `[rows, depth] x [depth, columns]`.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) rows: usize,
    pub(crate) depth: usize,
    pub(crate) columns: usize,
}

/// The operands and position of a register block.
#[derive(Clone, Copy)]
struct Block<'a> {
    a: Rows<'a>,
    b: Rows<'a>,
    row: usize,
    column: usize,
    depth: usize,
}

impl Block<'_> {
    /// Computes `R` rows of a panel and returns `R`.
    #[inline]
    fn write<const R: usize>(self, out: &mut [f32], out_stride: usize) -> usize {
        for (i, values) in self.sums::<R>().iter().enumerate() {
            out[i * out_stride..][..PANEL].copy_from_slice(values);
        }
        R
    }

    #[expect(clippy::needless_range_loop, reason = "the plain loops are what gets vectorised")]
    #[inline]
    fn sums<const R: usize>(self) -> [[f32; PANEL]; R] {
        let Self { a, b, row, column, depth } = self;
        let lines: [&[f32]; R] = std::array::from_fn(|i| a.row(row + i, depth));
        // Repeats the slice length where the compiler can see it, which removes bounds checks.
        let lines = lines.map(|line| &line[..depth]);
        let mut sums = [[0.0_f32; PANEL]; R];
        for p in 0..depth {
            let Some(values) = b.data[p * b.stride + column..].first_chunk::<PANEL>() else {
                break;
            };
            for i in 0..R {
                let factor = lines[i][p];
                for j in 0..PANEL {
                    sums[i][j] = factor.mul_add(values[j], sums[i][j]);
                }
            }
        }
        sums
    }
}

/// One row of a panel with fewer than [`PANEL`] columns.
#[inline]
fn edge(line: &[f32], b: Rows, column: usize, width: usize) -> [f32; PANEL] {
    let mut sums = [0.0_f32; PANEL];
    for (p, factor) in line.iter().enumerate() {
        let values = &b.data[p * b.stride + column..][..width];
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum = factor.mul_add(*value, *sum);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_and_blocks_agree_with_the_definition() {
        let number = |i: usize| (i * 37 % 101) as f32 / 50.0 - 1.0;
        for (rows, depth, columns) in
            [(6, 8, 16), (13, 5, 40), (1, 3, 7), (7, 1, 17), (10, 9, 32), (9, 4, 16)]
        {
            let a: Vec<f32> = (0..rows * depth).map(number).collect();
            let b: Vec<f32> = (0..depth * columns).map(|i| number(i + 5)).collect();
            let mut out = vec![f32::NAN; rows * columns];
            let (a_rows, b_rows) =
                (Rows { data: &a, stride: depth }, Rows { data: &b, stride: columns });
            product(a_rows, b_rows, &mut out, columns, Shape { rows, depth, columns });
            for i in 0..rows {
                for j in 0..columns {
                    let exact: f32 =
                        (0..depth).map(|p| a[i * depth + p] * b[p * columns + j]).sum();
                    assert!((out[i * columns + j] - exact).abs() < 1e-5);
                }
            }
        }
    }
}
