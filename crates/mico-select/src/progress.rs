//! Counting finished picks, for callers that show progress.

use std::fmt;

/// A callback that receives the number of tokens picked since the last call.
#[derive(Clone, Copy, Default)]
pub struct Progress<'a>(Option<&'a (dyn Fn(usize) + Sync)>);

impl<'a> Progress<'a> {
    /// Calls `f` as tokens are picked, from whichever thread picks them.
    pub fn new(f: &'a (dyn Fn(usize) + Sync)) -> Self {
        Self(Some(f))
    }

    pub(crate) fn picked(&self, tokens: usize) {
        if let Some(f) = self.0 {
            f(tokens);
        }
    }
}

impl fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Progress(on)" } else { "Progress(off)" })
    }
}
