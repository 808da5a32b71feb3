//! Progress of a vision tower, with a way to cancel it.

use std::ops::ControlFlow;

use crate::error::{Error, Result};

/// Called after every block of a tower with the number of steps done and their total. The caller may
/// answer [`ControlFlow::Break`], and the tower stops there with [`Error::Cancelled`].
#[derive(Default)]
pub struct TowerProgress<'a> {
    notify: Option<&'a mut dyn FnMut(usize, usize) -> ControlFlow<()>>,
}

impl<'a> TowerProgress<'a> {
    /// Calls `notify(done, total)` after every step.
    pub fn new(notify: &'a mut dyn FnMut(usize, usize) -> ControlFlow<()>) -> Self {
        Self { notify: Some(notify) }
    }

    /// Reports progress; [`Error::Cancelled`] if the callback asks to stop.
    pub fn tell(&mut self, done: usize, total: usize) -> Result<()> {
        match self.notify.as_mut().map(|notify| notify(done, total)) {
            Some(ControlFlow::Break(())) => Err(Error::Cancelled),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Debug for TowerProgress<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TowerProgress").field("told", &self.notify.is_some()).finish()
    }
}
