//! Fields that a file must have right before anything else of it is looked at.

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Bytes of a chunk's length and name, and of its checksum.
const CHUNK_HEAD: usize = 8;
const CHECKSUM: usize = 4;
/// Bytes of the length before the header of a safetensors file.
const LENGTH: usize = 8;

/// Whether a file begins as a PNG file does.
pub(super) fn is_png(data: &[u8]) -> bool {
    data.starts_with(PNG)
}

/// Makes the checksums of all chunks of a PNG file right, as far as their lengths can be followed.
pub(super) fn png_checksums(data: &mut [u8]) {
    let mut at = PNG.len();
    while let Some(&[a, b, c, d]) = data.get(at..at + 4) {
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        let end = at + CHUNK_HEAD + length;
        if end + CHECKSUM > data.len() {
            return;
        }
        let checksum = crc32fast::hash(&data[at + 4..end]).to_be_bytes();
        data[end..end + CHECKSUM].copy_from_slice(&checksum);
        at = end + CHECKSUM;
    }
}

/// Header and data of a safetensors file; `None` if the file is none.
pub(super) fn split_safetensors(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = data.split_first_chunk::<LENGTH>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    rest.starts_with(b"{").then(|| rest.split_at_checked(length)).flatten()
}

/// A safetensors file of this header and data.
pub(super) fn join_safetensors(header: &[u8], body: &[u8]) -> Vec<u8> {
    let length = header.len() as u64;
    [&length.to_le_bytes()[..], header, body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_format() {
        // The end chunk of every PNG file.
        let mut file = [PNG, b"\0\0\0\0IEND\0\0\0\0"].concat();
        png_checksums(&mut file);
        assert!(file.ends_with(b"\xaeB`\x82"));
        // A chunk that says it is longer than the file.
        let mut cut = [PNG, b"\xff\xff\xff\xffIDAT\0\0\0\0"].concat();
        let before = cut.clone();
        png_checksums(&mut cut);
        assert_eq!(cut, before);
    }
}
