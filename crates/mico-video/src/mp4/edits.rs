//! Parses edit lists, which state the part of a track that is shown and when it starts.

use super::boxes::{Fields, find};
use crate::error::Problem;

/// The part of a track that is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edit {
    /// The time that counts as 0, in the track's time units.
    pub(super) zero: i64,
    /// The first time that is shown, in the track's time units.
    pub(super) from: i64,
    /// The first time that is no longer shown, in the track's time units.
    pub(super) to: i64,
    /// The delay before the track starts, in seconds.
    pub(super) delay: f64,
}

/// The time units per second of the movie and of the track; an edit list uses both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clocks {
    pub(super) movie: u32,
    pub(super) track: u32,
}

impl Edit {
    /// The whole track from its time 0, for tracks without an edit list.
    pub(super) const WHOLE: Self = Self { zero: 0, from: i64::MIN, to: i64::MAX, delay: 0.0 };

    /// Whether a picture at this time is shown.
    pub(super) fn shows(&self, time: i64) -> bool {
        (self.from..self.to).contains(&time)
    }
}

/// Reads the track's edit list, if any: an optional initial gap, then one part.
pub(super) fn read(trak: &[u8], clocks: Clocks) -> Result<Edit, Problem> {
    let elst = match find(trak, *b"edts")? {
        Some(edts) => find(edts, *b"elst")?,
        None => None,
    };
    let Some(elst) = elst else { return Ok(Edit::WHOLE) };
    let (version, mut fields) = Fields::versioned(*b"elst", elst)?;
    let count = fields.u32()?;
    let mut edit: Option<Edit> = None;
    let mut delay = 0.0;
    // Each iteration consumes bytes of the box, so a false count ends early.
    for _ in 0..count {
        let length = fields.word(version)?;
        let from = if version == 1 { fields.u64()?.cast_signed() } else { fields.i32()?.into() };
        let _rate = fields.u32()?;
        if edit.is_some() {
            return Err(Problem::Unsupported {
                what: "a track cut together from several parts (edit list) is".into(),
                accepted: "one part is",
            });
        }
        if from < 0 {
            delay += length as f64 / f64::from(clocks.movie);
            continue;
        }
        edit = Some(Edit { zero: from, from, to: end(from, length, clocks), delay: 0.0 });
    }
    Ok(Edit { delay, ..edit.unwrap_or(Edit::WHOLE) })
}

/// The end of a part whose length is given in the movie's time units; a length of 0 means the rest.
fn end(from: i64, length: u64, clocks: Clocks) -> i64 {
    if length == 0 {
        return i64::MAX;
    }
    // Rounded up, because the movie's time units are often too coarse for the end of the last picture.
    let units = (u128::from(length) * u128::from(clocks.track)).div_ceil(clocks.movie.into());
    from.saturating_add(i64::try_from(units).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCKS: Clocks = Clocks { movie: 1000, track: 12800 };

    fn list(rows: &[[i32; 3]]) -> Result<Edit, Problem> {
        let count = i32::try_from(rows.len()).unwrap();
        let numbers = [0, count].into_iter().chain(rows.concat());
        let body: Vec<u8> = numbers.flat_map(i32::to_be_bytes).collect();
        let wrap = |name: &[u8; 4], body: &[u8]| {
            [&(8 + body.len() as u32).to_be_bytes()[..], name, body].concat()
        };
        read(&wrap(b"edts", &wrap(b"elst", &body)), CLOCKS)
    }

    #[test]
    fn a_part_after_a_gap() {
        let edit = list(&[[500, -1, 1 << 16], [1000, 1024, 1 << 16]]).unwrap();
        assert_eq!(edit, Edit { zero: 1024, from: 1024, to: 1024 + 12800, delay: 0.5 });
        assert!(edit.shows(1024) && !edit.shows(1023) && !edit.shows(13824));
        assert_eq!(list(&[[0, 7, 1 << 16]]).unwrap(), Edit { zero: 7, from: 7, ..Edit::WHOLE });
        assert_eq!(read(&[], CLOCKS).unwrap(), Edit::WHOLE);
    }

    #[test]
    fn more_than_one_part_is_refused() {
        let error = list(&[[1, 0, 1 << 16], [1, 5, 1 << 16]]).unwrap_err();
        assert!(error.to_string().contains("several parts"), "{error}");
    }
}
