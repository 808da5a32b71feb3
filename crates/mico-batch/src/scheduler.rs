//! A scheduler with a thread of its own.

use std::io;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::backend::Backend;
use crate::contain::contain;
use crate::core::{Core, Turn};
use crate::error::Refusal;
use crate::event::EventSink;
use crate::limits::Setup;
use crate::observe::Snapshot;
use crate::shared::Shared;
use crate::signal::lock;
use crate::ticket::{SubmitOptions, Ticket};

/// The name of the thread that all computing is done on.
const THREAD: &str = "mico-compute";

/// Works on requests on a thread of its own. Any number of threads may submit.
///
/// Dropping it cancels every request and waits for the thread.
pub struct Scheduler<B: Backend> {
    shared: Arc<Shared<B>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What becomes of the admitted requests at a shutdown. Those that wait are refused in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// They finish, however long that takes.
    Drain,
    /// They finish if they can do so within this time, and are cancelled then.
    DrainFor(Duration),
    /// They are cancelled before the next call of the backend.
    Now,
}

impl<B: Backend> Scheduler<B> {
    /// Starts the thread. Fails if the operating system has no room for another one.
    pub fn spawn(backend: Arc<B>, setup: impl Into<Setup>) -> io::Result<Self> {
        let shared = Arc::new(Shared::new(backend, setup.into()));
        let core = Core::of(Arc::clone(&shared));
        let thread = thread::Builder::new().name(THREAD.to_owned()).spawn(move || run(core))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Puts a request into the queue, or says why not.
    pub fn submit(
        &self,
        job: B::Job,
        options: SubmitOptions,
        sink: impl EventSink<B>,
    ) -> Result<Ticket, Refusal> {
        self.shared.submit(job, options, Box::new(sink))
    }

    /// The present state and the counts so far.
    pub fn snapshot(&self) -> Snapshot {
        self.shared.snapshot()
    }

    /// Begins a shutdown and returns at once: nothing is accepted any more. May be called again to
    /// make it more urgent.
    pub fn close(&self, how: Shutdown) {
        self.shared.close(match how {
            Shutdown::Drain => None,
            Shutdown::DrainFor(timeout) => Some(timeout),
            Shutdown::Now => Some(Duration::ZERO),
        });
    }

    /// Shuts down and returns when every request has ended and the thread is gone. Must not be called by
    /// a sink or an observer, which the thread would then wait for.
    pub fn shutdown(&self, how: Shutdown) {
        self.close(how);
        let mut thread = lock(&self.thread);
        if let Some(thread) = thread.take() {
            // A panic of the loop itself has been counted and printed where it happened.
            let _ = thread.join();
        }
    }
}

impl<B: Backend> Drop for Scheduler<B> {
    fn drop(&mut self) {
        let own = lock(&self.thread).as_ref().map(|thread| thread.thread().id());
        if own == Some(thread::current().id()) {
            // Dropped by a sink: the thread ends by itself.
            self.close(Shutdown::Now);
        } else {
            self.shutdown(Shutdown::Now);
        }
    }
}

fn run<B: Backend>(mut core: Core<B>) {
    let shared = core.shared();
    let ran = contain(move || {
        loop {
            match core.turn() {
                Turn::Worked => {}
                Turn::Idle { timeout } => core.shared().signal.wait(timeout),
                Turn::Closed => break,
            }
        }
    });
    // The core is gone, and with it every request.
    if let Err(message) = ran {
        shared.panicked("turn", &message);
    }
}
