//! The stream of samples every reader gives.

use crate::{Damaged, Sample};

/// What a reader found at its next row.
pub(crate) enum Step {
    /// A sample.
    Sample(Box<Sample>),
    /// A row nobody asked for; its pictures were not looked at.
    Skipped,
}

/// A reader of one layout.
pub(crate) trait Source {
    /// The next row whose item exists; pictures are decoded only if its id is wanted.
    fn next(&mut self, wanted: &mut dyn FnMut(&str) -> bool) -> Option<Result<Step, Damaged>>;

    /// Rows left out so far because they have no image.
    fn dropped(&self) -> u64 {
        0
    }

    /// Rows left out so far because they belong to another split or set.
    fn outside(&self) -> u64 {
        0
    }
}

/// Samples one at a time. A damaged row is an `Err` that names it; the rows after it still come.
pub struct Samples {
    source: Box<dyn Source + Send>,
    damaged: u64,
}

impl Samples {
    pub(crate) fn new(source: impl Source + Send + 'static) -> Self {
        Self { source: Box::new(source), damaged: 0 }
    }

    /// The next sample whose id is `wanted`. Pictures of the others are not decoded, so a damaged picture
    /// among them goes unnoticed.
    pub fn next_where(
        &mut self,
        mut wanted: impl FnMut(&str) -> bool,
    ) -> Option<Result<Sample, Damaged>> {
        loop {
            match self.source.next(&mut wanted)? {
                Ok(Step::Sample(sample)) => return Some(Ok(*sample)),
                Ok(Step::Skipped) => {}
                Err(damaged) => {
                    self.damaged = self.damaged.saturating_add(damaged.lost);
                    return Some(Err(damaged));
                }
            }
        }
    }

    /// Damaged rows so far.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Rows left out so far because they have no image, as the public loader does (HallusionBench).
    pub fn dropped(&self) -> u64 {
        self.source.dropped()
    }

    /// Rows left out so far because they are no items of the track: another split, another set of the same
    /// file, videos among images.
    pub fn outside(&self) -> u64 {
        self.source.outside()
    }
}

impl Iterator for Samples {
    type Item = Result<Sample, Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_where(|_| true)
    }

    /// Skips `n` rows without decoding their pictures; damaged rows count as rows.
    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        for _ in 0..n {
            let row = self.source.next(&mut |_| false)?;
            let lost = row.err().map_or(0, |damaged| damaged.lost);
            self.damaged = self.damaged.saturating_add(lost);
        }
        self.next()
    }
}

impl std::fmt::Debug for Samples {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Samples").field("damaged", &self.damaged).finish_non_exhaustive()
    }
}
