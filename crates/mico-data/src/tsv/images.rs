//! Decodes the image cell: base64, the index of another row, or a list of base64 texts.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::table::Table;
use crate::error::excerpt;
use crate::literal;
use crate::missing::is_missing;

/// A cell of at most this many characters is not an image but the index of the row that has it.
pub(crate) const REFERENCE: usize = 64;

/// The number of decoded images kept in the cache, because neighbouring rows often share one.
const CACHED: usize = 8;
const CACHED_BYTES: usize = 16 << 20;

/// Base64 without required padding and with stray trailing bits ignored, as in common decoders.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The byte offset of rows by index, with a cache of the images decoded last. Only offsets are kept
/// for the whole file.
#[derive(Default)]
pub(crate) struct Images {
    /// The byte offset of every row seen so far, by index.
    offsets: BTreeMap<String, u64>,
    /// All rows before this byte offset are in `offsets`.
    scanned: u64,
    finished: bool,
    /// A second reader of the file, opened when a cell refers to another row.
    finder: Option<Table>,
    cache: Vec<(String, Vec<Vec<u8>>)>,
}

impl Images {
    /// Records the position of a row; returns whether its index is new.
    pub(crate) fn note(&mut self, key: &str, (start, end): (u64, u64)) -> bool {
        let known = self.offsets.get(key).copied();
        if start >= self.scanned {
            self.scanned = end;
            if known.is_none() {
                self.offsets.insert(key.to_owned(), start);
            }
        }
        known.is_none_or(|first| first == start)
    }

    /// The encoded images of the current row of `table`.
    pub(crate) fn of(
        &mut self,
        table: &Table,
        key: &str,
        (index, image): (usize, usize),
    ) -> Result<Vec<Vec<u8>>, String> {
        let cell = table.raw(image);
        if !is_reference(cell) {
            let images = decode(cell)?;
            self.keep(key, &images);
            return Ok(images);
        }
        let target = std::str::from_utf8(cell).map_err(|_| "column 'image' is not UTF-8 text")?;
        let target = index_key(target);
        if target == key {
            return Err("its image is a reference to itself".into());
        }
        if let Some((_, images)) = self.cache.iter().find(|(owner, _)| *owner == target) {
            return Ok(images.clone());
        }
        let images = self.fetch(table, &target, (index, image))?;
        self.keep(&target, &images);
        Ok(images)
    }

    fn keep(&mut self, key: &str, images: &[Vec<u8>]) {
        let size = |images: &[Vec<u8>]| images.iter().map(Vec::len).sum::<usize>();
        if size(images) > CACHED_BYTES / 2 || self.cache.iter().any(|(owner, _)| owner == key) {
            return;
        }
        self.cache.push((key.to_owned(), images.to_vec()));
        while self.cache.len() > CACHED
            || self.cache.iter().map(|(_, images)| size(images)).sum::<usize>() > CACHED_BYTES
        {
            self.cache.remove(0);
        }
    }

    fn fetch(
        &mut self,
        table: &Table,
        target: &str,
        (index, image): (usize, usize),
    ) -> Result<Vec<Vec<u8>>, String> {
        let mut finder = match self.finder.take() {
            Some(finder) => finder,
            None => Table::open(table.path(), b'\t').map_err(|error| error.to_string())?,
        };
        let found = self.seek(&mut finder, target, index).and_then(|()| {
            let cell = finder.raw(image);
            if is_missing(cell) {
                return Err(format!("its image is that of row {}, which has none", excerpt(target)));
            }
            if is_reference(cell) {
                let (target, next) = (excerpt(target), excerpt(&String::from_utf8_lossy(cell)));
                return Err(format!(
                    "its image is that of row {target}, which refers on to row {next}: one step is accepted"
                ));
            }
            decode(cell).map_err(|reason| format!("image of row {}: {reason}", excerpt(target)))
        });
        self.finder = Some(finder);
        found
    }

    /// Moves `finder` to the row with the given index, scanning ahead only as far as needed.
    fn seek(&mut self, finder: &mut Table, target: &str, index: usize) -> Result<(), String> {
        let go = |finder: &mut Table, to| finder.seek(to).map_err(|error| error.to_string());
        if let Some(&start) = self.offsets.get(target) {
            go(finder, start)?;
            return match finder.read() {
                Some(Ok(())) => Ok(()),
                _ => Err(format!(
                    "its image is that of row {}, which cannot be read",
                    excerpt(target)
                )),
            };
        }
        if !self.finished {
            go(finder, self.scanned)?;
            while let Some(row) = finder.read() {
                let span = finder.span();
                // A damaged row is reported when the main reader reaches it.
                if row.is_err() {
                    self.scanned = self.scanned.max(span.1);
                    continue;
                }
                let key = index_key(&String::from_utf8_lossy(finder.raw(index)));
                self.note(&key, span);
                if key == target {
                    return Ok(());
                }
            }
            self.finished = true;
        }
        Err(format!("its image is that of row {}, and there is no such row", excerpt(target)))
    }
}

/// An index in normal form, so that `7`, `7.0` and ` 7` are the same row.
pub(crate) fn index_key(text: &str) -> String {
    let text = text.trim();
    let whole = text.strip_suffix(".0").unwrap_or(text);
    match whole.parse::<i64>() {
        Ok(number) => number.to_string(),
        Err(_) => text.to_owned(),
    }
}

fn is_reference(cell: &[u8]) -> bool {
    // Characters are counted only for short cells; a character has at most four bytes.
    cell.len() <= 4 * REFERENCE
        && String::from_utf8_lossy(cell).chars().count() <= REFERENCE
        && !cell.trim_ascii().starts_with(b"[")
}

fn decode(cell: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    if cell.trim_ascii_start().starts_with(b"[") {
        let text = std::str::from_utf8(cell).map_err(|_| "column 'image' is not UTF-8 text")?;
        let parts = literal::texts(text).map_err(|reason| format!("image list: {reason}"))?;
        if parts.is_empty() {
            return Err("image list: it is empty".into());
        }
        return parts.iter().map(|part| decode_base64(part.as_bytes())).collect();
    }
    Ok(vec![decode_base64(cell)?])
}

fn decode_base64(text: &[u8]) -> Result<Vec<u8>, String> {
    let text = text.trim_ascii();
    let text = match text.strip_prefix(b"data:") {
        Some(rest) => rest.iter().position(|b| *b == b',').map_or(rest, |comma| &rest[comma + 1..]),
        None => text,
    };
    let decoded = if text.iter().any(u8::is_ascii_whitespace) {
        let dense: Vec<u8> = text.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
        BASE64.decode(dense)
    } else {
        BASE64.decode(text)
    };
    match decoded {
        Ok(bytes) if bytes.is_empty() => Err("image: it is empty".into()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(format!("image: not base64: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_it_occurs() {
        let cases: [(&[u8], &[u8]); 6] = [
            (b"aGVsbG8=", b"hello"),
            (b"aGVsbG8", b"hello"),
            (b"aGVs\nbG8=\n", b"hello"),
            (b"data:image/png;base64,aGVsbG8=", b"hello"),
            (b" aGVsbG8= ", b"hello"),
            (b"aGVsbG9=", b"hello"),
        ];
        for (text, expected) in cases {
            assert_eq!(decode_base64(text).unwrap(), expected);
        }
        for text in [&b"a"[..], b"****", b"", b"aGVs*G8=", b"data:", b"\xff\xfe"] {
            assert!(decode_base64(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn keys_of_rows() {
        for (text, key) in [("7", "7"), (" 7.0", "7"), ("007", "7"), ("-1", "-1"), ("a_0", "a_0")] {
            assert_eq!(index_key(text), key);
        }
        assert_eq!(index_key("99999999999999999999"), "99999999999999999999");
    }

    #[test]
    fn the_cache_is_bounded() {
        let mut images = Images::default();
        for number in 0..100 {
            images.keep(&number.to_string(), &[vec![0; 4 << 20]]);
            images.keep("huge", &[vec![0; CACHED_BYTES]]);
        }
        let total: usize = images.cache.iter().map(|(_, i)| i[0].len()).sum();
        assert!(total <= CACHED_BYTES && images.cache.len() <= CACHED);
        assert!(images.cache.iter().all(|(key, _)| key != "huge"));
    }
}
