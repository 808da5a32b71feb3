//! Reads the width and height of an encoded image from its header, without decoding it.

/// Width and height in pixels of a PNG or JPEG image; `None` for other formats or damaged headers.
pub(super) fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    let found = png(bytes).or_else(|| jpeg(bytes))?;
    (found.0 > 0 && found.1 > 0).then_some(found)
}

fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    let rest = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    let number = |at: usize| Some(u32::from_be_bytes(rest.get(at..at + 4)?.try_into().ok()?));
    (rest.get(4..8)? == b"IHDR").then_some(())?;
    Some((number(8)?, number(12)?))
}

fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut rest = bytes.strip_prefix(b"\xff\xd8")?;
    loop {
        // Fill bytes may precede a marker.
        let start = rest.iter().position(|byte| *byte != 0xff)?;
        (start > 0).then_some(())?;
        let marker = rest.get(start)?;
        let segment = rest.get(start + 1..)?;
        let number =
            |at: usize| Some(u16::from_be_bytes(segment.get(at..at + 2)?.try_into().ok()?));
        // Frame headers (SOF markers); C4, C8 and CC in the same range are not.
        if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            return Some((number(5)?.into(), number(3)?.into()));
        }
        rest = segment.get(usize::from(number(0)?).max(2)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x40\0\0\0\x30";
        assert_eq!(size(png), Some((64, 48)));
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc0\0\x0b\x08\0\x30\0\x40\x03";
        assert_eq!(size(jpeg), Some((64, 48)));
        for cut in 0..jpeg.len() - 1 {
            assert_eq!(size(&jpeg[..cut]), None);
        }
        assert_eq!(size(b"\xff\xd8\xff\xe0\0\0\xff"), None);
        assert_eq!(size(b"GIF89a"), None);
    }
}
