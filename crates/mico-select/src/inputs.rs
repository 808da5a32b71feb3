//! The signals of one selection request by name, and the checks of their shapes and values.

use crate::error::{Error, Result};
use crate::matrix::{Matrix, Rows};
use crate::signal::{Axes, Signal, SignalSet};

/// The signals of one request. Vectors are matrices of one column.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inputs<'a> {
    signals: [Option<Matrix<'a>>; Signal::ALL.len()],
    groups: Option<&'a [i64]>,
    tokens: Option<usize>,
}

impl<'a> Inputs<'a> {
    /// An empty request, to which `with`, `with_vector`, `with_groups` and `with_tokens` add.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a signal, replacing an earlier one of the same name. Shapes are checked at selection.
    pub fn with(mut self, signal: Signal, matrix: Matrix<'a>) -> Self {
        self.signals[signal as usize] = Some(matrix);
        self
    }

    /// Adds an f32 signal with one value per visual token, stored as an `[N,1]` matrix.
    pub fn with_vector(self, signal: Signal, values: &'a [f32]) -> Result<Self> {
        Ok(self.with(signal, Matrix::from_f32(values, values.len(), 1)?))
    }

    /// Says which natural group (crop, tile, frame) each token belongs to.
    pub fn with_groups(mut self, groups: &'a [i64]) -> Self {
        self.groups = Some(groups);
        self
    }

    /// Says how many visual tokens there are, so that a rule that reads no signal can be run.
    pub fn with_tokens(mut self, tokens: usize) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// The matrix of one signal, `None` if it was not given.
    pub fn get(&self, signal: Signal) -> Option<Matrix<'a>> {
        self.signals[signal as usize]
    }

    /// The group label of each visual token, `None` if all tokens compete with one another.
    pub fn groups(&self) -> Option<&'a [i64]> {
        self.groups
    }

    /// The set of signals that were given.
    pub fn present(&self) -> SignalSet {
        Signal::ALL
            .into_iter()
            .filter(|&t| self.get(t).is_some())
            .fold(SignalSet::default(), SignalSet::with)
    }

    /// Checks shapes and values of the signals in `read` and returns `N`.
    pub(crate) fn check(&self, read: SignalSet, nonnegative: SignalSet) -> Result<usize> {
        let n = self.token_count(read)?;
        for signal in read.iter() {
            if let Some(matrix) = self.get(signal) {
                check_shape(signal, matrix, n)?;
                check_values(signal, matrix, nonnegative.has(signal))?;
            }
        }
        if let Some(groups) = self.groups
            && groups.len() != n
        {
            return Err(Error::OutOfRange {
                what: "length of 'group'",
                found: groups.len().to_string(),
                accepted: format!("{n}, one entry per visual token"),
            });
        }
        self.check_widths(read)?;
        Ok(n)
    }

    /// `N`: the count from `with_tokens`, else the length of the first read signal's token axis.
    fn token_count(&self, read: SignalSet) -> Result<usize> {
        if let Some(tokens) = self.tokens.filter(|&tokens| tokens > 0) {
            return Ok(tokens);
        }
        let counts = read.iter().filter_map(|signal| {
            let matrix = self.get(signal)?;
            match signal.axes() {
                Axes::Vector | Axes::TokenRows => Some((signal, matrix.rows())),
                Axes::TokenColumns => Some((signal, matrix.cols())),
                Axes::TextRows => None,
            }
        });
        match counts.into_iter().next() {
            Some((signal, 0)) => {
                let expected = "at least one visual token".into();
                Err(Error::Shape { signal, found: "with no token".into(), expected })
            }
            Some((_, n)) => Ok(n),
            None => Err(Error::Missing {
                signal: Signal::Features,
                reason: "no tensor with a visual-token axis was given".into(),
            }),
        }
    }

    /// Signals in the same vector space must have the same width; text signals the same number of rows.
    fn check_widths(&self, read: SignalSet) -> Result<()> {
        let pairs = [
            (Signal::Projected, Signal::Text),
            (Signal::ClipImage, Signal::ClipText),
            (Signal::Keys, Signal::TextKeys),
        ];
        for (image, text) in pairs {
            if read.has(image)
                && read.has(text)
                && let (Some(a), Some(b)) = (self.get(image), self.get(text))
                && a.cols() != b.cols()
            {
                return Err(Error::Shape {
                    signal: text,
                    found: format!("[{},{}]", b.rows(), b.cols()),
                    expected: format!("[{},{}] to match '{image}'", b.rows(), a.cols()),
                });
            }
        }
        let per_text = [Signal::Text, Signal::TextAttention, Signal::TextKeys];
        let mut rows = per_text.into_iter().filter(|&t| read.has(t)).filter_map(|t| {
            let matrix = self.get(t)?;
            Some((t, matrix))
        });
        if let Some((first, a)) = rows.next() {
            for (signal, b) in rows {
                if b.rows() != a.rows() {
                    return Err(Error::Shape {
                        signal,
                        found: format!("[{},{}]", b.rows(), b.cols()),
                        expected: format!("{} rows like '{first}'", a.rows()),
                    });
                }
            }
        }
        Ok(())
    }
}

/// Fails unless the rows of `signal` are as wide as the visual vectors.
pub(crate) fn same_width(signal: Signal, rows: &Rows<'_>, visual: &Rows<'_>) -> Result<()> {
    if rows.cols() == visual.cols() {
        return Ok(());
    }
    Err(Error::Shape {
        signal,
        found: format!("[{},{}]", rows.len(), rows.cols()),
        expected: format!("[m,{}], the width of the visual vectors", visual.cols()),
    })
}

fn check_shape(signal: Signal, matrix: Matrix<'_>, n: usize) -> Result<()> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let (ok, expected) = match signal.axes() {
        Axes::Vector => (rows == n && cols == 1, format!("[{n}]")),
        Axes::TokenRows => (rows == n && cols > 0, format!("[{n},d] with d >= 1")),
        Axes::TextRows => (rows > 0 && cols > 0, "[m,e] with m, e >= 1".into()),
        Axes::TokenColumns => (rows > 0 && cols == n, format!("[m,{n}] with m >= 1")),
    };
    let found = match signal.axes() {
        Axes::Vector => format!("[{rows}]"),
        _ => format!("[{rows},{cols}]"),
    };
    if ok { Ok(()) } else { Err(Error::Shape { signal, found, expected }) }
}

fn check_values(signal: Signal, matrix: Matrix<'_>, nonnegative: bool) -> Result<()> {
    let mut row = vec![0.0; matrix.cols()];
    for i in 0..matrix.rows() {
        matrix.copy_row(i, &mut row);
        let place = |j: usize| match signal.axes() {
            Axes::Vector => format!("[{i}]"),
            _ => format!("[{i},{j}]"),
        };
        if let Some(j) = row.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { signal, value: row[j], place: place(j) });
        }
        if nonnegative && let Some(j) = row.iter().position(|&x| x < 0.0) {
            return Err(Error::Negative { signal, value: row[j], place: place(j) });
        }
    }
    Ok(())
}
