//! Progress callbacks of a selection, for callers that show a progress bar.

use std::fmt;

/// A finished piece of work, as a number of tokens since the last report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// This many more tokens have had their similarities with all others computed.
    Compared(usize),
    /// This many more tokens have been picked.
    Picked(usize),
}

/// A callback for finished work, called on whichever thread finished it; the default calls nothing.
#[derive(Clone, Copy, Default)]
pub struct Progress<'a>(Option<&'a (dyn Fn(Done) + Sync)>);

impl<'a> Progress<'a> {
    /// Calls `f` once for each finished piece of work.
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
