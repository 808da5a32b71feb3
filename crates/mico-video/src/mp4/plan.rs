//! Which coded pictures to decode to get at the wanted ones.

use std::collections::BTreeMap;
use std::ops::Range;

use super::track::Track;
use crate::error::Problem;
use crate::h264::{has_instant_refresh, units};
use crate::source::Source;

/// Stretches of samples, in decoding order, each from a place where decoding can start.
#[derive(Debug)]
pub(super) struct Plan {
    runs: Vec<Range<usize>>,
    /// Which of the wanted frames a sample is.
    slots: BTreeMap<usize, usize>,
}

impl Plan {
    /// Plans for the samples in `wanted`.
    pub(super) fn new(
        source: &mut Source,
        track: &Track,
        wanted: &[usize],
    ) -> Result<Self, Problem> {
        let slots: BTreeMap<usize, usize> =
            wanted.iter().enumerate().map(|(slot, &sample)| (sample, slot)).collect();
        let mut runs: Vec<Range<usize>> = Vec::new();
        for &sample in slots.keys() {
            let reached = runs.last().map_or(0, |run| run.end);
            let start = start_before(source, track, reached..sample + 1)?;
            match (runs.last_mut(), start) {
                (_, Some(start)) => runs.push(start..sample + 1),
                (Some(run), None) => run.end = sample + 1,
                (None, None) => return Err(no_start()),
            }
        }
        Ok(Self { runs, slots })
    }

    /// The stretches, in decoding order.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        self.runs.iter().cloned()
    }

    /// Number of samples to go through.
    pub(super) fn len(&self) -> usize {
        self.runs.iter().map(ExactSizeIterator::len).sum()
    }

    /// Number of wanted frames.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Which of the wanted frames this sample is.
    pub(super) fn slot(&self, sample: usize) -> Option<usize> {
        self.slots.get(&sample).copied()
    }
}

/// Such a track was cut out of another one at a place where its pictures refer to earlier ones.
fn no_start() -> Problem {
    Problem::Unsupported {
        what: "an H.264 track that does not start with an instant refresh (IDR) picture is".into(),
        accepted: "one that does is",
    }
}

/// The last sample of the range at which decoding can start from nothing.
///
/// Sync samples need not be such: pictures after one may still refer to pictures before it ("open
/// group of pictures"). An instant refresh picture forbids that, so only it counts.
fn start_before(
    source: &mut Source,
    track: &Track,
    range: Range<usize>,
) -> Result<Option<usize>, Problem> {
    let mut buffer = Vec::new();
    for index in range.rev() {
        let sample = &track.samples[index];
        if !sample.sync || sample.size == 0 {
            continue;
        }
        source.read(sample.offset, sample.size.into(), &mut buffer)?;
        // What is damaged here is no start; if it is needed, decoding it will say what is wrong.
        let parsed = units(&buffer, track.config.length_bytes);
        if parsed.is_ok_and(|units| has_instant_refresh(&units)) {
            return Ok(Some(index));
        }
    }
    Ok(None)
}
