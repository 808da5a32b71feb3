//! One safetensors file: its header checked once, its tensors read one at a time.
//!
//! Tensors are read with plain file reads into the buffer they are converted from, so loading holds
//! the model plus one tensor, as a memory map would, but a file that shrinks meanwhile is an error
//! here instead of a fatal signal, and no `unsafe` is needed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use safetensors::tensor::{Dtype, Metadata, TensorInfo};

use crate::error::{Error, Result};

/// Bytes of the header's length field.
const LENGTH_BYTES: u64 = 8;
/// The format's own limit for the header.
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// An opened safetensors file.
#[derive(Debug)]
pub(super) struct Shard {
    path: PathBuf,
    memory: Option<&'static [u8]>,
    data_start: u64,
    tensors: BTreeMap<String, TensorInfo>,
}

impl Shard {
    /// Reads the header and checks it against the length of the file.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let bad = |message: String| Error::Shard { path: path.to_path_buf(), message };
        // Looked at before it is opened: opening a pipe waits for its writer.
        let found = std::fs::metadata(path).map_err(Error::io(path))?;
        let file_bytes = found.len();
        if !found.is_file() {
            return Err(bad("not a regular file".into()));
        }
        let mut file = File::open(path).map_err(Error::io(path))?;
        Self::read_header(path, &mut file, file_bytes, None)
    }

    /// The same for a file whose contents are in memory.
    pub(super) fn in_memory(path: &Path, bytes: &'static [u8]) -> Result<Self> {
        Self::read_header(path, &mut &*bytes, bytes.len() as u64, Some(bytes))
    }

    fn read_header(
        path: &Path,
        file: &mut impl Read,
        file_bytes: u64,
        memory: Option<&'static [u8]>,
    ) -> Result<Self> {
        let bad = |message: String| Error::Shard { path: path.to_path_buf(), message };
        let mut length = [0_u8; LENGTH_BYTES as usize];
        file.read_exact(&mut length)
            .map_err(|_| bad(format!("truncated: {file_bytes} bytes, no safetensors header")))?;
        let header_bytes = u64::from_le_bytes(length);
        if header_bytes > MAX_HEADER_BYTES || header_bytes > file_bytes.saturating_sub(LENGTH_BYTES)
        {
            let message = format!(
                "truncated or not safetensors: header of {header_bytes} bytes in a file of {file_bytes}"
            );
            return Err(bad(message));
        }
        let mut header = vec![0_u8; usize::try_from(header_bytes).unwrap_or(usize::MAX)];
        file.read_exact(&mut header).map_err(Error::io(path))?;
        let metadata: Metadata =
            serde_json::from_slice(&header).map_err(|e| bad(format!("bad header: {e}")))?;
        let data_start = LENGTH_BYTES + header_bytes;
        let expected = data_start.checked_add(metadata.data_len() as u64);
        if expected != Some(file_bytes) {
            let message = match cut_tensor(&metadata, file_bytes - data_start) {
                Some(name) => format!(
                    "truncated: {file_bytes} bytes, tensor `{name}` lies beyond the end of the file"
                ),
                None => format!("{file_bytes} bytes, the header describes fewer"),
            };
            return Err(bad(message));
        }
        let tensors =
            metadata.tensors().into_iter().map(|(name, info)| (name, info.clone())).collect();
        Ok(Self { path: path.to_path_buf(), memory, data_start, tensors })
    }

    /// Names of the tensors in this file.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Shape and stored bytes of a tensor.
    pub(super) fn info(&self, name: &str) -> Option<(&[usize], usize)> {
        let info = self.tensors.get(name)?;
        Some((&info.shape, info.data_offsets.1 - info.data_offsets.0))
    }

    /// Reads one tensor in the number format it is stored in.
    pub(super) fn load(&self, name: &str) -> Result<Tensor> {
        let info = self.tensors.get(name).ok_or_else(|| Error::Shard {
            path: self.path.clone(),
            message: format!("no tensor `{name}`"),
        })?;
        let dtype = match info.dtype {
            Dtype::F32 => DType::F32,
            Dtype::F16 => DType::F16,
            Dtype::BF16 => DType::BF16,
            Dtype::F64 => DType::F64,
            other => {
                return Err(Error::WrongDtype {
                    name: name.to_owned(),
                    found: format!("{other:?}"),
                });
            }
        };
        let (start, end) = info.data_offsets;
        if let Some(memory) = self.memory {
            let first = usize::try_from(self.data_start).unwrap_or(usize::MAX);
            let range = first.saturating_add(start)..first.saturating_add(end);
            let bytes = memory.get(range).unwrap_or_default();
            return Ok(Tensor::from_raw_buffer(bytes, dtype, &info.shape, &Device::Cpu)?);
        }
        let mut bytes = vec![0_u8; end - start];
        let mut file = File::open(&self.path).map_err(Error::io(&self.path))?;
        file.seek(SeekFrom::Start(self.data_start + start as u64))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(Error::io(&self.path))?;
        Ok(Tensor::from_raw_buffer(&bytes, dtype, &info.shape, &Device::Cpu)?)
    }
}

/// The first tensor that does not fit into `available` bytes of data.
fn cut_tensor(metadata: &Metadata, available: u64) -> Option<String> {
    metadata
        .offset_keys()
        .into_iter()
        .find(|name| metadata.info(name).is_some_and(|t| t.data_offsets.1 as u64 > available))
}
