//! What is asked of a WebP file before its decoder believes it.

/// Bytes before the first chunk: `RIFF`, a length, `WEBP`.
const FILE_HEAD: usize = 12;
/// Bytes of a chunk's name and length.
const CHUNK_HEAD: usize = 8;

/// Whether every chunk ends inside the file. The decoder allocates what a chunk of metadata says it has before
/// it reads any of it: up to 4 GiB for a file of a hundred bytes.
pub(super) fn has_whole_chunks(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(FILE_HEAD..).unwrap_or_default();
    while let Some(length) = rest.get(4..CHUNK_HEAD) {
        let length = length.iter().rev().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
        let Some(after) = rest.get(CHUNK_HEAD..).and_then(|data| data.get(length..)) else {
            return false;
        };
        // Chunks begin at even places; the byte between two may be missing at the end.
        rest = after.get(length % 2..).unwrap_or_default();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_that_claims_more_than_there_is_is_noticed() {
        let file = |length: [u8; 4]| {
            [b"RIFF\x20\0\0\0WEBPVP8L\x03\0\0\0abc\0EXIF".as_slice(), &length, b"12"].concat()
        };
        assert!(has_whole_chunks(&file([2, 0, 0, 0])));
        assert!(has_whole_chunks(&file([1, 0, 0, 0])));
        assert!(!has_whole_chunks(&file([3, 0, 0, 0])));
        assert!(!has_whole_chunks(&file([255, 255, 255, 255])));
        for end in 0..file([0; 4]).len() {
            let _ = has_whole_chunks(&file([0; 4])[..end]);
        }
    }
}
