//! The header of a safetensors file, which states type, shape and position of each tensor.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use mico_util::text::{brief, quoted};
use safetensors::Dtype;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::error::{Error, Result};

/// The size of the header's length field in bytes.
const LENGTH_BYTES: u64 = 8;
/// The longest accepted header in bytes, as in the reference implementation.
const MAX_HEADER_BYTES: u64 = 100_000_000;
/// The header key that holds free-form metadata instead of a tensor.
const METADATA: &str = "__metadata__";

/// A header whose entries have all been checked against the length of the file.
#[derive(Debug, Clone)]
pub struct Header {
    data_start: u64,
    data_bytes: u64,
    tensors: BTreeMap<String, TensorInfo>,
}

/// The element type, shape and position of a tensor.
#[derive(Debug, Clone)]
pub struct TensorInfo {
    dtype: StoredType,
    shape: Vec<usize>,
    /// Byte range of the data, counted from the end of the header.
    span: Range<u64>,
}

/// An element type, which may be unknown as long as the tensor is not read.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum StoredType {
    Known(Dtype),
    Other(String),
}

/// A tensor's entry as stored in the header.
#[derive(Debug, Deserialize)]
struct Entry {
    dtype: StoredType,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

impl TensorInfo {
    /// The element type; `None` if it is not defined by the format.
    pub fn dtype(&self) -> Option<Dtype> {
        match self.dtype {
            StoredType::Known(dtype) => Some(dtype),
            StoredType::Other(_) => None,
        }
    }

    /// The name of the element type; at most 16 characters of an unknown one.
    pub fn dtype_name(&self) -> String {
        match &self.dtype {
            StoredType::Known(dtype) => dtype.to_string(),
            StoredType::Other(name) => quoted(name).chars().take(16).collect(),
        }
    }

    /// The length of each dimension; empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of bytes that the tensor takes in the file.
    pub fn bytes(&self) -> u64 {
        self.span.end - self.span.start
    }

    fn check(&self, name: &str, data_bytes: u64) -> Result<()> {
        let Range { start: begin, end } = self.span;
        if begin > end {
            return Err(Error::tensor(name, format!("spans data bytes {begin} to {end}")));
        }
        if end > data_bytes {
            return Err(Error::Truncated { name: quoted(name), begin, end, found: data_bytes });
        }
        let Some(dtype) = self.dtype() else { return Ok(()) };
        let bits = self.shape.iter().try_fold(dtype.bitsize(), |n, &side| n.checked_mul(side));
        let bytes = bits.filter(|bits| bits.is_multiple_of(8)).map(|bits| bits as u64 / 8);
        if bytes == Some(end - begin) {
            return Ok(());
        }
        let reason =
            format!("of type {dtype} and shape {:?} has {} bytes", self.shape, end - begin);
        Err(Error::tensor(name, reason))
    }
}

impl Header {
    /// Reads the header at the start of a file of `file_bytes` bytes and checks every entry.
    pub fn read(reader: &mut impl Read, file_bytes: u64) -> Result<Self> {
        let mut length = [0; LENGTH_BYTES as usize];
        if file_bytes < LENGTH_BYTES {
            let what = format!("truncated or no safetensors file: {file_bytes} bytes");
            return Err(Error::Header(what));
        }
        reader.read_exact(&mut length)?;
        let (header_bytes, left) = (u64::from_le_bytes(length), file_bytes - LENGTH_BYTES);
        if header_bytes > MAX_HEADER_BYTES.min(left) {
            let what = format!(
                "truncated or no safetensors file: its header claims {header_bytes} of {left} bytes"
            );
            return Err(Error::Header(what));
        }
        // The buffer grows with the bytes actually read, not by the stated length.
        let mut header = Vec::new();
        reader.by_ref().take(header_bytes).read_to_end(&mut header)?;
        let Entries(tensors) = serde_json::from_slice(&header)
            .map_err(|error| Error::Header(format!("bad safetensors header: {}", brief(error))))?;
        let data_bytes = left - header_bytes;
        for (name, tensor) in &tensors {
            tensor.check(name, data_bytes)?;
        }
        check_disjoint(&tensors)?;
        Ok(Self { data_start: LENGTH_BYTES + header_bytes, data_bytes, tensors })
    }

    /// The names of all tensors, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The entry of a tensor; `None` if there is none of that name.
    pub fn get(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.get(name)
    }

    /// Checks that every byte belongs to a tensor, as the format requires. A checkpoint with unused
    /// bytes was damaged or written by a non-conforming program.
    pub fn require_packed(&self) -> Result<()> {
        // Tensors do not overlap, so comparing the sum is enough.
        let described = self.tensors.values().map(TensorInfo::bytes).sum();
        if described == self.data_bytes {
            return Ok(());
        }
        Err(Error::Unused { found: self.data_bytes, described })
    }

    /// The bytes of a tensor in a file that is held in memory.
    pub fn slice<'a>(&self, file: &'a [u8], name: &str) -> Result<&'a [u8]> {
        let Range { start, end } = self.place(name)?;
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let bytes = range.and_then(|(start, end)| file.get(start..end));
        bytes.ok_or_else(|| Error::tensor(name, "lies beyond the end of the file"))
    }

    /// Reads the raw little-endian bytes of a tensor from the file.
    pub fn bytes(&self, reader: &mut (impl Read + Seek), name: &str) -> Result<Vec<u8>> {
        let Range { start, end } = self.place(name)?;
        let length = usize::try_from(end - start)
            .map_err(|_| Error::tensor(name, "is larger than any address"))?;
        reader.seek(SeekFrom::Start(start))?;
        let mut bytes = vec![0; length];
        reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// The byte range of a tensor, counted from the start of the file.
    pub(crate) fn place(&self, name: &str) -> Result<Range<u64>> {
        let info = self.get(name).ok_or_else(|| Error::tensor(name, "is not in the file"))?;
        Ok(self.data_start + info.span.start..self.data_start + info.span.end)
    }
}

/// Checks that no byte belongs to two tensors.
fn check_disjoint(tensors: &BTreeMap<String, TensorInfo>) -> Result<()> {
    let spans = tensors.iter().map(|(name, info)| (info.span.start, info.span.end, name));
    let mut spans: Vec<(u64, u64, &String)> = spans.collect();
    spans.sort_unstable();
    match spans.windows(2).find(|pair| pair[1].0 < pair[0].1) {
        Some(pair) => {
            let reason = format!("shares bytes with `{}`", quoted(pair[0].2));
            Err(Error::tensor(pair[1].2, reason))
        }
        None => Ok(()),
    }
}

/// The header's JSON object; a name that occurs twice is an error.
struct Entries(BTreeMap<String, TensorInfo>);

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
                continue;
            }
            let shown = quoted(&name);
            let Entry { dtype, shape, data_offsets: (start, end) } = map
                .next_value()
                .map_err(|error| A::Error::custom(format!("tensor `{shown}`: {error}")))?;
            if entries.insert(name, TensorInfo { dtype, shape, span: start..end }).is_some() {
                return Err(A::Error::custom(format!("tensor `{shown}` stands twice")));
            }
        }
        Ok(Entries(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(header: &str, data: usize) -> Result<Header> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(vec![0; data]);
        let length = bytes.len() as u64;
        Header::read(&mut bytes.as_slice(), length)
    }

    fn refused(header: &str, data: usize) -> String {
        read(header, data).unwrap_err().to_string()
    }

    fn entry(shape: &str, from: u64, to: u64) -> String {
        format!(r#"{{"dtype":"F32","shape":{shape},"data_offsets":[{from},{to}]}}"#)
    }

    #[test]
    fn hostile_headers_are_refused() {
        assert!(refused("", 0).contains("EOF"));
        assert!(refused("[1]", 0).contains("map"));
        let one = |e: &str| format!(r#"{{"x":{e}}}"#);
        let cut = refused(&one(&entry("[2]", 0, 8)), 4);
        assert_eq!(cut, "truncated: tensor `x` spans data bytes 0 to 8, there are 4");
        assert!(refused(&one(&entry("[2]", 8, 0)), 8).contains("`x` spans data bytes 8 to 0"));
        assert!(refused(&one(&entry("[3]", 0, 8)), 8).contains("shape [3] has 8 bytes"));
        let huge = format!("[{0},{0},{0}]", u64::MAX);
        assert!(refused(&one(&entry(&huge, 0, 8)), 8).contains("has 8 bytes"));
        let twice = format!(r#"{{"x":{0},"x":{0}}}"#, entry("[2]", 0, 8));
        assert!(refused(&twice, 8).contains("twice"));
        let overlap = format!(r#"{{"x":{},"y":{}}}"#, entry("[2]", 0, 8), entry("[1]", 4, 8));
        assert!(refused(&overlap, 8).contains("`y` shares bytes with `x`"));
        for entry in [r#"{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}"#, "[]", "3"] {
            let text = refused(&one(entry), 8);
            assert!(text.starts_with("bad safetensors header: tensor `x`: "), "{text}");
        }
        let coloured = refused(r#"{"\u001b[31mred":{}}"#, 0);
        assert!(coloured.contains(r"tensor `\u{1b}[31mred`"), "{coloured}");
        let half_a_byte = r#"{"x":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}"#;
        assert!(refused(half_a_byte, 1).contains("type F4 and shape [3] has 1 bytes"));
    }

    #[test]
    fn lengths_are_not_believed() {
        let mut lie = u64::MAX.to_le_bytes().to_vec();
        lie.extend([0; 8]);
        let error = Header::read(&mut lie.as_slice(), 16).unwrap_err().to_string();
        assert!(error.contains(&u64::MAX.to_string()), "{error}");
        let error = Header::read(&mut [1, 2, 3].as_slice(), 3).unwrap_err().to_string();
        assert_eq!(error, "truncated or no safetensors file: 3 bytes");
        // A file that shrank after its length was asked for.
        assert!(Header::read(&mut [9, 0, 0].as_slice(), 100).is_err());
    }

    #[test]
    fn unknown_types_may_lie_in_a_file_that_nobody_reads_them_from() {
        let header = r#"{"x":{"dtype":"Q7","shape":[3],"data_offsets":[0,5]}}"#;
        let header = read(header, 5).unwrap();
        let info = header.get("x").unwrap();
        assert_eq!((info.dtype(), info.dtype_name()), (None, "Q7".to_owned()));
        assert_eq!((info.shape(), info.bytes()), (&[3][..], 5));
    }

    #[test]
    fn holes_and_tails_are_noticed_where_none_may_be() {
        let packed = format!(r#"{{"x":{},"y":{}}}"#, entry("[1]", 0, 4), entry("[1]", 4, 8));
        assert!(read(&packed, 8).unwrap().require_packed().is_ok());
        let error = read(&packed, 9).unwrap().require_packed().unwrap_err().to_string();
        assert_eq!(error, "9 bytes of data, the header describes fewer: 8");
        let hole = format!(r#"{{"x":{},"y":{}}}"#, entry("[1]", 0, 4), entry("[1]", 5, 9));
        assert!(read(&hole, 9).unwrap().require_packed().is_err());
    }
}
