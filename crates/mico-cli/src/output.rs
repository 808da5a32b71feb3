//! Writing to standard output: a reader that has gone away is no failure.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;

use mico_util::text::printable;
use serde::Serialize;

use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Waiting;

/// Prints a line to standard output: to a terminal without what would command it, elsewhere as it is.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() { exact(&printable(text)) } else { exact(text) }
}

fn exact(text: &str) -> Result<(), Failure> {
    written(writeln!(std::io::stdout(), "{text}"))
}

/// Prints a JSON document on a line of its own.
pub(crate) fn json(document: &impl Serialize) -> Result<(), Failure> {
    exact(&serde_json::to_string(document).map_err(Failure::failed)?)
}

/// What came of writing to standard output. A closed pipe is the reader's choice, not a failure.
pub(crate) fn written(result: std::io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints an answer piece by piece; stops when nobody reads any more, or at Ctrl-C.
#[derive(Debug)]
pub(crate) struct Streamed<W> {
    out: W,
    /// Whether the answer goes to a terminal, which its characters must not command.
    shown: bool,
    waiting: Waiting,
}

impl<W: Write> Streamed<W> {
    pub(crate) fn to(out: W) -> Self {
        Self { out, shown: std::io::stdout().is_terminal(), waiting: Waiting::default() }
    }
}

impl<W: Write + Send> mico_engine::Sink for Streamed<W> {
    fn progress(&mut self, step: mico_engine::Step) -> ControlFlow<()> {
        self.waiting.step(step);
        interrupt::flow()
    }

    fn text(&mut self, piece: &str) -> ControlFlow<()> {
        self.waiting.over();
        let piece = if self.shown { Cow::from(printable(piece)) } else { Cow::from(piece) };
        match write!(self.out, "{piece}").and_then(|()| self.out.flush()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}
