//! One safetensors file of a checkpoint: its header checked once, its tensors read one at a time.
//!
//! Reading into the buffer a tensor is converted from means that loading holds the model plus one tensor.

use std::fs::File;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use mico_tensors::{Dtype, Header};
use mico_util::text::quoted;

use crate::error::{Error, Result};

/// An opened safetensors file with its parsed header.
#[derive(Debug)]
pub(super) struct Shard {
    path: PathBuf,
    memory: Option<&'static [u8]>,
    header: Header,
}

impl Shard {
    /// Reads the header and checks it against the length of the file.
    pub(super) fn open(path: &Path) -> Result<Self> {
        // Checked before opening: opening a named pipe would wait for its writer.
        let found = std::fs::metadata(path).map_err(Error::io(path))?;
        if !found.is_file() {
            return Err(Error::Shard {
                path: path.to_path_buf(),
                message: "not a regular file".into(),
            });
        }
        let mut file = File::open(path).map_err(Error::io(path))?;
        let header = Header::read(&mut file, found.len()).map_err(bad(path))?;
        Self::checked(path, None, header)
    }

    /// [`Shard::open`] for a file whose contents are in memory.
    pub(super) fn in_memory(path: &Path, bytes: &'static [u8]) -> Result<Self> {
        let header = Header::read(&mut &*bytes, bytes.len() as u64).map_err(bad(path))?;
        Self::checked(path, Some(bytes), header)
    }

    fn checked(path: &Path, memory: Option<&'static [u8]>, header: Header) -> Result<Self> {
        header.require_packed().map_err(bad(path))?;
        Ok(Self { path: path.to_path_buf(), memory, header })
    }

    /// Names of the tensors in this file.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.header.names()
    }

    /// A tensor's shape and its size in the file in bytes.
    pub(super) fn info(&self, name: &str) -> Option<(&[usize], usize)> {
        let info = self.header.get(name)?;
        Some((info.shape(), info.bytes() as usize))
    }

    /// A tensor's number format, if it is one that weights have.
    pub(super) fn dtype(&self, name: &str) -> Option<DType> {
        number_format(self.header.get(name)?.dtype())
    }

    fn check_finite(&self, name: &str, bytes: &[u8], dtype: DType) -> Result<()> {
        if all_finite(bytes, dtype) {
            return Ok(());
        }
        Err(Error::NotFinite { name: name.to_owned(), path: self.path.clone() })
    }

    /// Reads one tensor in the number format it is stored in; one that holds NaN or infinity is refused.
    pub(super) fn load(&self, name: &str) -> Result<Tensor> {
        let Some(info) = self.header.get(name) else {
            let message = format!("no tensor `{}`", quoted(name));
            return Err(Error::Shard { path: self.path.clone(), message });
        };
        let Some(dtype) = number_format(info.dtype()) else {
            return Err(Error::WrongDtype { name: name.to_owned(), found: info.dtype_name() });
        };
        if let Some(memory) = self.memory {
            let bytes = self.header.slice(memory, name).map_err(bad(&self.path))?;
            self.check_finite(name, bytes, dtype)?;
            return Ok(Tensor::from_raw_buffer(bytes, dtype, info.shape(), &Device::Cpu)?);
        }
        let mut file = File::open(&self.path).map_err(Error::io(&self.path))?;
        let bytes = self.header.bytes(&mut file, name).map_err(bad(&self.path))?;
        self.check_finite(name, &bytes, dtype)?;
        Ok(Tensor::from_raw_buffer(&bytes, dtype, info.shape(), &Device::Cpu)?)
    }
}

/// The number format of weights that a file's format is.
fn number_format(stored: Option<Dtype>) -> Option<DType> {
    match stored? {
        Dtype::F32 => Some(DType::F32),
        Dtype::F16 => Some(DType::F16),
        Dtype::BF16 => Some(DType::BF16),
        Dtype::F64 => Some(DType::F64),
        _ => None,
    }
}

/// Whether no number of a little-endian buffer is NaN or infinite, whose exponents have all bits set. Blocks
/// without an early end are what compilers turn into vector code, so that this costs little beside reading.
fn all_finite(bytes: &[u8], dtype: DType) -> bool {
    const BLOCK: usize = 1 << 14;
    fn any<const N: usize>(bytes: &[u8], is_bad: impl Fn([u8; N]) -> bool) -> bool {
        bytes.chunks(BLOCK).any(|block| {
            let numbers = block.as_chunks::<N>().0;
            numbers.iter().fold(false, |bad, number| bad | is_bad(*number))
        })
    }
    let half = |mask: u16| any(bytes, move |number| u16::from_le_bytes(number) & mask == mask);
    !match dtype {
        DType::F16 => half(0x7c00),
        DType::BF16 => half(0x7f80),
        DType::F32 => any(bytes, |number| u32::from_le_bytes(number) & 0x7f80_0000 == 0x7f80_0000),
        _ => any(bytes, |number| !f64::from_le_bytes(number).is_finite()),
    }
}

/// Adds the file name to an error.
fn bad(path: &Path) -> impl Fn(mico_tensors::Error) -> Error {
    move |error| match error {
        mico_tensors::Error::Io(error) => Error::io(path)(error),
        other => Error::Shard { path: path.to_path_buf(), message: other.to_string() },
    }
}
