//! Progress of work that takes long, and the chance to stop it.

use std::ops::ControlFlow;

use crate::error::{Error, Result};

/// Called after every block of a tower with the number of steps done and their total. The caller may
/// answer [`ControlFlow::Break`], and the tower stops there with [`Error::Cancelled`].
#[derive(Clone, Copy, Default)]
pub struct Watch<'a> {
    notify: Option<&'a dyn Fn(usize, usize) -> ControlFlow<()>>,
}

impl<'a> Watch<'a> {
    /// Calls `notify(done, total)` after every step.
    pub fn new(notify: &'a dyn Fn(usize, usize) -> ControlFlow<()>) -> Self {
        Self { notify: Some(notify) }
    }

    pub(crate) fn tell(&self, done: usize, total: usize) -> Result<()> {
        match self.notify.map(|notify| notify(done, total)) {
            Some(ControlFlow::Break(())) => Err(Error::Cancelled),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("watched", &self.notify.is_some()).finish()
    }
}
