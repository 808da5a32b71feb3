//! How far long work has come: a bar on a terminal, a line now and then where standard error is a file or pipe.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use mico_engine::{Phase, Step};

use crate::interrupt;

/// Work that is done sooner needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest silence where there is no terminal.
const SILENCE: Duration = Duration::from_secs(30);
/// Into how many parts work is divided, the end of each told where there is no terminal.
const PARTS: usize = 10;

/// A bar that counts what has been done, with the time that is left.
#[derive(Debug)]
pub(crate) struct Bar {
    bar: ProgressBar,
    lines: Option<Lines>,
}

/// Lines in place of a bar.
#[derive(Debug)]
struct Lines {
    what: &'static str,
    began: Instant,
    told: Mutex<Told>,
}

/// When a line was last written, and what it said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Told {
    at: Duration,
    parts: usize,
}

impl Told {
    /// Whether a line is due, which is then noted: at the end of each part, and after a silence.
    fn is_due(&mut self, now: Duration, done: usize, total: Option<usize>) -> bool {
        let parts = total.filter(|total| *total > 0).map_or(0, |total| done * PARTS / total);
        let advanced = parts > self.parts && now >= PATIENCE;
        let due = advanced || now.saturating_sub(self.at) >= SILENCE;
        if due {
            *self = Self { at: now, parts };
        }
        due
    }
}

impl Lines {
    fn show(&self, done: usize, total: Option<usize>) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_due(self.began.elapsed(), done, total) {
            let of = total.map_or_else(String::new, |total| format!(" of {total}"));
            let seconds = self.began.elapsed().as_secs();
            eprintln!("{}: {done}{of} after {seconds} s", self.what);
        }
    }
}

impl Bar {
    pub(crate) fn new(what: &'static str) -> Self {
        let bar = ProgressBar::new(0).with_message(what);
        if let Ok(style) =
            ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} {elapsed} (left {eta})")
        {
            bar.set_style(style);
        }
        let lines = || Lines { what, began: Instant::now(), told: Mutex::new(Told::default()) };
        Self { bar, lines: (!std::io::stderr().is_terminal()).then(lines) }
    }

    pub(crate) fn show(&self, done: usize, total: usize) {
        if let Some(lines) = &self.lines {
            return lines.show(done, Some(total));
        }
        if self.bar.length() != Some(total as u64) {
            // What an earlier run did says nothing of this one's pace.
            self.bar.set_length(total as u64);
            self.bar.set_position(done as u64);
            self.bar.reset_eta();
        }
        self.bar.set_position(done as u64);
    }

    /// The same where the end may not be known.
    #[cfg(feature = "eval")]
    pub(crate) fn count(&self, done: usize, total: Option<usize>) {
        match (&self.lines, total) {
            (Some(lines), total) => lines.show(done, total),
            (None, Some(total)) => self.show(done, total),
            (None, None) => self.bar.set_position(done as u64),
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

    /// What the loader calls after every tensor; `tell` gets the share that is loaded.
    pub(crate) fn callback(
        &self,
        tell: impl Fn(f64) + Send + Sync + 'static,
    ) -> Arc<mico_model::ProgressFn> {
        let bar = self.0.clone();
        Arc::new(move |done: mico_model::Progress| {
            tell(done.bytes_done as f64 / done.bytes_total.max(1) as f64);
            bar.set_length(done.bytes_total);
            bar.set_position(done.bytes_done);
            interrupt::flow()
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
        self.bar.finish_and_clear();
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
        interrupt::flow()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_with_every_tenth_and_after_a_silence() {
        let mut told = Told::default();
        let mut due = |seconds: u64, done: usize, total: Option<usize>| {
            told.is_due(Duration::from_secs(seconds), done, total)
        };
        assert!(!due(0, 9, Some(40)), "quick work is not told");
        assert!(due(1, 10, Some(40)) && !due(1, 11, Some(40)));
        assert!(due(2, 12, Some(40)) && !due(31, 13, Some(40)) && due(32, 13, Some(40)));
        assert!(!due(33, 0, Some(0)) && !due(33, 5, None) && due(62, 5, None));
        let mut told = Told::default();
        let lines = (0..=100_000)
            .filter(|done| told.is_due(Duration::from_secs(5), *done, Some(100_000)))
            .count();
        assert_eq!(lines, PARTS);
    }
}
