//! Reads tensors as `f32` or `i64` values, under a limit on memory.

use std::io::{Read, Seek, SeekFrom};

use half::{bf16, f16};
use safetensors::Dtype;

use crate::error::{Error, Result};
use crate::header::{Header, TensorInfo};

/// The number of bytes that are read and converted at a time.
const CHUNK: usize = 1 << 20;

/// An open safetensors file whose header has been checked.
#[derive(Debug)]
pub struct TensorFile<R> {
    reader: R,
    header: Header,
}

impl<R: Read + Seek> TensorFile<R> {
    /// Reads and checks the header; tensor data is read only on request.
    pub fn open(mut reader: R) -> Result<Self> {
        let length = reader.seek(SeekFrom::End(0))?;
        reader.seek(SeekFrom::Start(0))?;
        let header = Header::read(&mut reader, length)?;
        Ok(Self { reader, header })
    }

    /// Whether the file has a tensor of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.header.get(name).is_some()
    }

    /// Reads a floating-point tensor (F32, F16 or BF16) as `f32` with its shape. It is an error if
    /// the result takes more than `limit` bytes.
    pub fn floats(&mut self, name: &str, limit: u64) -> Result<(Vec<f32>, Vec<usize>)> {
        let accepted = [Dtype::F32, Dtype::F16, Dtype::BF16];
        let (info, dtype) = self.info(name, &accepted)?;
        let shape = info.shape().to_vec();
        let count = reserve::<f32>(name, info, dtype, limit)?;
        let mut values = Vec::with_capacity(count);
        match dtype {
            Dtype::F16 => self.convert(name, |b| values.push(f16::from_le_bytes(b).to_f32()))?,
            Dtype::BF16 => self.convert(name, |b| values.push(bf16::from_le_bytes(b).to_f32()))?,
            _ => self.convert(name, |b| values.push(f32::from_le_bytes(b)))?,
        }
        Ok((values, shape))
    }

    /// Reads an integer tensor (I64 or I32) as `i64` with its shape. It is an error if the result
    /// takes more than `limit` bytes.
    pub fn integers(&mut self, name: &str, limit: u64) -> Result<(Vec<i64>, Vec<usize>)> {
        let (info, dtype) = self.info(name, &[Dtype::I64, Dtype::I32])?;
        let shape = info.shape().to_vec();
        let count = reserve::<i64>(name, info, dtype, limit)?;
        let mut values = Vec::with_capacity(count);
        match dtype {
            Dtype::I32 => self.convert(name, |b| values.push(i32::from_le_bytes(b).into()))?,
            _ => self.convert(name, |b| values.push(i64::from_le_bytes(b)))?,
        }
        Ok((values, shape))
    }

    /// The entry of a tensor, which must have one of the accepted element types.
    fn info(&self, name: &str, accepted: &[Dtype]) -> Result<(&TensorInfo, Dtype)> {
        let info =
            self.header.get(name).ok_or_else(|| Error::tensor(name, "is not in the file"))?;
        let dtype = info.dtype().filter(|dtype| accepted.contains(dtype)).ok_or_else(|| {
            let accepted: Vec<String> = accepted.iter().map(ToString::to_string).collect();
            let (found, accepted) = (info.dtype_name(), accepted.join(", "));
            Error::tensor(name, format!("has type {found}, accepted: {accepted}"))
        })?;
        Ok((info, dtype))
    }

    /// Calls `f` with the little-endian bytes of each element.
    fn convert<const N: usize>(&mut self, name: &str, mut f: impl FnMut([u8; N])) -> Result<()> {
        let place = self.header.place(name)?;
        self.reader.seek(SeekFrom::Start(place.start))?;
        let mut left = (place.end - place.start) as usize;
        let mut buffer = vec![0; left.min(CHUNK)];
        while left > 0 {
            let chunk = &mut buffer[..left.min(CHUNK)];
            self.reader.read_exact(chunk)?;
            chunk.as_chunks::<N>().0.iter().for_each(|bytes| f(*bytes));
            left -= chunk.len();
        }
        Ok(())
    }
}

/// The number of elements of a tensor; an error if as `T` they take more than `limit` bytes.
fn reserve<T>(name: &str, info: &TensorInfo, dtype: Dtype, limit: u64) -> Result<usize> {
    let count = info.bytes() / (dtype.bitsize() as u64 / 8).max(1);
    let needed = count.saturating_mul(size_of::<T>() as u64);
    if needed > limit {
        return Err(Error::Memory { name: name.into(), needed, limit });
    }
    Ok(count as usize)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn file(header: &str, data: &[u8]) -> TensorFile<Cursor<Vec<u8>>> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        TensorFile::open(Cursor::new(bytes)).unwrap()
    }

    #[test]
    fn floats_of_three_types_and_unaligned_data() {
        let header = r#"{"__metadata__":{"a":"b"},
            "x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},
            "y":{"dtype":"F16","shape":[2],"data_offsets":[8,12]},
            "z":{"dtype":"BF16","shape":[1],"data_offsets":[12,14]}}"#;
        let mut data = Vec::new();
        data.extend(1.5f32.to_le_bytes());
        data.extend((-2.0f32).to_le_bytes());
        data.extend(f16::from_f32(0.5).to_le_bytes());
        data.extend(f16::from_f32(4.0).to_le_bytes());
        data.extend(bf16::from_f32(3.0).to_le_bytes());
        let mut file = file(header, &data);
        assert_eq!(file.floats("x", 100).unwrap(), (vec![1.5, -2.0], vec![1, 2]));
        assert_eq!(file.floats("y", 100).unwrap(), (vec![0.5, 4.0], vec![2]));
        assert_eq!(file.floats("z", 100).unwrap(), (vec![3.0], vec![1]));
        assert!(file.floats("x", 7).unwrap_err().to_string().contains("memory limit of 7"));
        assert!(file.integers("x", 100).unwrap_err().to_string().contains("type F32"));
        assert!(file.floats("w", 100).unwrap_err().to_string().contains("`w` is not in the file"));
        assert!(file.contains("x") && !file.contains("__metadata__"));
    }

    #[test]
    fn whole_numbers_of_two_types() {
        let header = r#"{"x":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},
            "y":{"dtype":"I32","shape":[2],"data_offsets":[8,16]}}"#;
        let mut data = (-5_i64).to_le_bytes().to_vec();
        data.extend([7_i32, -1].iter().flat_map(|n| n.to_le_bytes()));
        let mut file = file(header, &data);
        assert_eq!(file.integers("x", 8).unwrap(), (vec![-5], vec![1]));
        assert_eq!(file.integers("y", 16).unwrap(), (vec![7, -1], vec![2]));
        assert!(file.integers("y", 15).is_err());
        assert!(file.floats("y", 100).unwrap_err().to_string().contains("F32, F16, BF16"));
    }
}
