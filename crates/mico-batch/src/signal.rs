//! What wakes a scheduler that has nothing to do.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::time::Duration;

/// Locks a mutex whose contents are whole between any two statements that hold it, so that a panic elsewhere
/// does not matter.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A flag that one thread waits for. Setting it before the other waits is not lost.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    set: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    pub(crate) fn set(&self) {
        *lock(&self.set) = true;
        self.changed.notify_all();
    }

    /// Waits until the flag is set, at most for `timeout`, and clears it.
    pub(crate) fn wait(&self, timeout: Option<Duration>) {
        let set = lock(&self.set);
        let mut set = match timeout {
            None => {
                self.changed.wait_while(set, |set| !*set).unwrap_or_else(PoisonError::into_inner)
            }
            Some(timeout) => {
                let waited = self.changed.wait_timeout_while(set, timeout, |set| !*set);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        *set = false;
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.set();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.set();
    }
}
