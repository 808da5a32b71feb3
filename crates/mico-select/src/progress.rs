//! Reporting how far a selection has come, for callers that show it.

use std::fmt;

/// A piece of work that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// So many more tokens have been compared with all others.
    Compared(usize),
    /// So many more tokens have been picked.
    Picked(usize),
}

/// A callback that hears of finished work, from whichever thread finished it.
#[derive(Clone, Copy, Default)]
pub struct Progress<'a>(Option<&'a (dyn Fn(Done) + Sync)>);

impl<'a> Progress<'a> {
    /// Calls `f` as work gets done.
    pub fn new(f: &'a (dyn Fn(Done) + Sync)) -> Self {
        Self(Some(f))
    }

    pub(crate) fn report(&self, done: Done) {
        if let Some(f) = self.0 {
            f(done);
        }
    }
}

impl fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Progress(on)" } else { "Progress(off)" })
    }
}
