//! What the allocator gave out during a run.
//!
//! This crate knows no allocator; a program that counts hands its counter over, and without one the
//! numbers are absent.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

/// Counts the bytes a program has allocated. Memory that is mapped from files is none of them.
pub trait AllocationMeter: Debug + Sync {
    /// Counts from now on.
    fn begin(&self);
    /// Forgets the highest count so far: it is the present one again.
    fn reset_peak(&self);
    /// Bytes that are given out now.
    fn current(&self) -> u64;
    /// The most bytes that were given out at once since the last reset.
    fn peak(&self) -> u64;
}

/// Engine-allocated memory of a run, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocated {
    /// The most that was allocated at once, weights included.
    pub peak: u64,
    /// The same on top of what was allocated when the run began.
    pub above_start: u64,
}

impl Allocated {
    /// The larger of both numbers of two runs.
    pub(crate) fn most(self, other: Self) -> Self {
        Self {
            peak: self.peak.max(other.peak),
            above_start: self.above_start.max(other.above_start),
        }
    }
}

/// A run under the eyes of a meter.
#[derive(Debug)]
pub(crate) struct AllocationSpan {
    meter: &'static dyn AllocationMeter,
    start: u64,
}

impl AllocationSpan {
    /// Resets the meter's peak and notes what is allocated before the run.
    pub(crate) fn start(meter: &'static dyn AllocationMeter) -> Self {
        meter.reset_peak();
        Self { meter, start: meter.current() }
    }

    /// What the run took.
    pub(crate) fn stop(&self) -> Allocated {
        let peak = self.meter.peak();
        Allocated { peak, above_start: peak.saturating_sub(self.start) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[derive(Debug)]
    struct Fake(AtomicU64);

    impl AllocationMeter for Fake {
        fn begin(&self) {}
        fn reset_peak(&self) {}
        fn current(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
        fn peak(&self) -> u64 {
            self.0.load(Ordering::Relaxed) + 5
        }
    }

    #[test]
    fn what_was_there_before_is_left_out() {
        static METER: Fake = Fake(AtomicU64::new(100));
        let watch = AllocationSpan::start(&METER);
        METER.0.store(130, Ordering::Relaxed);
        assert_eq!(watch.stop(), Allocated { peak: 135, above_start: 35 });
    }
}
