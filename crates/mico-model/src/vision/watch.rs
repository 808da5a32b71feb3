//! Following work that takes long.

/// Told how many of how many steps are done.
#[derive(Clone, Copy, Default)]
pub struct Watch<'a> {
    notify: Option<&'a dyn Fn(usize, usize)>,
}

impl<'a> Watch<'a> {
    /// Calls `notify(done, total)` after every step.
    pub fn new(notify: &'a dyn Fn(usize, usize)) -> Self {
        Self { notify: Some(notify) }
    }

    pub(crate) fn tell(&self, done: usize, total: usize) {
        if let Some(notify) = self.notify {
            notify(done, total);
        }
    }
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("watched", &self.notify.is_some()).finish()
    }
}
