//! How long a prompt may be worked on between two decode steps.
//!
//! Running answers pause while a slice of a prompt runs, and a slice cannot be interrupted. The aim is that
//! the time between two tokens at most doubles: so after a step that took `s`, slices run for `s` at most.
//! Whether one more fits is judged by the last one, which is nearly always of the same kind (the next block
//! of the same tower or decoder). The first slice after a step runs in any case, however long it takes: else
//! a prompt whose slices are longer than a step would never be worked off. With one such slice the pause is
//! a step and a slice.

use std::time::Duration;

/// What the last step and the last slice took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    longest: Duration,
    step: Duration,
    slice: Duration,
}

impl Pace {
    /// No pause shall be longer than `longest`, whatever a step takes.
    pub(crate) fn new(longest: Duration) -> Self {
        Self { longest, step: Duration::ZERO, slice: Duration::ZERO }
    }

    pub(crate) fn stepped(&mut self, took: Duration) {
        self.step = took;
    }

    pub(crate) fn sliced(&mut self, took: Duration) {
        self.slice = took;
    }

    /// Whether another slice may run after slices that took `spent` together. `decoding` tells
    /// whether an answer waits for its next token.
    pub(crate) fn another(&self, spent: Duration, decoding: bool) -> bool {
        if !decoding {
            return spent < self.longest;
        }
        let allowed = self.longest.min(self.step);
        !allowed.is_zero() && spent.saturating_add(self.slice) <= allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Slices of `slice` ms that run between two steps of `step` ms.
    fn slices(step: u32, slice: u32, longest: u32) -> u32 {
        let mut pace = Pace::new(longest * MS);
        pace.stepped(step * MS);
        let mut count = 0;
        loop {
            pace.sliced(slice * MS);
            count += 1;
            if !pace.another(count * slice * MS, true) {
                return count;
            }
        }
    }

    #[test]
    fn the_pause_at_most_doubles_the_time_of_a_step_unless_one_slice_does() {
        assert_eq!(slices(300, 135, 500), 2);
        assert_eq!(slices(300, 85, 500), 3);
        assert_eq!(slices(300, 150, 500), 2);
        assert_eq!(slices(300, 870, 500), 1);
        assert_eq!(slices(300, 135, 200), 1);
        // A clock too coarse to see a step allows one slice.
        assert_eq!(slices(0, 0, 500), 1);
    }

    #[test]
    fn a_prompt_runs_on_while_nobody_waits() {
        let mut pace = Pace::new(500 * MS);
        pace.sliced(400 * MS);
        assert!(pace.another(400 * MS, false) && !pace.another(500 * MS, false));
    }
}
