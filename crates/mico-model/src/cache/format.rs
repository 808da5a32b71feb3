//! The number format in which keys and values are kept.

use candle_core::DType;

/// The number format of cached keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum KvFormat {
    /// That of the computation: nothing is rounded.
    #[default]
    Compute,
    /// IEEE half precision, 2 bytes per number: rounded when a token enters the cache and read back
    /// exactly. On the CPU, which computes in f32, that is half the memory. A number beyond 65,504 becomes
    /// infinite.
    F16,
}

impl KvFormat {
    /// Every format, in the order of listings.
    pub const ALL: [Self; 2] = [Self::Compute, Self::F16];

    /// The format's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::F16 => "f16",
        }
    }

    /// The format of the stored numbers, given that of the computation.
    pub(crate) fn dtype(self, compute: DType) -> DType {
        match self {
            Self::Compute => compute,
            Self::F16 => DType::F16,
        }
    }
}
