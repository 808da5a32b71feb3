//! Borrowed matrices: f32, f16 or bf16 rows, contiguous or strided.

use half::{bf16, f16};

use crate::error::{Error, Result};

/// Values as the caller holds them. Selection arithmetic converts to f32 or better.
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// IEEE single precision, used as it is.
    F32(&'a [f32]),
    /// IEEE half precision (5 exponent bits), widened to f32 when a row is read.
    F16(&'a [f16]),
    /// Brain floating point (8 exponent bits), widened to f32 when a row is read.
    Bf16(&'a [bf16]),
}

impl Values<'_> {
    /// The number of values in the buffer, gaps between strided rows included.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(v) => v.len(),
            Self::F16(v) => v.len(),
            Self::Bf16(v) => v.len(),
        }
    }

    /// Whether the buffer holds no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn copy(&self, start: usize, out: &mut [f32]) {
        let range = start..start + out.len();
        match self {
            Self::F32(v) => out.copy_from_slice(&v[range]),
            Self::F16(v) => out.iter_mut().zip(&v[range]).for_each(|(o, x)| *o = x.to_f32()),
            Self::Bf16(v) => out.iter_mut().zip(&v[range]).for_each(|(o, x)| *o = x.to_f32()),
        }
    }
}

/// A borrowed matrix of `rows x cols` values whose rows start `stride` values apart.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    values: Values<'a>,
    rows: usize,
    cols: usize,
    stride: usize,
}

impl<'a> Matrix<'a> {
    /// A contiguous row-major matrix. An error if `values` is shorter than `rows * cols`.
    pub fn new(values: Values<'a>, rows: usize, cols: usize) -> Result<Self> {
        Self::strided(values, rows, cols, cols)
    }

    /// A contiguous row-major f32 matrix.
    ///
    /// ```
    /// let m = mico_select::Matrix::from_f32(&[1.0, 2.0, 3.0, 4.0], 2, 2)?;
    /// assert_eq!((m.rows(), m.cols()), (2, 2));
    /// # Ok::<(), mico_select::Error>(())
    /// ```
    pub fn from_f32(values: &'a [f32], rows: usize, cols: usize) -> Result<Self> {
        Self::new(Values::F32(values), rows, cols)
    }

    /// Rows of `cols` values whose starts are `stride >= cols` values apart: a slice of a wider tensor.
    pub fn strided(values: Values<'a>, rows: usize, cols: usize, stride: usize) -> Result<Self> {
        let needed = match rows {
            0 => Some(0),
            _ => (rows - 1).checked_mul(stride).and_then(|start| start.checked_add(cols)),
        };
        if stride < cols || needed.is_none_or(|n| n > values.len()) {
            let needed = needed.map_or("too many".into(), |n| n.to_string());
            return Err(Error::Buffer { rows, cols, stride, needed, found: values.len() });
        }
        Ok(Self { values, rows, cols, stride })
    }

    /// The number of rows, for most signals one per token.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns: the feature width, or 1 for a vector.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Copies row `row` into `out` as f32. `out` has [`Matrix::cols`] entries.
    pub fn copy_row(&self, row: usize, out: &mut [f32]) {
        self.values.copy(row * self.stride, out);
    }
}

/// Some rows of a matrix in an order of their own, without copying: one group's part of a signal.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    matrix: Matrix<'a>,
    index: Option<&'a [usize]>,
}

impl<'a> Rows<'a> {
    /// Every row of the matrix, in its own order.
    pub fn all(matrix: Matrix<'a>) -> Self {
        Self { matrix, index: None }
    }

    /// The rows `index`, which must be below `matrix.rows()`.
    pub fn of(matrix: Matrix<'a>, index: &'a [usize]) -> Self {
        Self { matrix, index: Some(index) }
    }

    /// The number of rows in this view, not in the matrix.
    pub fn len(&self) -> usize {
        self.index.map_or(self.matrix.rows, <[usize]>::len)
    }

    /// Whether the view has no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of columns, that of the matrix.
    pub fn cols(&self) -> usize {
        self.matrix.cols
    }

    /// Copies row `row` of the view into `out` as f32. `out` has [`Rows::cols`] entries.
    pub fn copy_row(&self, row: usize, out: &mut [f32]) {
        self.matrix.copy_row(self.index.map_or(row, |index| index[row]), out);
    }

    /// An owned, contiguous f32 copy of the rows.
    pub fn to_dense(&self) -> Dense {
        let mut dense = Dense::zeros(self.len(), self.cols());
        for row in 0..self.len() {
            self.copy_row(row, dense.row_mut(row));
        }
        dense
    }
}

/// An owned row-major f32 matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Dense {
    values: Vec<f32>,
    rows: usize,
    cols: usize,
}

impl Dense {
    /// Takes rows of `cols` values, one after another. An error if the last row is incomplete.
    ///
    /// ```
    /// use mico_select::Dense;
    /// let rows = Dense::new(vec![1.0, 2.0, 3.0, 4.0], 2)?;
    /// assert_eq!((rows.rows(), rows.row(1)), (2, &[3.0, 4.0][..]));
    /// assert!(Dense::new(vec![1.0, 2.0, 3.0], 2).is_err());
    /// # Ok::<(), mico_select::Error>(())
    /// ```
    pub fn new(values: Vec<f32>, cols: usize) -> Result<Self> {
        let rows = values.len().checked_div(cols).unwrap_or(0);
        if rows * cols == values.len() {
            return Ok(Self { values, rows, cols });
        }
        Err(Error::OutOfRange {
            what: "number of values",
            found: values.len().to_string(),
            accepted: format!("a multiple of the width {cols}"),
        })
    }

    /// A matrix of zeros, to be filled row by row.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { values: vec![0.0; rows * cols], rows, cols }
    }

    /// The number of rows; 0 if `cols` is 0.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns, the same for every row.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All values of the matrix, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The `cols` values of row `row`; panics beyond the last row.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.cols..(row + 1) * self.cols]
    }

    /// The `cols` values of row `row`, to be written; panics beyond the last row.
    pub fn row_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.values[row * self.cols..(row + 1) * self.cols]
    }

    /// A borrowed view of the whole matrix, as [`Inputs`](crate::Inputs) takes it.
    pub fn matrix(&self) -> Matrix<'_> {
        let Self { rows, cols, .. } = *self;
        Matrix { values: Values::F32(&self.values), rows, cols, stride: cols }
    }
}

/// Euclidean length, in f64: no f32 vector overflows or underflows it.
pub(crate) fn norm(row: &[f32]) -> f64 {
    dot(row, row).sqrt()
}

/// Inner product, in f64.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f64 {
    pairwise(a, b, |x, y| x * y)
}

/// Squared Euclidean distance, in f64.
pub(crate) fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    pairwise(a, b, |x, y| (x - y) * (x - y))
}

/// `Σ f(a_i, b_i)` with independent partial sums, so that it vectorises.
#[inline(always)]
fn pairwise(a: &[f32], b: &[f32], f: impl Fn(f64, f64) -> f64) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a8, a_rest) = a.as_chunks::<LANES>();
    let (b8, b_rest) = b.as_chunks::<LANES>();
    for (x, y) in a8.iter().zip(b8) {
        for l in 0..LANES {
            sums[l] += f(f64::from(x[l]), f64::from(y[l]));
        }
    }
    for (sum, (&x, &y)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum += f(f64::from(x), f64::from(y));
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strided_rows_skip_the_gap() {
        let data = [1.0, 2.0, 9.0, 3.0, 4.0];
        let m = Matrix::strided(Values::F32(&data), 2, 2, 3).unwrap();
        let mut row = [0.0; 2];
        m.copy_row(1, &mut row);
        assert_eq!(row, [3.0, 4.0]);
    }

    #[test]
    fn short_or_overflowing_buffers_are_refused() {
        let data = [0.0; 5];
        assert!(Matrix::from_f32(&data, 2, 3).is_err());
        assert!(Matrix::strided(Values::F32(&data), 2, 3, 2).is_err());
        assert!(Matrix::from_f32(&data, usize::MAX, 3).is_err());
    }

    #[test]
    fn half_types_convert() {
        let f16s = [f16::from_f32(0.5), f16::from_f32(-2.0)];
        let bf16s = [bf16::from_f32(0.5), bf16::from_f32(-2.0)];
        for values in [Values::F16(&f16s), Values::Bf16(&bf16s)] {
            let dense = Rows::all(Matrix::new(values, 1, 2).unwrap()).to_dense();
            assert_eq!(dense.row(0), [0.5, -2.0]);
        }
    }
}
