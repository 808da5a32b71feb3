//! Determines which samples must be decoded to obtain the wanted frames.

use std::collections::BTreeMap;
use std::ops::Range;

use super::track::Track;
use crate::error::Problem;
use crate::h264::{has_instant_refresh, units};
use crate::source::Source;

/// Runs of samples in decoding order, each starting where decoding can begin.
#[derive(Debug)]
pub(super) struct Plan {
    runs: Vec<Range<usize>>,
    /// From a wanted sample to its index among the wanted frames.
    slots: BTreeMap<usize, usize>,
}

impl Plan {
    /// Makes a plan for the samples in `wanted`.
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

    /// The runs of samples to decode, in decoding order.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        self.runs.iter().cloned()
    }

    /// The number of samples in all runs.
    pub(super) fn len(&self) -> usize {
        self.runs.iter().map(ExactSizeIterator::len).sum()
    }

    /// The number of wanted frames.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The index of a sample among the wanted frames; `None` if it is not wanted.
    pub(super) fn slot(&self, sample: usize) -> Option<usize> {
        self.slots.get(&sample).copied()
    }
}

/// The error for a track that was cut from another at a place where pictures refer to earlier ones.
fn no_start() -> Problem {
    Problem::Unsupported {
        what: "an H.264 track that does not start with an instant refresh (IDR) picture is".into(),
        accepted: "one that does is",
    }
}

/// The last sample of the range at which decoding can begin; `None` if there is none.
///
/// A sync sample is not enough: later pictures may still refer to pictures before it (open GOP). An
/// IDR picture forbids that, so only IDR pictures count.
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
        // A damaged sample is not a start; if it is needed, decoding will report the damage.
        let parsed = units(&buffer, track.config.length_bytes);
        if parsed.is_ok_and(|units| has_instant_refresh(&units)) {
            return Ok(Some(index));
        }
    }
    Ok(None)
}
