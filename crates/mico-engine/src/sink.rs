//! Following a request while it is worked on, and stopping it.

use std::ops::ControlFlow;

use crate::error::{Error, Result};

/// The parts of a request's work, in order. Parts that a request does not need do not come up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Images are decoded, resized and laid out; a step is one image or video.
    Preprocess,
    /// The vision tower runs on one image or video; a step is a block on one view.
    Vision,
    /// Stage 1 selects; a step is one image or video.
    Stage1,
    /// The decoder runs on the prompt; a step is a block.
    Prefill,
    /// A selection inside the decoder was made; a step is one of them.
    Stage2,
    /// The answer is made; a step is a token.
    Decode,
}

/// How far a phase has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// The phase of the request that the step belongs to.
    pub phase: Phase,
    /// Steps completed in this phase, the one reported included.
    pub done: usize,
    /// Of how many; while decoding, of how many at most.
    pub total: usize,
}

impl Step {
    pub(crate) fn new(phase: Phase, done: usize, total: usize) -> Self {
        Self { phase, done, total }
    }
}

/// Follows a request while it is worked on.
///
/// [`crate::Session::ask`] calls back on the thread that works, right after each piece of work. A caller
/// that would rather decide when the next piece is done takes a [`crate::Sequence`]. Every method has a
/// default that does nothing.
///
/// Answering [`ControlFlow::Break`] stops the work at once with [`Error::Cancelled`]. The session is
/// then as it was before the turn: its caches, positions and history know nothing of it.
pub trait Sink: Send {
    /// Called after every step of every phase: each tower block, decoder block, selection and token.
    fn progress(&mut self, step: Step) -> ControlFlow<()> {
        let _ = step;
        ControlFlow::Continue(())
    }

    /// Called with each piece of the answer's text as soon as it cannot change any more. What ends as
    /// a stop string is never shown.
    fn text(&mut self, piece: &str) -> ControlFlow<()> {
        let _ = piece;
        ControlFlow::Continue(())
    }

    /// Shown the logits before every token; may name the token to say in place of the sampler's.
    fn steer(&mut self, logits: &[f32]) -> Option<u32> {
        let _ = logits;
        None
    }
}

/// For callers that neither follow nor stop a request.
impl Sink for () {}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn progress(&mut self, step: Step) -> ControlFlow<()> {
        (**self).progress(step)
    }

    fn text(&mut self, piece: &str) -> ControlFlow<()> {
        (**self).text(piece)
    }

    fn steer(&mut self, logits: &[f32]) -> Option<u32> {
        (**self).steer(logits)
    }
}

/// Calls a function with every piece of text.
#[derive(Debug)]
pub struct TextSink<F: FnMut(&str) + Send>(pub F);

impl<F: FnMut(&str) + Send> Sink for TextSink<F> {
    fn text(&mut self, piece: &str) -> ControlFlow<()> {
        (self.0)(piece);
        ControlFlow::Continue(())
    }
}

/// Turns a break into the error that ends the work.
pub(crate) fn unless_stopped(flow: ControlFlow<()>) -> Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    }
}

/// Reports a step; an error if the caller stops there.
pub(crate) fn report(sink: &mut dyn Sink, step: Step) -> Result<()> {
    unless_stopped(sink.progress(step))
}
