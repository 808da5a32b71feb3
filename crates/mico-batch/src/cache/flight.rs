//! One encoding that several threads wait for.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::signal::lock;

#[derive(Debug)]
enum Stage<V> {
    Running,
    Done(V),
    GivenUp,
}

#[derive(Debug)]
pub(super) struct Flight<V> {
    stage: Mutex<Stage<V>>,
    changed: Condvar,
}

impl<V> Default for Flight<V> {
    fn default() -> Self {
        Self { stage: Mutex::new(Stage::Running), changed: Condvar::new() }
    }
}

impl<V: Clone> Flight<V> {
    /// Waits for the value; `None` if the encoding was given up.
    pub(super) fn wait(&self) -> Option<V> {
        let running = |stage: &mut Stage<V>| matches!(stage, Stage::Running);
        let stage = self.changed.wait_while(lock(&self.stage), running);
        match &*stage.unwrap_or_else(PoisonError::into_inner) {
            Stage::Done(value) => Some(value.clone()),
            Stage::Running | Stage::GivenUp => None,
        }
    }
}

/// Ends a flight on every way out of an encoding: with its value, or given up.
pub(super) struct Landing<V, F: FnMut()> {
    flight: Arc<Flight<V>>,
    value: Option<V>,
    /// Takes the flight from the list, so that later threads look for themselves.
    leave: F,
}

impl<V, F: FnMut()> Landing<V, F> {
    pub(super) fn new(flight: Arc<Flight<V>>, leave: F) -> Self {
        Self { flight, value: None, leave }
    }

    pub(super) fn land(mut self, value: V) {
        self.value = Some(value);
    }
}

impl<V, F: FnMut()> Drop for Landing<V, F> {
    fn drop(&mut self) {
        // First the list: a thread that is woken must not find this flight again.
        (self.leave)();
        *lock(&self.flight.stage) = self.value.take().map_or(Stage::GivenUp, Stage::Done);
        self.flight.changed.notify_all();
    }
}
