//! The stream of samples, common to all layouts.

use crate::{Damaged, Sample};

/// The result of reading one row.
pub(crate) enum Step {
    /// A complete sample, because its id was wanted.
    Sample(Box<Sample>),
    /// A row whose id was not wanted; its images were not decoded.
    Skipped,
}

/// A reader for one layout.
pub(crate) trait Source {
    /// The next row that belongs to the track; its images are decoded only if its id is wanted.
    fn next(&mut self, wanted: &mut dyn FnMut(&str) -> bool) -> Option<Result<Step, Damaged>>;

    /// The number of rows skipped so far because they have no image.
    fn dropped(&self) -> u64 {
        0
    }

    /// The number of rows skipped so far because they belong to another split or dataset.
    fn outside(&self) -> u64 {
        0
    }
}

/// An iterator over samples. A damaged row is an `Err` that names it; iteration continues after it.
pub struct Samples {
    source: Box<dyn Source + Send>,
    damaged: u64,
}

impl Samples {
    pub(crate) fn new(source: impl Source + Send + 'static) -> Self {
        Self { source: Box::new(source), damaged: 0 }
    }

    /// The next sample whose id is `wanted`. Images of other samples are not decoded, so damage in
    /// them goes unnoticed.
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

    /// The number of damaged rows found so far.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// The number of rows skipped so far because they have no image, as the public loader does
    /// (HallusionBench).
    pub fn dropped(&self) -> u64 {
        self.source.dropped()
    }

    /// The number of rows skipped so far because they do not belong to the track: another split,
    /// another dataset in the same file, or videos among images.
    pub fn outside(&self) -> u64 {
        self.source.outside()
    }
}

impl Iterator for Samples {
    type Item = Result<Sample, Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_where(|_| true)
    }

    /// Skips `n` rows without decoding their images; damaged rows count as rows.
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
