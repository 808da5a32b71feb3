//! Parses the sample table: the position, display time and sync flag of each coded picture.

use super::boxes::{Fields, find, need, pair};
use crate::budget::at_most;
use crate::error::Problem;

/// One sample of the track, which is one coded picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The offset of its first byte in the file.
    pub(crate) offset: u64,
    /// The length in bytes; 0 for a picture that was not coded.
    pub(crate) size: u32,
    /// Whether the table marks it as a sync sample, at which decoding may start.
    pub(crate) sync: bool,
    /// The duration in the track's time units, up to the next sample in decoding order.
    pub(crate) duration: u32,
    /// The display time in the track's time units.
    pub(crate) shown_at: i64,
}

/// The limits against which a table is checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// The length of the file in bytes.
    pub(crate) file_bytes: u64,
    /// The most samples that are accepted.
    pub(crate) samples: u64,
}

/// Reads the `stbl` box; samples are returned in decoding order.
pub(crate) fn read(stbl: &[u8], bounds: Bounds) -> Result<Vec<Sample>, Problem> {
    let mut samples = sizes(stbl, bounds)?;
    place(stbl, &mut samples, bounds.file_bytes)?;
    schedule(stbl, &mut samples)?;
    mark_sync(stbl, &mut samples)?;
    Ok(samples)
}

/// Reads `stsz`: the size of each sample, or one size for all.
fn sizes(stbl: &[u8], bounds: Bounds) -> Result<Vec<Sample>, Problem> {
    let sample = |size| Sample { offset: 0, size, sync: true, duration: 0, shown_at: 0 };
    let Some(stsz) = find(stbl, *b"stsz")? else {
        return Err(match find(stbl, *b"stz2")? {
            Some(_) => Problem::Unsupported {
                what: "a compact sample table (stz2) is".into(),
                accepted: "the plain one (stsz) is",
            },
            None => Problem::mp4("the stsz box is missing"),
        });
    };
    let (_, mut fields) = Fields::versioned(*b"stsz", stsz)?;
    let uniform = fields.u32()?;
    if uniform == 0 {
        let table = fields.table::<4>()?;
        at_most("frames", table.len() as u64, bounds.samples)?;
        return Ok(table.iter().map(|row| sample(u32::from_be_bytes(*row))).collect());
    }
    let count = fields.u32()?;
    at_most("frames", count.into(), bounds.samples)?;
    Ok(vec![sample(uniform); count as usize])
}

/// Reads `stsc` with `stco` or `co64`: the chunks in which samples are stored consecutively.
fn place(stbl: &[u8], samples: &mut [Sample], file_bytes: u64) -> Result<(), Problem> {
    let chunks = chunk_offsets(stbl)?;
    let (_, mut fields) = Fields::versioned(*b"stsc", need(stbl, *b"stsc")?)?;
    let runs = fields.table::<12>()?;
    let mut runs = runs.iter().map(|row| {
        let [a, b, c, d, rest @ ..] = *row;
        let (per_chunk, description) = pair(rest);
        (u32::from_be_bytes([a, b, c, d]), per_chunk, description)
    });
    let mut run = runs.next();
    let mut next_run = runs.next();
    let total = samples.len();
    // Overlapping samples would make a small file as costly to read as a large one.
    let bytes: u64 = samples.iter().map(|sample| u64::from(sample.size)).sum();
    if bytes > file_bytes {
        return Err(Problem::mp4(format!(
            "{total} samples of {bytes} bytes in a file of {file_bytes} bytes"
        )));
    }
    let mut placed = samples.iter_mut().enumerate();
    let mut remaining = total;
    for (chunk, start) in (1u32..).zip(chunks) {
        // A run applies from its first chunk until the next run's.
        while next_run.is_some_and(|(first, ..)| first <= chunk) {
            run = next_run;
            next_run = runs.next();
        }
        let Some((first, per_chunk, description)) = run else { break };
        if first > chunk || description != 1 {
            return Err(if first > chunk {
                Problem::mp4(format!("the stsc box does not cover chunk {chunk}"))
            } else {
                several_descriptions()
            });
        }
        let mut offset = start?;
        for (index, sample) in placed.by_ref().take(per_chunk as usize) {
            sample.offset = offset;
            let end = offset.checked_add(sample.size.into());
            let Some(end) = end.filter(|&end| end <= file_bytes) else {
                return Err(Problem::mp4(format!(
                    "sample {index} of {} bytes at {offset} lies beyond the file's {file_bytes} bytes",
                    sample.size
                )));
            };
            offset = end;
            remaining -= 1;
        }
        if remaining == 0 {
            return Ok(());
        }
    }
    if remaining > 0 {
        let there = total - remaining;
        return Err(Problem::mp4(format!("chunks hold {there} of {total} samples")));
    }
    Ok(())
}

pub(super) fn several_descriptions() -> Problem {
    Problem::Unsupported {
        what: "a track with several sample descriptions is".into(),
        accepted: "one is",
    }
}

type Offsets<'a> = Box<dyn Iterator<Item = Result<u64, Problem>> + 'a>;

fn chunk_offsets(stbl: &[u8]) -> Result<Offsets<'_>, Problem> {
    if let Some(stco) = find(stbl, *b"stco")? {
        let (_, mut fields) = Fields::versioned(*b"stco", stco)?;
        let rows = fields.table::<4>()?;
        return Ok(Box::new(rows.iter().map(|row| Ok(u32::from_be_bytes(*row).into()))));
    }
    let (_, mut fields) = Fields::versioned(*b"co64", need(stbl, *b"co64")?)?;
    let rows = fields.table::<8>()?;
    Ok(Box::new(rows.iter().map(|row| Ok(u64::from_be_bytes(*row)))))
}

/// Reads `stts` and `ctts`: durations in decoding order, and the delay from decoding to display.
fn schedule(stbl: &[u8], samples: &mut [Sample]) -> Result<(), Problem> {
    let (_, mut fields) = Fields::versioned(*b"stts", need(stbl, *b"stts")?)?;
    let mut durations = Runs::new(*b"stts", fields.table::<8>()?);
    let delays = match find(stbl, *b"ctts")? {
        Some(ctts) => Fields::versioned(*b"ctts", ctts)?.1.table::<8>()?,
        None => &[],
    };
    let mut delays = Runs::new(*b"ctts", delays);
    let mut time: i64 = 0;
    for sample in samples {
        sample.duration = durations.next()?;
        // Signed in version 1; writers of version 0 store signed numbers as well.
        let delay = if delays.is_unused() { 0 } else { delays.next()?.cast_signed() };
        // A million samples of 2^32 units each stay far below 2^63.
        sample.shown_at = time + i64::from(delay);
        time += i64::from(sample.duration);
    }
    Ok(())
}

/// Run-length coded numbers, read without expanding them.
struct Runs<'a> {
    name: [u8; 4],
    rows: std::slice::Iter<'a, [u8; 8]>,
    left: u32,
    value: u32,
    unused: bool,
}

impl<'a> Runs<'a> {
    fn new(name: [u8; 4], rows: &'a [[u8; 8]]) -> Self {
        Self { name, rows: rows.iter(), left: 0, value: 0, unused: rows.is_empty() }
    }

    fn is_unused(&self) -> bool {
        self.unused
    }

    fn next(&mut self) -> Result<u32, Problem> {
        while self.left == 0 {
            let Some(row) = self.rows.next() else {
                let name = self.name.escape_ascii();
                return Err(Problem::mp4(format!("the {name} box does not cover all samples")));
            };
            (self.left, self.value) = pair(*row);
        }
        self.left -= 1;
        Ok(self.value)
    }
}

/// Reads `stss`, the list of sync samples; without it every sample is one.
fn mark_sync(stbl: &[u8], samples: &mut [Sample]) -> Result<(), Problem> {
    let Some(stss) = find(stbl, *b"stss")? else { return Ok(()) };
    let (_, mut fields) = Fields::versioned(*b"stss", stss)?;
    for sample in samples.iter_mut() {
        sample.sync = false;
    }
    for row in fields.table::<4>()? {
        let number = u32::from_be_bytes(*row);
        // Numbers start at 1; one that is out of range is ignored.
        let index = (number as usize).checked_sub(1);
        if let Some(sample) = index.and_then(|index| samples.get_mut(index)) {
            sample.sync = true;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &[u8; 4], numbers: &[u32]) -> Vec<u8> {
        let size = 12 + 4 * numbers.len() as u32;
        let words = [&[0][..], numbers].concat();
        let body = words.iter().flat_map(|number| number.to_be_bytes());
        size.to_be_bytes().into_iter().chain(*name).chain(body).collect()
    }

    fn read_tables(tables: &[(&[u8; 4], &[u32])]) -> Result<Vec<Sample>, Problem> {
        let stbl: Vec<u8> = tables.iter().flat_map(|(name, n)| table(name, n)).collect();
        read(&stbl, Bounds { file_bytes: 1000, samples: 100 })
    }

    const CHUNKS: [(&[u8; 4], &[u32]); 2] =
        [(b"stsc", &[2, 1, 2, 1, 2, 1, 1]), (b"stco", &[2, 100, 500])];

    fn message(tables: &[(&[u8; 4], &[u32])]) -> String {
        read_tables(tables).unwrap_err().to_string()
    }

    #[test]
    fn samples_are_placed_and_timed() {
        let own: [(&[u8; 4], &[u32]); 4] = [
            (b"stsz", &[0, 3, 10, 20, 30]),
            (b"stts", &[1, 3, 5]),
            (b"ctts", &[3, 1, 5, 1, 10, 1, u32::MAX]),
            (b"stss", &[1, 1]),
        ];
        let samples = read_tables(&[&own[..], &CHUNKS].concat()).unwrap();
        let places: Vec<_> = samples.iter().map(|s| (s.offset, s.size, s.shown_at)).collect();
        assert_eq!(places, [(100, 10, 5), (110, 20, 15), (500, 30, 9)]);
        assert_eq!(samples.iter().map(|s| s.sync).collect::<Vec<_>>(), [true, false, false]);
    }

    #[test]
    fn claims_are_checked_before_they_cost_anything() {
        let limit = "video too large: 4294967295 frames, at most 100 are accepted";
        assert_eq!(message(&[(b"stsz", &[1, u32::MAX])]), limit);
        let short = "damaged MP4 file: the stsz box says 4294967295 entries and holds 1";
        assert_eq!(message(&[(b"stsz", &[0, u32::MAX, 7])]), short);
        let total = "damaged MP4 file: 50 samples of 50000 bytes in a file of 1000 bytes";
        assert_eq!(message(&[(b"stsz", &[1000, 50]), CHUNKS[0], CHUNKS[1]]), total);
    }

    #[test]
    fn tables_must_agree() {
        let sized = |sizes| [(b"stsz", sizes), CHUNKS[0], CHUNKS[1]];
        let beyond = sized(&[0, 3, 10, 20, 600]);
        assert!(
            message(&beyond).contains("sample 2 of 600 bytes at 500 lies beyond"),
            "{beyond:?}"
        );
        assert!(message(&sized(&[0, 4, 1, 1, 1, 1])).contains("chunks hold 3 of 4 samples"));
        let timed = [&sized(&[0, 3, 1, 1, 1])[..], &[(b"stts", &[1, 2, 5])]].concat();
        assert!(message(&timed).contains("the stts box does not cover all samples"));
        let late: [(&[u8; 4], &[u32]); 3] =
            [(b"stsz", &[0, 1, 1]), (b"stsc", &[1, 2, 1, 1]), CHUNKS[1]];
        assert!(message(&late).contains("does not cover chunk 1"));
    }
}
