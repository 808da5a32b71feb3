//! How many pictures fit into memory at once.

/// The share of what is free that a run may take.
const SHARE: f64 = 0.8;

/// Watches what one picture costs.
#[derive(Debug)]
pub(super) struct Watch {
    before: Option<u64>,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self { before: status("VmRSS:") }
    }

    /// As many as were wanted, or as many as there is room for; those wanted where the system does
    /// not say.
    pub(super) fn jobs(&self, wanted: usize) -> usize {
        let grown =
            status("VmHWM:").zip(self.before).map(|(most, before)| most.saturating_sub(before));
        match (grown, available()) {
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

/// A line of this process's status, in KiB.
fn status(name: &str) -> Option<u64> {
    line("/proc/self/status", name)
}

/// Memory that can be had without swapping, in KiB.
fn available() -> Option<u64> {
    line("/proc/meminfo", "MemAvailable:")
}

fn line(path: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
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
