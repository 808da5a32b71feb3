//! Iterates over the chunks of a RIFF file, the container of WebP.

use std::io::{ErrorKind, Read, Seek, SeekFrom};

use crate::error::Problem;

/// The length of the file header: `RIFF`, its size and `WEBP`.
const RIFF_HEADER: u64 = 12;
/// The length of a chunk header: its name and size.
pub(super) const CHUNK_HEADER: u64 = 8;

/// A chunk's name and the position of its content, which may reach beyond the end of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) name: [u8; 4],
    pub(super) start: u64,
    pub(super) size: u64,
}

impl Chunk {
    /// The offset just after the content.
    pub(super) fn end(&self) -> u64 {
        self.start + self.size
    }
}

/// An iterator over consecutive chunks.
#[derive(Debug)]
pub(super) struct Chunks<R> {
    file: R,
    at: u64,
    end: u64,
}

impl<R: Read + Seek> Chunks<R> {
    /// The chunks of a file of `length` bytes; bytes after the RIFF data are ignored.
    pub(super) fn of_file(mut file: R, length: u64) -> Result<Self, Problem> {
        file.seek(SeekFrom::Start(0))?;
        let [.., s0, s1, s2, s3, _, _, _, _] = exactly::<12>(&mut file)?;
        let riff = CHUNK_HEADER + u64::from(u32::from_le_bytes([s0, s1, s2, s3]));
        Ok(Self::up_to(file, riff.min(length)))
    }

    /// The chunks of a file up to `end`, which must not exceed the file's length.
    pub(super) fn up_to(file: R, end: u64) -> Self {
        Self { file, at: RIFF_HEADER, end }
    }

    /// The offset beyond which no chunk reaches.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The chunks inside a chunk's content, from `skip` bytes into it.
    pub(super) fn within(&mut self, chunk: &Chunk, skip: u64) -> Chunks<&mut R> {
        let end = chunk.end().min(self.end);
        Chunks { file: &mut self.file, at: chunk.start + skip, end }
    }

    /// The next chunk; `None` if no further chunk header fits.
    pub(super) fn next(&mut self) -> Result<Option<Chunk>, Problem> {
        // Sizes have 32 bits and offsets stay within the file, so these sums cannot overflow 64 bits.
        if self.at + CHUNK_HEADER > self.end {
            return Ok(None);
        }
        self.file.seek(SeekFrom::Start(self.at))?;
        let [name @ .., s0, s1, s2, s3] = exactly::<8>(&mut self.file)?;
        let size = u64::from(u32::from_le_bytes([s0, s1, s2, s3]));
        let chunk = Chunk { name, start: self.at + CHUNK_HEADER, size };
        // Chunks are padded to an even length.
        self.at = chunk.end() + size % 2;
        Ok(Some(chunk))
    }

    /// The first `N` bytes of a chunk's content.
    pub(super) fn take<const N: usize>(&mut self, chunk: &Chunk) -> Result<[u8; N], Problem> {
        if chunk.size < N as u64 {
            let (name, size) = (chunk.name.escape_ascii(), chunk.size);
            return Err(damaged(format!("the {name} chunk has {size} bytes, {N} are needed")));
        }
        self.file.seek(SeekFrom::Start(chunk.start))?;
        exactly(&mut self.file)
    }

    /// Appends the bytes between two offsets of the file to `buffer`.
    pub(super) fn append(
        &mut self,
        from: u64,
        to: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Problem> {
        self.file.seek(SeekFrom::Start(from))?;
        (&mut self.file).take(to.saturating_sub(from)).read_to_end(buffer)?;
        Ok(())
    }
}

/// The error for a malformed WebP file.
pub(super) fn damaged(reason: impl Into<String>) -> Problem {
    Problem::Damaged { format: "WebP", reason: reason.into() }
}

fn exactly<const N: usize>(file: &mut impl Read) -> Result<[u8; N], Problem> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => damaged("the data ends within a chunk"),
        _ => Problem::from(error),
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A RIFF file with these chunks and a false size of its own if asked for.
    fn file(chunks: &[u8], size: u32) -> Vec<u8> {
        [b"RIFF", &size.to_le_bytes()[..], b"WEBP", chunks].concat()
    }

    fn names(bytes: &[u8]) -> Vec<[u8; 4]> {
        let mut chunks = Chunks::of_file(Cursor::new(bytes), bytes.len() as u64).unwrap();
        let mut names = Vec::new();
        while let Some(chunk) = chunks.next().unwrap() {
            names.push(chunk.name);
        }
        names
    }

    #[test]
    fn chunks_are_padded_and_end_with_the_riff_data() {
        let two = [b"ODD ", &[1, 0, 0, 0, 9, 0][..], b"NEXT", &[0; 4]].concat();
        assert_eq!(names(&file(&two, 22)), [*b"ODD ", *b"NEXT"]);
        assert_eq!(names(&file(&two, 14)), [*b"ODD "]);
        assert_eq!(names(&file(&two, u32::MAX)), [*b"ODD ", *b"NEXT"]);
        assert!(names(&file(&two, 0)).is_empty());
    }

    #[test]
    fn a_chunk_larger_than_the_file_is_the_last() {
        let large = [b"HUGE", &[0xff; 4][..], b"NEXT", &[0; 4]].concat();
        let bytes = file(&large, 20);
        assert_eq!(names(&bytes), [*b"HUGE"]);
        let mut chunks = Chunks::of_file(Cursor::new(&bytes), bytes.len() as u64).unwrap();
        let huge = chunks.next().unwrap().unwrap();
        assert_eq!(chunks.within(&huge, 0).next().unwrap().map(|chunk| chunk.name), Some(*b"NEXT"));
        assert!(chunks.within(&huge, 1).next().unwrap().is_none());
    }

    #[test]
    fn a_chunk_without_its_header_says_so() {
        let bytes = file(&[b"ANMF", &[2, 0, 0, 0, 7, 7][..]].concat(), 14);
        let mut chunks = Chunks::of_file(Cursor::new(&bytes), bytes.len() as u64).unwrap();
        let short = chunks.next().unwrap().unwrap();
        let error = chunks.take::<16>(&short).unwrap_err().to_string();
        assert_eq!(error, "damaged WebP file: the ANMF chunk has 2 bytes, 16 are needed");
    }
}
