//! The KV cache of one decoder block.

use candle_core::{DType, Device, Tensor};
use half::f16;
use half::vec::HalfBitsVecExt;

use super::KvFormat;
use crate::error::{Error, Result};

/// A full buffer is replaced by one 3/2 as large, so that appending token by token copies each entry
/// a bounded number of times.
const GROWTH_HALVES: usize = 3;
/// Spare room after the first fill, in tokens, for the answer.
const FIRST_SLACK: usize = 64;

/// The KV cache of one block: keys and values, `[kv_heads, length, head_dim]` each.
///
/// Entries once written never change: a truncated cache moves to a fresh buffer before it grows
/// again, so views handed out earlier stay valid.
#[derive(Debug, Default)]
pub(super) struct KeysValues {
    buffers: Option<(Tensor, Tensor)>,
    capacity: usize,
    pub(super) len: usize,
    /// Tokens the next buffer has room for, if that is enough; 0 if nobody said how many there will be.
    pub(super) reserved: usize,
    format: KvFormat,
}

impl KeysValues {
    pub(super) fn new(format: KvFormat) -> Self {
        Self { format, ..Self::default() }
    }

    pub(super) fn views(&self) -> Result<Option<(Tensor, Tensor)>> {
        match &self.buffers {
            Some((k, v)) if self.len > 0 => {
                Ok(Some((k.narrow(1, 0, self.len)?, v.narrow(1, 0, self.len)?)))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn append(&mut self, k: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)> {
        let (kv_heads, added, dim) = k.dims3()?;
        let needed = self.len + added;
        let dtype = self.format.dtype(k.dtype());
        let (k, v) = (k.to_dtype(dtype)?.contiguous()?, v.to_dtype(dtype)?.contiguous()?);
        if needed > self.capacity || self.buffers.is_none() {
            let capacity = self.next_capacity(added);
            let fresh = || zeros((kv_heads, capacity, dim), dtype, k.device());
            let (new_k, new_v) = (fresh()?, fresh()?);
            if let Some((old_k, old_v)) = self.views()? {
                new_k.slice_set(&old_k.contiguous()?, 1, 0)?;
                new_v.slice_set(&old_v.contiguous()?, 1, 0)?;
            }
            self.buffers = Some((new_k, new_v));
            self.capacity = capacity;
        }
        if let Some((buffer_k, buffer_v)) = &self.buffers {
            buffer_k.slice_set(&k, 1, self.len)?;
            buffer_v.slice_set(&v, 1, self.len)?;
        }
        self.len = needed;
        self.views()?.ok_or_else(|| Error::input("cache", "nothing to append"))
    }

    /// Tokens the next buffer has room for: what was reserved, or room for growth.
    fn next_capacity(&self, added: usize) -> usize {
        let needed = self.len + added;
        if needed <= self.reserved {
            self.reserved
        } else if self.len == 0 {
            added + FIRST_SLACK
        } else {
            needed.max(self.len * GROWTH_HALVES / 2)
        }
    }

    pub(super) fn truncate(&mut self, len: usize) {
        if len < self.len {
            self.len = len;
            self.capacity = len;
        }
        if len == 0 {
            self.buffers = None;
        }
    }

    pub(super) fn copy(&self) -> Result<Self> {
        let own = |t: Tensor| t.force_contiguous().and_then(|t| t.copy());
        let buffers = match self.views()? {
            Some((k, v)) => Some((own(k)?, own(v)?)),
            None => None,
        };
        let Self { len, reserved, format, .. } = *self;
        Ok(Self { buffers, capacity: len, len, reserved, format })
    }

    /// Bytes allocated, including the room for growth.
    pub(super) fn bytes(&self) -> usize {
        let size = |t: &Tensor| t.elem_count() * t.dtype().size_in_bytes();
        self.buffers.as_ref().map_or(0, |(k, v)| size(k) + size(v))
    }
}

/// A buffer of zeros that the system hands out untouched: its pages take memory once they are written.
fn zeros(shape: (usize, usize, usize), dtype: DType, device: &Device) -> Result<Tensor> {
    let (heads, capacity, dim) = shape;
    let numbers = heads.checked_mul(capacity).and_then(|rows| rows.checked_mul(dim));
    let bytes = numbers.and_then(|numbers| numbers.checked_mul(dtype.size_in_bytes()));
    let Some(numbers) = numbers.filter(|_| bytes.is_some_and(|size| isize::try_from(size).is_ok()))
    else {
        return Err(Error::input(
            "cache",
            format!("{capacity} tokens are more than memory can hold"),
        ));
    };
    if device.is_cpu() && dtype == DType::F16 {
        // Zeros of a type the standard library does not know are written one by one; those of u16 are not.
        let zeros: Vec<f16> = vec![0_u16; numbers].reinterpret_into();
        return Ok(Tensor::from_vec(zeros, shape, device)?);
    }
    Ok(Tensor::zeros(shape, dtype, device)?)
}
