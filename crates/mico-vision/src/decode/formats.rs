//! What a file is that cannot be decoded: named by its first bytes, with what to do about it.

/// What to do with a file of a format that is recognized and not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remedy {
    /// It holds a picture that other programs can write in an accepted format.
    Convert,
    /// It is a video.
    Video,
    /// It holds no picture.
    None,
}

/// A format that is recognized: bytes at a place of the file, its name, and what to do.
struct Signature {
    at: usize,
    bytes: &'static [u8],
    name: &'static str,
    remedy: Remedy,
}

const fn convert(at: usize, bytes: &'static [u8], name: &'static str) -> Signature {
    Signature { at, bytes, name, remedy: Remedy::Convert }
}

const fn video(at: usize, bytes: &'static [u8], name: &'static str) -> Signature {
    Signature { at, bytes, name, remedy: Remedy::Video }
}

const fn other(at: usize, bytes: &'static [u8], name: &'static str) -> Signature {
    Signature { at, bytes, name, remedy: Remedy::None }
}

/// Formats by their signatures; of several that fit the first counts, so special ones come before general ones.
const SIGNATURES: [Signature; 46] = [
    // Files of ISO boxes say after `ftyp` what they are.
    convert(4, b"ftypavif", "an AVIF image"),
    convert(4, b"ftypavis", "an AVIF image"),
    convert(4, b"ftypheic", "a HEIC image"),
    convert(4, b"ftypheix", "a HEIC image"),
    convert(4, b"ftyphevc", "a HEIC image"),
    convert(4, b"ftyphevx", "a HEIC image"),
    convert(4, b"ftypheim", "a HEIC image"),
    convert(4, b"ftypheis", "a HEIC image"),
    convert(4, b"ftypmif1", "a HEIF image"),
    convert(4, b"ftypmsf1", "a HEIF image"),
    convert(4, b"ftypcrx ", "a raw photo (CR3)"),
    convert(4, b"ftypjp2 ", "a JPEG 2000 image"),
    video(4, b"ftypqt  ", "a QuickTime video"),
    video(4, b"ftyp", "an MP4 video"),
    convert(0, b"\0\0\0\x0cJXL \r\n\x87\n", "a JPEG XL image"),
    convert(0, b"\xff\x0a", "a JPEG XL image"),
    convert(0, b"\0\0\0\x0cjP  \r\n\x87\n", "a JPEG 2000 image"),
    convert(0, b"\xff\x4f\xff\x51", "a JPEG 2000 image"),
    // Raw photos are TIFF files with marks of their own.
    convert(8, b"CR\x02\0", "a raw photo (CR2)"),
    convert(0, b"IIRO", "a raw photo (ORF)"),
    convert(0, b"IIRS", "a raw photo (ORF)"),
    convert(0, b"IIU\0", "a raw photo (RW2)"),
    convert(0, b"FUJIFILMCCD-RAW", "a raw photo (RAF)"),
    convert(0, b"II*\0", "a TIFF image or raw photo"),
    convert(0, b"MM\0*", "a TIFF image or raw photo"),
    convert(0, b"II+\0", "a TIFF image"),
    convert(0, b"MM\0+", "a TIFF image"),
    convert(0, b"8BPS", "a Photoshop file (PSD)"),
    convert(0, b"gimp xcf", "a GIMP file (XCF)"),
    convert(0, b"\0\0\x01\0", "an icon file (ICO)"),
    convert(0, b"\0\0\x02\0", "a cursor file (CUR)"),
    convert(0, b"%PDF-", "a PDF document"),
    convert(0, b"%!PS", "a PostScript file"),
    convert(0, b"qoif", "a QOI image"),
    convert(0, b"DDS ", "a DDS texture"),
    convert(0, b"v/1\x01", "an OpenEXR image"),
    convert(0, b"#?RADIANCE", "a Radiance HDR image"),
    convert(0, b"farbfeld", "a farbfeld image"),
    video(0, b"\x1a\x45\xdf\xa3", "a Matroska or WebM video"),
    video(8, b"AVI ", "an AVI video"),
    video(0, b"FLV\x01", "a Flash video"),
    video(0, b"\0\0\x01\xba", "an MPEG video"),
    other(0, b"PK\x03\x04", "a ZIP archive or office document"),
    other(0, b"\x1f\x8b", "a gzip archive"),
    other(0, b"\x7fELF", "a program"),
    other(0, b"ID3", "an audio file (MP3)"),
];

/// Portable bitmaps: `P` and a digit, then white space.
const NETPBM: [u8; 7] = *b"1234567";
/// How much of a text is looked at.
const TEXT_BYTES: usize = 1024;

/// What the content is, with what to do, if it can be told.
pub(super) fn describe(bytes: &[u8]) -> Option<String> {
    let (name, remedy) = recognize(bytes)?;
    let advice = match remedy {
        Remedy::Convert => ": convert it to PNG or JPEG",
        Remedy::Video => ": use --video",
        Remedy::None => "",
    };
    Some(format!("this is {name}, which is not read as an image{advice}"))
}

fn recognize(bytes: &[u8]) -> Option<(&'static str, Remedy)> {
    let fits = |one: &&Signature| bytes.get(one.at..).is_some_and(|b| b.starts_with(one.bytes));
    if let Some(found) = SIGNATURES.iter().find(fits) {
        return Some((found.name, found.remedy));
    }
    if let [b'P', kind, space, ..] = bytes
        && NETPBM.contains(kind)
        && space.is_ascii_whitespace()
    {
        return Some(("a portable bitmap (PBM, PGM, PPM or PAM)", Remedy::Convert));
    }
    text(bytes).map(|name| (name, if name == SVG { Remedy::Convert } else { Remedy::None }))
}

const SVG: &str = "an SVG drawing";

/// What kind of text this is, if it is one.
fn text(bytes: &[u8]) -> Option<&'static str> {
    let start = &bytes[..bytes.len().min(TEXT_BYTES)];
    let start = match std::str::from_utf8(start) {
        Ok(start) => start,
        // The last character may be cut in two.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&start[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let is_text = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\u{c}');
    if start.is_empty() || !start.chars().all(is_text) {
        return None;
    }
    let lower = start.trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
    let is_html =
        ["<!doctype html", "<html", "<head", "<body"].iter().any(|tag| lower.starts_with(tag));
    Some(match () {
        () if is_html => "an HTML page",
        () if lower.contains("<svg") && lower.starts_with('<') => SVG,
        () if lower.starts_with("<?xml") => "an XML file",
        () if lower.starts_with("version https://git-lfs") => {
            "a Git LFS pointer, not the file itself"
        }
        () if lower.starts_with(['{', '[']) => "a JSON text",
        () => "a text",
    })
}

/// Whether the content of an accepted format has more pictures than the first, which alone is decoded.
pub fn is_animated(bytes: &[u8]) -> bool {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return is_animated_png(bytes);
    }
    if bytes.starts_with(b"GIF8") {
        return gif_pictures(bytes).is_some_and(|count| count > 1);
    }
    // The extended header comes first and has a flag for animation.
    bytes.starts_with(b"RIFF")
        && bytes.get(8..16) == Some(b"WEBPVP8X")
        && bytes.get(20).is_some_and(|flags| flags & 2 != 0)
}

/// Whether a chunk before the pixels announces more than one frame.
fn is_animated_png(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(8..).unwrap_or_default();
    while let Some((length, kind)) = rest.get(..4).zip(rest.get(4..8)) {
        match kind {
            b"acTL" => {
                return rest.get(8..12).is_some_and(|frames| frames > [0, 0, 0, 1].as_slice());
            }
            b"IDAT" => return false,
            _ => {}
        }
        let length = length.iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
        rest = length.checked_add(12).and_then(|skip| rest.get(skip..)).unwrap_or_default();
    }
    false
}

/// Pictures of a GIF, at most two: more need not be known.
fn gif_pictures(bytes: &[u8]) -> Option<usize> {
    let colors = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    let mut at = 13 + colors(*bytes.get(10)?);
    let mut count = 0;
    while count < 2 {
        match bytes.get(at) {
            Some(0x2c) => {
                count += 1;
                // The descriptor, its colors, the least code size.
                at += 10 + colors(*bytes.get(at + 9)?) + 1;
            }
            Some(0x21) => at += 2,
            _ => break,
        }
        // Blocks of data up to an empty one.
        while let Some(&length) = bytes.get(at).filter(|length| **length > 0) {
            at += 1 + usize::from(length);
        }
        at += 1;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_named_with_what_to_do() {
        for (bytes, name, advice) in [
            (b"\0\0\0\x18ftypheic\0\0\0\0".as_slice(), "HEIC", "convert"),
            (b"\0\0\0\x20ftypavif\0\0\0\0", "AVIF", "convert"),
            (b"\0\0\0\x20ftypisom\0\0\0\0", "MP4", "--video"),
            (b"\0\0\0\x14ftypqt  \0\0\0\0", "QuickTime", "--video"),
            (b"II*\0\x10\0\0\0CR\x02\0", "CR2", "convert"),
            (b"MM\0*\0\0\0\x08", "TIFF", "convert"),
            (b"8BPS\0\x01", "PSD", "convert"),
            (b"%PDF-1.7", "PDF", "convert"),
            (b"\xff\x0a\0", "JPEG XL", "convert"),
            (b"\0\0\x01\0\x01\0", "ICO", "convert"),
            (b"P6\n2 2\n255\n", "PPM", "convert"),
            (b"<svg xmlns='x'/>", "SVG", "convert"),
            (b"<?xml version='1.0'?>\n<!-- by hand --><svg/>", "SVG", "convert"),
            (b"RIFF\0\0\0\0AVI LIST", "AVI", "--video"),
        ] {
            let said = describe(bytes).unwrap();
            assert!(said.contains(name) && said.contains(advice), "{said}");
        }
        for (bytes, name) in [
            (b"<!DOCTYPE html><svg>".as_slice(), "HTML"),
            (b"{\"a\": 1}", "JSON"),
            (b"hello, w\xc3", "a text"),
            (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        ] {
            let said = describe(bytes).unwrap();
            assert!(said.contains(name) && !said.contains("convert"), "{said}");
        }
        for bytes in [b"".as_slice(), b"\x00\x01\x02\x03", b"\xfe\xfd"] {
            assert_eq!(describe(bytes), None);
        }
    }

    #[test]
    fn animations_are_told_from_pictures_however_they_are_cut() {
        let actl = |frames: u8| {
            let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\0IHDR\0\0\0\0".to_vec();
            png.extend(b"\0\0\0\x08acTL\0\0\0");
            png.extend([frames, 0, 0, 0, 0, 0, 0, 0, 0]);
            png
        };
        assert!(is_animated(&actl(2)) && !is_animated(&actl(1)));
        let mut webp = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0".to_vec();
        assert!(is_animated(&webp));
        webp[20] = 0;
        assert!(!is_animated(&webp));
        let picture = [0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x4c, 1, 0];
        let control = [0x21, 0xf9, 4, 0, 0, 0, 0, 0];
        let mut gif = b"GIF89a\x01\0\x01\0\x80\0\0".to_vec();
        gif.extend([0; 6]);
        gif.extend(control);
        gif.extend(picture);
        assert!(!is_animated(&gif));
        gif.extend(control);
        gif.extend(picture);
        assert!(is_animated(&gif));
        for whole in [gif, actl(2), webp] {
            for end in 0..whole.len() {
                let _ = is_animated(&whole[..end]);
            }
        }
    }
}
