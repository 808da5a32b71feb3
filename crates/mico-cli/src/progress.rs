//! A bar for work that takes a while; drawn on terminals alone.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use mico_engine::{Phase, Step};

/// Work that is done sooner needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar that counts what has been done, with the time that is left.
#[derive(Debug)]
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new(what: &'static str) -> Self {
        let bar = ProgressBar::new(0).with_message(what);
        if let Ok(style) =
            ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} {elapsed} (left {eta})")
        {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub(crate) fn show(&self, done: usize, total: usize) {
        if self.0.length() != Some(total as u64) {
            // What an earlier run did says nothing of this one's pace.
            self.0.set_length(total as u64);
            self.0.set_position(done as u64);
            self.0.reset_eta();
        }
        self.0.set_position(done as u64);
    }

    /// The same where the end may not be known.
    #[cfg(feature = "eval")]
    pub(crate) fn count(&self, done: usize, total: Option<usize>) {
        match total {
            Some(total) => self.show(done, total),
            None => self.0.set_position(done as u64),
        }
    }
}

/// How much of a model's files has been read.
#[derive(Debug)]
pub(crate) struct Loading(ProgressBar);

impl Loading {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("loading {bar:40} {bytes}/{total_bytes}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// What the loader calls after every tensor.
    pub(crate) fn callback(&self) -> Arc<mico_model::ProgressFn> {
        let bar = self.0.clone();
        Arc::new(move |done: mico_model::Progress| {
            bar.set_length(done.bytes_total);
            bar.set_position(done.bytes_done);
            ControlFlow::Continue(())
        })
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Shows how far the work before an answer has come, once it takes longer than a moment.
#[derive(Debug)]
pub(crate) struct Waiting {
    began: Instant,
    bar: Option<(Phase, Bar)>,
}

impl Default for Waiting {
    fn default() -> Self {
        Self { began: Instant::now(), bar: None }
    }
}

impl Waiting {
    pub(crate) fn step(&mut self, step: Step) {
        if self.began.elapsed() < PATIENCE {
            return;
        }
        let what = match step.phase {
            Phase::Vision => "looking",
            Phase::Prefill => "reading the prompt",
            // The others are over in a moment, or show the answer itself.
            _ => return,
        };
        if self.bar.as_ref().is_none_or(|(phase, _)| *phase != step.phase) {
            self.bar = Some((step.phase, Bar::new(what)));
        }
        if let Some((_, bar)) = &self.bar {
            bar.show(step.done, step.total);
        }
    }

    /// Clears the bar, because the answer begins to be printed.
    pub(crate) fn over(&mut self) {
        self.bar = None;
    }
}

/// Nothing but the progress.
impl mico_engine::Sink for Waiting {
    fn progress(&mut self, step: Step) -> ControlFlow<()> {
        self.step(step);
        ControlFlow::Continue(())
    }
}
