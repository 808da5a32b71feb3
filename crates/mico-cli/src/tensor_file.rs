//! Reading named tensors from a safetensors file without trusting it.
//!
//! Only the header and the tensors asked for are read, straight into the type they are used in.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Seek, SeekFrom};

use half::{bf16, f16};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

/// The longest header accepted, as in the reference implementation.
const MAX_HEADER: u64 = 100_000_000;
/// Bytes converted at a time.
const CHUNK: usize = 1 << 20;
/// The key of free-form remarks among the tensor names.
const METADATA: &str = "__metadata__";

/// What is wrong with a tensor file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TensorFileError {
    /// Reading failed.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// Too short, or a header that cannot be one.
    #[error("is no safetensors file: {0}")]
    Header(String),
    /// A tensor's entry contradicts itself or the file.
    #[error("tensor '{name}' {reason}")]
    Entry {
        /// The tensor.
        name: String,
        /// What does not fit.
        reason: String,
    },
    /// A tensor would not fit in the memory allowed.
    #[error("tensor '{name}' needs {needed} bytes, more than the memory limit of {limit} bytes")]
    Memory {
        /// The tensor.
        name: String,
        /// Bytes it takes as f32.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
}

type Result<T> = std::result::Result<T, TensorFileError>;

/// A tensor's place in the file.
#[derive(Debug, Clone, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

/// An open file whose header has been checked.
#[derive(Debug)]
pub struct TensorFile<R> {
    reader: R,
    data_start: u64,
    entries: BTreeMap<String, Entry>,
}

impl<R: Read + Seek> TensorFile<R> {
    /// Reads and checks the header.
    pub fn open(mut reader: R) -> Result<Self> {
        let length = reader.seek(SeekFrom::End(0))?;
        reader.seek(SeekFrom::Start(0))?;
        let mut prefix = [0; 8];
        if length < 8 {
            return Err(TensorFileError::Header(format!("it has only {length} bytes")));
        }
        reader.read_exact(&mut prefix)?;
        let header_length = u64::from_le_bytes(prefix);
        if header_length > MAX_HEADER || header_length > length - 8 {
            let what = format!("its header claims {header_length} of {} bytes", length - 8);
            return Err(TensorFileError::Header(what));
        }
        let mut header = Vec::new();
        reader.by_ref().take(header_length).read_to_end(&mut header)?;
        let Entries(entries) = serde_json::from_slice(&header)
            .map_err(|error| TensorFileError::Header(one_line(&error.to_string())))?;
        check_entries(&entries, length - 8 - header_length)?;
        Ok(Self { reader, data_start: 8 + header_length, entries })
    }

    /// Whether the file holds a tensor of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// A tensor of floats (F32, F16 or BF16) as f32, with its shape.
    pub fn floats(&mut self, name: &str, limit: u64) -> Result<(Vec<f32>, Vec<usize>)> {
        let entry = self.entry(name)?;
        let shape = shape_of(name, &entry)?;
        let size = element_size(&entry.dtype);
        let count = (entry.data_offsets.1 - entry.data_offsets.0) / size.unwrap_or(1);
        let needed = count.saturating_mul(4);
        if needed > limit {
            return Err(TensorFileError::Memory { name: name.into(), needed, limit });
        }
        let mut values = Vec::with_capacity(count as usize);
        match entry.dtype.as_str() {
            "F32" => self.convert::<4>(&entry, |b| values.push(f32::from_le_bytes(b)))?,
            "F16" => self.convert::<2>(&entry, |b| values.push(f16::from_le_bytes(b).to_f32()))?,
            "BF16" => {
                self.convert::<2>(&entry, |b| values.push(bf16::from_le_bytes(b).to_f32()))?;
            }
            other => return Err(wrong_type(name, other, "F32, F16, BF16")),
        }
        Ok((values, shape))
    }

    /// A tensor of whole numbers (I64 or I32), with its shape.
    pub fn integers(&mut self, name: &str, limit: u64) -> Result<(Vec<i64>, Vec<usize>)> {
        let entry = self.entry(name)?;
        let shape = shape_of(name, &entry)?;
        let bytes = entry.data_offsets.1 - entry.data_offsets.0;
        if bytes.saturating_mul(2) > limit {
            let needed = bytes.saturating_mul(2);
            return Err(TensorFileError::Memory { name: name.into(), needed, limit });
        }
        let mut values = Vec::new();
        match entry.dtype.as_str() {
            "I64" => self.convert::<8>(&entry, |b| values.push(i64::from_le_bytes(b)))?,
            "I32" => self.convert::<4>(&entry, |b| values.push(i32::from_le_bytes(b).into()))?,
            other => return Err(wrong_type(name, other, "I64, I32")),
        }
        Ok((values, shape))
    }

    fn entry(&self, name: &str) -> Result<Entry> {
        self.entries.get(name).cloned().ok_or_else(|| TensorFileError::Entry {
            name: name.into(),
            reason: "is not in the file".into(),
        })
    }

    /// Calls `f` with the little-endian bytes of each element.
    fn convert<const N: usize>(&mut self, entry: &Entry, mut f: impl FnMut([u8; N])) -> Result<()> {
        let (begin, end) = entry.data_offsets;
        self.reader.seek(SeekFrom::Start(self.data_start + begin))?;
        let mut left = (end - begin) as usize;
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

fn wrong_type(name: &str, found: &str, accepted: &str) -> TensorFileError {
    let found: String = found.chars().take(16).collect();
    let reason = format!("has type {found}, accepted: {accepted}");
    TensorFileError::Entry { name: name.into(), reason }
}

fn shape_of(name: &str, entry: &Entry) -> Result<Vec<usize>> {
    let shape = entry.shape.iter().map(|&side| usize::try_from(side)).collect::<Vec<_>>();
    shape.into_iter().collect::<std::result::Result<_, _>>().map_err(|_| TensorFileError::Entry {
        name: name.into(),
        reason: "has a side that no address can hold".into(),
    })
}

/// Bytes of an element, for the types the format defines.
fn element_size(dtype: &str) -> Option<u64> {
    Some(match dtype {
        "BOOL" | "U8" | "I8" | "F8_E4M3" | "F8_E5M2" => 1,
        "U16" | "I16" | "F16" | "BF16" => 2,
        "U32" | "I32" | "F32" => 4,
        "U64" | "I64" | "F64" => 8,
        _ => return None,
    })
}

/// Every tensor must have the bytes its shape asks for, inside the file, sharing none.
fn check_entries(entries: &BTreeMap<String, Entry>, data: u64) -> Result<()> {
    let mut spans = Vec::with_capacity(entries.len());
    for (name, entry) in entries {
        let fail = |reason: String| TensorFileError::Entry { name: one_line(name), reason };
        let (begin, end) = entry.data_offsets;
        if begin > end || end > data {
            return Err(fail(format!("spans bytes {begin} to {end} of {data}")));
        }
        if let Some(size) = element_size(&entry.dtype) {
            let bytes = entry.shape.iter().try_fold(size, |n, &side| n.checked_mul(side));
            if bytes != Some(end - begin) {
                let (dtype, shape) = (&entry.dtype, &entry.shape);
                return Err(fail(format!(
                    "of type {dtype} and shape {shape:?} has {} bytes",
                    end - begin
                )));
            }
        }
        spans.push((begin, end, name));
    }
    spans.sort_unstable();
    for pair in spans.windows(2) {
        if pair[1].0 < pair[0].1 {
            let reason = format!("shares bytes with '{}'", one_line(pair[0].2));
            return Err(TensorFileError::Entry { name: one_line(pair[1].2), reason });
        }
    }
    Ok(())
}

/// At most a line of a text that came from outside.
fn one_line(text: &str) -> String {
    text.chars().take(120).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The header's map; a name given twice is an error.
struct Entries(BTreeMap<String, Entry>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of tensor names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Entries, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == METADATA {
                map.next_value::<IgnoredAny>()?;
            } else {
                let shown = one_line(&name);
                if entries.insert(name, map.next_value()?).is_some() {
                    return Err(A::Error::custom(format!("tensor '{shown}' stands twice")));
                }
            }
        }
        Ok(Entries(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn file(header: &str, data: &[u8]) -> Cursor<Vec<u8>> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        Cursor::new(bytes)
    }

    fn refused(header: &str, data: &[u8]) -> String {
        let error = TensorFile::open(file(header, data)).err().map(|e| e.to_string());
        error.expect("must be refused")
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
        let mut file = TensorFile::open(file(header, &data)).unwrap();
        assert_eq!(file.floats("x", 100).unwrap(), (vec![1.5, -2.0], vec![1, 2]));
        assert_eq!(file.floats("y", 100).unwrap(), (vec![0.5, 4.0], vec![2]));
        assert_eq!(file.floats("z", 100).unwrap(), (vec![3.0], vec![1]));
        assert!(file.floats("x", 7).unwrap_err().to_string().contains("memory limit of 7"));
        assert!(file.integers("x", 100).unwrap_err().to_string().contains("type F32"));
    }

    #[test]
    fn hostile_headers_are_refused() {
        assert!(refused("", b"").contains("EOF"));
        assert!(refused("[1]", b"").contains("map"));
        let entry = |shape: &str, from: u64, to: u64| {
            format!(r#"{{"dtype":"F32","shape":{shape},"data_offsets":[{from},{to}]}}"#)
        };
        let one = |e: &str| format!(r#"{{"x":{e}}}"#);
        assert!(
            refused(&one(&entry("[2]", 0, 8)), &[0; 4]).contains("'x' spans bytes 0 to 8 of 4")
        );
        assert!(refused(&one(&entry("[2]", 8, 0)), &[0; 8]).contains("spans"));
        assert!(refused(&one(&entry("[3]", 0, 8)), &[0; 8]).contains("shape [3] has 8 bytes"));
        let huge = format!("[{0},{0},{0}]", u64::MAX);
        assert!(refused(&one(&entry(&huge, 0, 8)), &[0; 8]).contains("has 8 bytes"));
        let twice = format!(r#"{{"x":{0},"x":{0}}}"#, entry("[2]", 0, 8));
        assert!(refused(&twice, &[0; 8]).contains("twice"));
        let overlap = format!(r#"{{"x":{},"y":{}}}"#, entry("[2]", 0, 8), entry("[1]", 4, 8));
        assert!(refused(&overlap, &[0; 8]).contains("shares bytes"));
        let mut lie = u64::MAX.to_le_bytes().to_vec();
        lie.extend([0; 8]);
        assert!(TensorFile::open(Cursor::new(lie)).is_err());
        assert!(TensorFile::open(Cursor::new(vec![1, 2, 3])).is_err());
    }
}
