//! Parses boxes of the ISO base media file format (MP4), with every length checked.

use crate::error::Problem;

/// The length of a box header: its size and name.
pub(super) const HEADER: usize = 8;

/// The four-character code that names a box.
pub(super) type Name = [u8; 4];

/// A box name in printable form, for messages.
pub(super) fn readable(name: Name) -> String {
    name.escape_ascii().to_string()
}

/// Reads consecutive big-endian numbers; a premature end is an error that names the box.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    name: Name,
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(name: Name, bytes: &'a [u8]) -> Self {
        Self { name, bytes }
    }

    /// The version, and a reader for the fields after version and flags.
    pub(super) fn versioned(name: Name, bytes: &'a [u8]) -> Result<(u8, Self), Problem> {
        let mut fields = Self::new(name, bytes);
        let [version, ..] = fields.take::<4>()?;
        Ok((version, fields))
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Problem> {
        let Some((head, tail)) = self.bytes.split_at_checked(count) else {
            return Err(Problem::mp4(format!("the {} box ends too early", readable(self.name))));
        };
        self.bytes = tail;
        Ok(head)
    }

    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], Problem> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Problem> {
        Ok(u32::from_be_bytes(self.take()?))
    }

    pub(super) fn i32(&mut self) -> Result<i32, Problem> {
        Ok(i32::from_be_bytes(self.take()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Problem> {
        Ok(u64::from_be_bytes(self.take()?))
    }

    /// A number of 32 bits, or of 64 bits in version 1 of a box.
    pub(super) fn word(&mut self, version: u8) -> Result<u64, Problem> {
        if version == 1 { self.u64() } else { self.u32().map(u64::from) }
    }

    /// A table: the number of rows, then rows of `N` bytes. The box must contain all of them, so no
    /// memory is allocated by the stated number alone.
    pub(super) fn table<const N: usize>(&mut self) -> Result<&'a [[u8; N]], Problem> {
        let claimed = self.u32()? as usize;
        let (rows, _) = self.bytes.as_chunks::<N>();
        rows.get(..claimed).ok_or_else(|| {
            Problem::mp4(format!(
                "the {} box says {claimed} entries and holds {}",
                readable(self.name),
                rows.len()
            ))
        })
    }
}

/// The two 32-bit numbers of an eight-byte row.
pub(super) fn pair(row: [u8; 8]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = row;
    (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
}

/// The boxes inside `bytes`, each with name and content.
pub(super) fn children(bytes: &[u8]) -> Children<'_> {
    Children { bytes }
}

/// An iterator over boxes; see [`children`].
#[derive(Debug)]
pub(super) struct Children<'a> {
    bytes: &'a [u8],
}

impl<'a> Iterator for Children<'a> {
    type Item = Result<(Name, &'a [u8]), Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        // QuickTime ends some lists with four zero bytes.
        let (&[a, b, c, d, name @ ..], _) = self.bytes.split_first_chunk::<HEADER>()?;
        let (header, size) = match u32::from_be_bytes([a, b, c, d]) {
            0 => (HEADER, self.bytes.len()),
            1 => {
                let size = self.bytes.get(HEADER..).and_then(<[u8]>::first_chunk::<8>).copied();
                let size = usize::try_from(u64::from_be_bytes(size.unwrap_or_default()));
                (2 * HEADER, size.unwrap_or(usize::MAX))
            }
            size => (HEADER, size as usize),
        };
        let Some(content) = self.bytes.get(header..size) else {
            self.bytes = &[];
            let reason = format!("the {} box of {size} bytes does not fit", readable(name));
            return Some(Err(Problem::mp4(reason)));
        };
        self.bytes = &self.bytes[size..];
        Some(Ok((name, content)))
    }
}

/// The content of the first box with that name; `None` if there is none.
pub(super) fn find(bytes: &[u8], wanted: Name) -> Result<Option<&[u8]>, Problem> {
    for child in children(bytes) {
        let (name, content) = child?;
        if name == wanted {
            return Ok(Some(content));
        }
    }
    Ok(None)
}

/// The content of the first box with that name; an error if there is none.
pub(super) fn need(bytes: &[u8], wanted: Name) -> Result<&[u8], Problem> {
    find(bytes, wanted)?
        .ok_or_else(|| Problem::mp4(format!("the {} box is missing", readable(wanted))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_end_where_their_parent_does() {
        let bytes = [&[0, 0, 0, 9][..], b"abcd", &[7], &[0, 0, 0, 0], b"last", &[1, 2]].concat();
        let found: Vec<_> = children(&bytes).map(Result::unwrap).collect();
        assert_eq!(found, [(*b"abcd", &[7][..]), (*b"last", &[1, 2][..])]);
        let wide = [&[0, 0, 0, 1][..], b"wide", &17u64.to_be_bytes(), &[5]].concat();
        assert_eq!(need(&wide, *b"wide").unwrap(), [5]);
        let long = [&[0, 0, 0, 10][..], b"long", &[7]].concat();
        let message = find(&long, *b"else").unwrap_err().to_string();
        assert_eq!(message, "damaged MP4 file: the long box of 10 bytes does not fit");
        for size in [2u32, 7] {
            let short = [&size.to_be_bytes()[..], b"tiny"].concat();
            assert!(find(&short, *b"tiny").is_err());
        }
    }

    #[test]
    fn a_table_holds_what_it_claims() {
        let bytes = [0, 0, 0, 2, 1, 2, 3, 4];
        assert_eq!(Fields::new(*b"stco", &bytes).table::<2>().unwrap(), [[1, 2], [3, 4]]);
        let message = Fields::new(*b"stco", &bytes).table::<4>().unwrap_err().to_string();
        assert_eq!(message, "damaged MP4 file: the stco box says 2 entries and holds 1");
    }
}
