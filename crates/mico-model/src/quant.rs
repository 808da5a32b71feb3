//! Quantisation of the decoder's matrices at load time.
//!
//! Blocks of a K-quant hold 256 numbers of a row, blocks of `Q8_0` hold 32. A matrix whose rows do not
//! divide into such blocks falls back to `Q8_0` or stays unquantised, and a [`QuantNote`] says so.

use candle_core::quantized::GgmlDType;

use crate::checkpoint::Part;
use crate::error::{Error, Result};

/// The quantisation formats offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuantKind {
    /// About 4.5 bits per weight; the output head is kept in `Q6K`.
    Q4K,
    /// About 6.6 bits per weight.
    Q6K,
    /// About 8.5 bits per weight.
    Q8_0,
}

impl QuantKind {
    /// Every quantisation, the smallest first.
    pub const ALL: [Self; 3] = [Self::Q4K, Self::Q6K, Self::Q8_0];

    /// The quantisation called `name` on a command line.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| Error::Unknown {
            what: "quantisation",
            found: name.to_owned(),
            accepted: Self::ALL.map(Self::name).join(", "),
        })
    }

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Q4K => "q4k",
            Self::Q6K => "q6k",
            Self::Q8_0 => "q8_0",
        }
    }

    fn dtype(self, part: Part) -> GgmlDType {
        match (self, part) {
            (Self::Q4K, Part::Head) | (Self::Q6K, _) => GgmlDType::Q6K,
            (Self::Q4K, _) => GgmlDType::Q4K,
            (Self::Q8_0, _) => GgmlDType::Q8_0,
        }
    }
}

/// A report of a matrix that could not be quantised as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantNote {
    /// The matrix's name inside its part.
    pub tensor: String,
    /// Length of the matrix's rows, which the block size does not divide.
    pub row: usize,
    /// The format used instead: `q8_0`, or `none` if it stays unquantised.
    pub used: &'static str,
}

/// The block format for a matrix with rows of `input` values, and a note if it is not the one
/// asked for.
pub(crate) fn quantized_type(
    kind: QuantKind,
    part: Part,
    tensor: &str,
    input: usize,
) -> (Option<GgmlDType>, Option<QuantNote>) {
    let wanted = kind.dtype(part);
    let note = |used| Some(QuantNote { tensor: tensor.to_owned(), row: input, used });
    if input.is_multiple_of(wanted.block_size()) {
        (Some(wanted), None)
    } else if input.is_multiple_of(GgmlDType::Q8_0.block_size()) {
        (Some(GgmlDType::Q8_0), note("q8_0"))
    } else {
        (None, note("none"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_do_not_divide_fall_back_and_are_named() {
        let (dtype, note) = quantized_type(QuantKind::Q4K, Part::Decoder, "a", 512);
        assert_eq!((dtype, note), (Some(GgmlDType::Q4K), None));
        let (dtype, note) = quantized_type(QuantKind::Q4K, Part::Decoder, "a", 96);
        assert_eq!(dtype, Some(GgmlDType::Q8_0));
        assert_eq!(note.unwrap().used, "q8_0");
        let (dtype, note) = quantized_type(QuantKind::Q6K, Part::Decoder, "a", 50);
        assert_eq!(dtype, None);
        assert_eq!(note.unwrap().used, "none");
        assert_eq!(quantized_type(QuantKind::Q4K, Part::Head, "h", 256).0, Some(GgmlDType::Q6K));
        assert!(QuantKind::parse("q5k").is_err());
    }
}
