//! Ctrl-C: the first asks the work to stop where it can be stopped, a second ends the program at once.

use std::ops::ControlFlow;
use std::sync::Once;
#[cfg(feature = "eval")]
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(feature = "eval")]
use crate::failure::Failure;
use crate::failure::INTERRUPTED;

static LISTENING: Once = Once::new();
/// Whether there is work that looks at [`ASKED`]; without such, Ctrl-C ends the program.
static WORKING: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);

/// Work that Ctrl-C stops instead of ending the program, for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Interruptible(());

impl Interruptible {
    /// Begins such work; an earlier Ctrl-C is forgotten.
    pub(crate) fn begin() -> Self {
        // Where no handler can be set, Ctrl-C ends the program as it would without one.
        LISTENING.call_once(|| drop(ctrlc::set_handler(on_signal)));
        ASKED.store(false, Ordering::SeqCst);
        WORKING.store(true, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Interruptible {
    fn drop(&mut self) {
        WORKING.store(false, Ordering::SeqCst);
    }
}

fn on_signal() {
    if !WORKING.load(Ordering::SeqCst) || ASKED.swap(true, Ordering::SeqCst) {
        std::process::exit(INTERRUPTED.into());
    }
}

/// Whether Ctrl-C was pressed since the work began.
pub(crate) fn is_asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Whether to go on, as the engine and the evaluations ask.
pub(crate) fn flow() -> ControlFlow<()> {
    if is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// How much of long work is done, for saying so when it is stopped.
#[cfg(feature = "eval")]
#[derive(Debug, Default)]
pub(crate) struct Counted {
    done: AtomicUsize,
    /// 0 if that is not known.
    total: AtomicUsize,
}

#[cfg(feature = "eval")]
impl Counted {
    pub(crate) fn note(&self, done: usize, total: Option<usize>) {
        self.done.fetch_max(done, Ordering::Relaxed);
        self.total.store(total.unwrap_or(0), Ordering::Relaxed);
    }

    /// That the work was stopped, and what to do then.
    pub(crate) fn stopped(&self, what: &str, then: &str) -> Failure {
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        let of = if total > 0 { format!(" of {total}") } else { String::new() };
        Failure::interrupted(format!("stopped after {done}{of} {what}; {then}"))
    }
}
