//! What a selector may be given, by name, and how it is checked.

use std::fmt;

use crate::error::{Error, Result};
use crate::matrix::{Matrix, Rows};

/// The tensors a selector may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Tensor {
    /// `[N,d]` visual features, in the space the method works in.
    Features,
    /// `[N]` explicit source weights.
    Weights,
    /// `[N]` CLS (or pooled) attention, head-averaged.
    Reliability,
    /// `[N]` text-to-visual attention, averaged over queries and heads.
    Relevance,
    /// `[N,e]` features after the projector.
    Projected,
    /// `[m,e]` word embeddings of the question.
    Text,
    /// `[N,k]` attention keys.
    Keys,
    /// `[m,k]` attention keys of the text tokens.
    TextKeys,
    /// `[N]` attention of an early vision block.
    ReliabilityShallow,
    /// `[N,c]` image side of a CLIP space.
    ClipImage,
    /// `[m,c]` text side of a CLIP space.
    ClipText,
    /// `[m,N]` text-to-visual attention rows, head-averaged.
    TextAttention,
    /// `[N]` tokens that may not be chosen: those above 0.
    Excluded,
}

/// How a tensor's axes relate to the `N` visual tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axes {
    /// `[N]`
    Vector,
    /// `[N,*]`
    TokenRows,
    /// `[m,*]`
    TextRows,
    /// `[m,N]`
    TokenColumns,
}

impl Tensor {
    /// Every tensor, in declaration order.
    pub const ALL: [Self; 13] = [
        Self::Features,
        Self::Weights,
        Self::Reliability,
        Self::Relevance,
        Self::Projected,
        Self::Text,
        Self::Keys,
        Self::TextKeys,
        Self::ReliabilityShallow,
        Self::ClipImage,
        Self::ClipText,
        Self::TextAttention,
        Self::Excluded,
    ];

    /// The name used in files and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Features => "features",
            Self::Weights => "weights",
            Self::Reliability => "reliability",
            Self::Relevance => "relevance",
            Self::Projected => "projected",
            Self::Text => "text",
            Self::Keys => "keys",
            Self::TextKeys => "text_keys",
            Self::ReliabilityShallow => "reliability_shallow",
            Self::ClipImage => "clip_image",
            Self::ClipText => "clip_text",
            Self::TextAttention => "text_attention",
            Self::Excluded => "excluded",
        }
    }

    /// Whether the tensor is a vector with one value per visual token.
    pub const fn is_vector(self) -> bool {
        matches!(self.axes(), Axes::Vector)
    }

    /// Whether the tensor has an axis of length `N`.
    pub const fn counts_tokens(self) -> bool {
        !matches!(self.axes(), Axes::TextRows)
    }

    pub(crate) const fn axes(self) -> Axes {
        match self {
            Self::Weights
            | Self::Reliability
            | Self::Relevance
            | Self::ReliabilityShallow
            | Self::Excluded => Axes::Vector,
            Self::Features | Self::Projected | Self::Keys | Self::ClipImage => Axes::TokenRows,
            Self::Text | Self::TextKeys | Self::ClipText => Axes::TextRows,
            Self::TextAttention => Axes::TokenColumns,
        }
    }
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TensorSet(u16);

impl TensorSet {
    /// The set of these tensors.
    pub fn of(tensors: &[Tensor]) -> Self {
        Self(tensors.iter().fold(0, |bits, &t| bits | 1 << t as usize))
    }

    /// Whether `tensor` is in the set.
    pub fn has(self, tensor: Tensor) -> bool {
        self.0 & (1 << tensor as usize) != 0
    }

    /// The set with `tensor` added.
    pub fn with(self, tensor: Tensor) -> Self {
        Self(self.0 | 1 << tensor as usize)
    }

    /// The members.
    pub fn iter(self) -> impl Iterator<Item = Tensor> {
        Tensor::ALL.into_iter().filter(move |&t| self.has(t))
    }

    /// Fails on the first of `tensors` that is not in the set, in the name of `method`.
    pub fn require(self, method: &str, tensors: &[Tensor]) -> Result<()> {
        tensors.iter().try_for_each(|&tensor| {
            if self.has(tensor) {
                Ok(())
            } else {
                let reason = format!("method '{method}' reads it");
                Err(Error::Missing { tensor, reason })
            }
        })
    }
}

/// The tensors of one request. Vectors are matrices of one column.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inputs<'a> {
    tensors: [Option<Matrix<'a>>; Tensor::ALL.len()],
    groups: Option<&'a [i64]>,
}

impl<'a> Inputs<'a> {
    /// No tensors yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tensor.
    pub fn with(mut self, tensor: Tensor, matrix: Matrix<'a>) -> Self {
        self.tensors[tensor as usize] = Some(matrix);
        self
    }

    /// Adds an f32 tensor with one value per visual token.
    pub fn with_vector(self, tensor: Tensor, values: &'a [f32]) -> Result<Self> {
        Ok(self.with(tensor, Matrix::from_f32(values, values.len(), 1)?))
    }

    /// Says which natural group (crop, tile, frame) each token belongs to.
    pub fn with_groups(mut self, groups: &'a [i64]) -> Self {
        self.groups = Some(groups);
        self
    }

    /// One tensor, if it was given.
    pub fn get(&self, tensor: Tensor) -> Option<Matrix<'a>> {
        self.tensors[tensor as usize]
    }

    /// The groups, if they were given.
    pub fn groups(&self) -> Option<&'a [i64]> {
        self.groups
    }

    /// Which tensors were given.
    pub fn present(&self) -> TensorSet {
        Tensor::ALL
            .into_iter()
            .filter(|&t| self.get(t).is_some())
            .fold(TensorSet(0), TensorSet::with)
    }

    /// Checks shapes and values of the tensors in `read` and returns `N`.
    pub(crate) fn check(&self, read: TensorSet, nonnegative: TensorSet) -> Result<usize> {
        let n = self.token_count(read)?;
        for tensor in read.iter() {
            if let Some(matrix) = self.get(tensor) {
                check_shape(tensor, matrix, n)?;
                check_values(tensor, matrix, nonnegative.has(tensor))?;
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

    /// `N`, as the first tensor with a token axis has it.
    fn token_count(&self, read: TensorSet) -> Result<usize> {
        let counts = read.iter().filter_map(|tensor| {
            let matrix = self.get(tensor)?;
            match tensor.axes() {
                Axes::Vector | Axes::TokenRows => Some((tensor, matrix.rows())),
                Axes::TokenColumns => Some((tensor, matrix.cols())),
                Axes::TextRows => None,
            }
        });
        match counts.into_iter().next() {
            Some((tensor, 0)) => {
                let expected = "at least one visual token".into();
                Err(Error::Shape { tensor, found: "with no token".into(), expected })
            }
            Some((_, n)) => Ok(n),
            None => Err(Error::Missing {
                tensor: Tensor::Features,
                reason: "no tensor with a visual-token axis was given".into(),
            }),
        }
    }

    /// Tensors that share a space must share its width.
    fn check_widths(&self, read: TensorSet) -> Result<()> {
        let pairs = [
            (Tensor::Projected, Tensor::Text),
            (Tensor::ClipImage, Tensor::ClipText),
            (Tensor::Keys, Tensor::TextKeys),
        ];
        for (image, text) in pairs {
            if read.has(image)
                && read.has(text)
                && let (Some(a), Some(b)) = (self.get(image), self.get(text))
                && a.cols() != b.cols()
            {
                return Err(Error::Shape {
                    tensor: text,
                    found: format!("[{},{}]", b.rows(), b.cols()),
                    expected: format!("[{},{}] to match '{image}'", b.rows(), a.cols()),
                });
            }
        }
        let per_text = [Tensor::Text, Tensor::TextAttention, Tensor::TextKeys];
        let mut rows = per_text.into_iter().filter(|&t| read.has(t)).filter_map(|t| {
            let matrix = self.get(t)?;
            Some((t, matrix))
        });
        if let Some((first, a)) = rows.next() {
            for (tensor, b) in rows {
                if b.rows() != a.rows() {
                    return Err(Error::Shape {
                        tensor,
                        found: format!("[{},{}]", b.rows(), b.cols()),
                        expected: format!("{} rows like '{first}'", a.rows()),
                    });
                }
            }
        }
        Ok(())
    }
}

/// Fails unless the rows of `tensor` are as wide as the visual vectors.
pub(crate) fn same_width(tensor: Tensor, rows: &Rows<'_>, visual: &Rows<'_>) -> Result<()> {
    if rows.cols() == visual.cols() {
        return Ok(());
    }
    Err(Error::Shape {
        tensor,
        found: format!("[{},{}]", rows.len(), rows.cols()),
        expected: format!("[m,{}], the width of the visual vectors", visual.cols()),
    })
}

fn check_shape(tensor: Tensor, matrix: Matrix<'_>, n: usize) -> Result<()> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let (ok, expected) = match tensor.axes() {
        Axes::Vector => (rows == n && cols == 1, format!("[{n}]")),
        Axes::TokenRows => (rows == n && cols > 0, format!("[{n},d] with d >= 1")),
        Axes::TextRows => (rows > 0 && cols > 0, "[m,e] with m, e >= 1".into()),
        Axes::TokenColumns => (rows > 0 && cols == n, format!("[m,{n}] with m >= 1")),
    };
    let found = match tensor.axes() {
        Axes::Vector => format!("[{rows}]"),
        _ => format!("[{rows},{cols}]"),
    };
    if ok { Ok(()) } else { Err(Error::Shape { tensor, found, expected }) }
}

fn check_values(tensor: Tensor, matrix: Matrix<'_>, nonnegative: bool) -> Result<()> {
    let mut row = vec![0.0; matrix.cols()];
    for i in 0..matrix.rows() {
        matrix.copy_row(i, &mut row);
        let place = |j: usize| match tensor.axes() {
            Axes::Vector => format!("[{i}]"),
            _ => format!("[{i},{j}]"),
        };
        if let Some(j) = row.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { tensor, value: row[j], place: place(j) });
        }
        if nonnegative && let Some(j) = row.iter().position(|&x| x < 0.0) {
            return Err(Error::Negative { tensor, value: row[j], place: place(j) });
        }
    }
    Ok(())
}
