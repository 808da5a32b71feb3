//! Detection of truncated JPEG files.
//!
//! The decoder fills the missing part of a truncated file with grey and reports success. A model would
//! then answer questions about a picture nobody took, so a file without its end marker is refused.

const MARKER: u8 = 0xff;
const START_OF_IMAGE: u8 = 0xd8;
const END_OF_IMAGE: u8 = 0xd9;
const START_OF_SCAN: u8 = 0xda;

/// Follows the marker segments from the start to the end-of-image marker. (A plain search for the
/// marker's two bytes would find the one of a thumbnail inside the EXIF block.)
pub(super) fn is_complete(bytes: &[u8]) -> bool {
    let mut at = 0;
    loop {
        let Some(marker) = next_marker(bytes, &mut at) else { return false };
        match marker {
            END_OF_IMAGE => return true,
            // Markers without a segment: start, restart, the arithmetic-coding filler.
            START_OF_IMAGE | 0xd0..=0xd7 | 0x01 => {}
            _ => {
                let Some(length) = bytes.get(at..at + 2) else { return false };
                at += usize::from(u16::from_be_bytes([length[0], length[1]])).max(2);
                if marker == START_OF_SCAN {
                    skip_scan(bytes, &mut at);
                }
            }
        }
    }
}

/// Moves `at` behind the next marker and returns it.
fn next_marker(bytes: &[u8], at: &mut usize) -> Option<u8> {
    loop {
        let found = bytes.get(*at..)?.iter().position(|&byte| byte == MARKER)?;
        *at += found + 1;
        while bytes.get(*at) == Some(&MARKER) {
            *at += 1;
        }
        let marker = *bytes.get(*at)?;
        *at += 1;
        if marker != 0 {
            return Some(marker);
        }
    }
}

/// Moves `at` to the first marker after the entropy-coded data: stuffed zeros and restart markers
/// belong to the data.
fn skip_scan(bytes: &[u8], at: &mut usize) {
    while let Some(&byte) = bytes.get(*at) {
        let next = bytes.get(*at + 1).copied();
        if byte == MARKER && !matches!(next, Some(0 | 0xd0..=0xd7)) {
            return;
        }
        *at += if byte == MARKER { 2 } else { 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::is_complete;

    #[test]
    fn the_end_marker_of_a_thumbnail_does_not_count() {
        let head = [0xff, 0xd8, 0xff, 0xe1, 0x00, 0x06, 0xff, 0xd8, 0xff, 0xd9];
        let scan = [0xff, 0xda, 0x00, 0x03, 0x01, 0x11, 0xff, 0x00, 0xff, 0xd3, 0x22];
        let cut: Vec<u8> = head.iter().chain(&scan).copied().collect();
        assert!(!is_complete(&cut));
        let whole: Vec<u8> = cut.iter().copied().chain([0xff, 0xd9]).collect();
        assert!(is_complete(&whole));
    }

    #[test]
    fn nonsense_is_not_complete() {
        assert!(!is_complete(&[]));
        assert!(!is_complete(&[0xff; 40]));
        assert!(!is_complete(&[0xff, 0xd8, 0xff, 0xe0, 0xff, 0xff]));
    }
}
