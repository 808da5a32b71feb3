//! What a scripted model does, and what a test lets it wait for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::backend::Finish;

/// One thing that a scripted answer does.
#[derive(Debug, Clone)]
pub enum Step {
    /// Says something.
    Say(&'static str),
    /// Waits until the gate is open, or the request is cancelled.
    Wait(Gate),
    /// Fails like an engine that broke.
    Fail,
    /// Panics.
    Panic,
    /// Runs out of time.
    TimeOut,
}

/// What is answered to a question.
#[derive(Debug, Clone)]
pub struct Script {
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// How the answer ends.
    pub finish: Finish,
}

impl Script {
    /// Says some pieces of text, and ends.
    pub fn says(pieces: &[&'static str]) -> Self {
        Self { steps: pieces.iter().map(|piece| Step::Say(piece)).collect(), finish: Finish::End }
    }
}

/// Something that a script waits for and a test opens.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Lets everybody pass who waits, or will.
    pub fn open(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    /// Waits until the gate is open or `cancelled` says so; a cancellation wakes it.
    pub(super) fn pass(&self, cancelled: &AtomicBool) {
        let open = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |open: &mut bool| !*open && !cancelled.load(Ordering::SeqCst);
        drop(self.0.1.wait_while(open, waits));
    }

    pub(super) fn wake(&self) {
        drop(self.0.0.lock());
        self.0.1.notify_all();
    }
}
