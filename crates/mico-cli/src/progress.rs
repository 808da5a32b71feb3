//! A bar for work that takes a while; drawn on terminals alone.

use indicatif::{ProgressBar, ProgressStyle};

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
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
