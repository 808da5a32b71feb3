//! What a scheduler may take and how long it waits: the settings, the clock and the observer of one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::observe::Observer;

/// The bounds within which requests are accepted and worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that all admitted requests may take together: what each of them keeps, plus the working
    /// memory of the one whose prompt is being worked off.
    pub memory_bytes: u64,
    /// Requests admitted at once. Raised to 1.
    pub sequences: usize,
    /// Rows of one decode step; more sequences than that take turns. Raised to 1.
    pub rows: usize,
    /// Requests that may wait. Further ones are refused as [`Overloaded`](crate::Refusal::Overloaded).
    pub queue: usize,
    /// Requests that may be admitted ahead of one that does not fit into the memory that is free. After
    /// that many, nothing is admitted before it. 0 lets nobody pass.
    pub overtakes: u32,
    /// The longest time for which a prompt is worked on between two decode steps. Running answers usually
    /// pause for less: see [`Core::turn`](crate::Core::turn).
    pub slice: Duration,
    /// How long a request may wait for a consumer that takes nothing before it is cancelled.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: u64::MAX,
            sequences: 8,
            rows: 8,
            queue: 256,
            overtakes: 8,
            slice: Duration::from_millis(500),
            patience: Duration::from_secs(30),
        }
    }
}

/// Everything a scheduler needs beside its backend.
#[derive(Clone)]
pub struct Setup {
    /// What may be taken, and how long is waited.
    pub limits: Limits,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// Who is told of times and counts as they arise.
    pub observer: Arc<dyn Observer>,
}

impl Default for Setup {
    fn default() -> Self {
        Limits::default().into()
    }
}

impl From<Limits> for Setup {
    fn from(limits: Limits) -> Self {
        Self { limits, clock: Arc::new(SystemClock::default()), observer: Arc::new(()) }
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("limits", &self.limits).finish_non_exhaustive()
    }
}
