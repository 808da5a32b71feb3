//! How many pictures fit into memory at once.

use mico_util::memory;

/// The share of what is free that a run may take.
const SHARE: f64 = 0.8;

/// Watches what one picture costs.
#[derive(Debug)]
pub(super) struct RssProbe {
    before: Option<u64>,
}

impl RssProbe {
    pub(super) fn new() -> Self {
        Self { before: memory::resident() }
    }

    /// As many as were wanted, or as many as there is room for; those wanted where the system does
    /// not say.
    pub(super) fn jobs(&self, wanted: usize) -> usize {
        let grown = memory::peak_resident().zip(self.before);
        let grown = grown.map(|(most, before)| most.saturating_sub(before));
        match (grown, memory::available()) {
            (Some(grown), Some(available)) => fitting(wanted, grown, available),
            _ => wanted,
        }
    }
}

/// How many fit, at least one.
fn fitting(wanted: usize, each: u64, available: u64) -> usize {
    let room = SHARE * available as f64 / each.max(1) as f64;
    // The first one's memory may be taken again, so one more than the free room holds fits.
    wanted.min(1 + room as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_fit_and_at_least_one() {
        assert_eq!(fitting(8, 1000, 100_000), 8);
        assert_eq!(fitting(8, 1000, 2500), 3);
        assert_eq!(fitting(8, 1000, 0), 1);
        assert_eq!(fitting(2, 0, 0), 1);
    }
}
