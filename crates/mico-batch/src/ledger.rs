//! The bytes that admitted requests take, by their own account.

use crate::backend::Memory;

/// What has been promised: the kept bytes of every admitted request and the working bytes of the one whose
/// prompt is in work. Nothing is rounded, so a limit holds to the byte.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ledger {
    limit: u64,
    pub(crate) kept: u64,
    pub(crate) working: u64,
}

impl Ledger {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, kept: 0, working: 0 }
    }

    /// Whether a further request can be admitted. There is one prompt in work at a time, so the working
    /// bytes are then its own.
    pub(crate) fn fits(&self, memory: Memory) -> bool {
        let taken = self.kept.saturating_add(self.working);
        taken
            .checked_add(memory.kept)
            .and_then(|sum| sum.checked_add(memory.working))
            .is_some_and(|sum| sum <= self.limit)
    }

    pub(crate) fn admit(&mut self, memory: Memory) {
        self.kept += memory.kept;
        self.working += memory.working;
    }

    /// The prompt has been worked off.
    pub(crate) fn end_prompt(&mut self, memory: Memory) {
        self.working -= memory.working;
    }

    /// The sequence is gone.
    pub(crate) fn release(&mut self, memory: Memory) {
        self.kept -= memory.kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_to_the_byte_and_sums_do_not_wrap() {
        let mut ledger = Ledger::new(100);
        let memory = |kept, working| Memory { kept, working };
        assert!(ledger.fits(memory(60, 40)) && !ledger.fits(memory(60, 41)));
        ledger.admit(memory(60, 40));
        assert!(ledger.fits(memory(0, 0)) && !ledger.fits(memory(1, 0)));
        ledger.end_prompt(memory(60, 40));
        assert!(ledger.fits(memory(0, 40)) && !ledger.fits(memory(1, 40)));
        assert!(!ledger.fits(memory(u64::MAX, u64::MAX)));
        ledger.release(memory(60, 40));
        assert_eq!((ledger.kept, ledger.working), (0, 0));
    }
}
