//! A vision tower's run as a value: between two blocks it can be kept, moved to another thread or
//! dropped. Open this to see what a tower, or a family with one of its own, must bring.

use std::fmt::{self, Debug};

use super::Encoded;
use crate::error::{Error, Result};

/// A tower between two blocks. It owns its hidden states and shares the weights.
pub trait TowerBlocks: Send {
    /// What the tower gives once all its blocks have run.
    type Output;

    /// Steps that have run. A block counts once for every view that went through it.
    fn done(&self) -> usize;

    /// All steps of the run; 0 for a tower without blocks.
    fn total(&self) -> usize;

    /// Runs one more block on the views that go through it together. Not called once all have run.
    fn advance(&mut self) -> Result<()>;

    /// What came out, after the last block.
    fn finish(self) -> Result<Self::Output>;
}

/// The vision side at work on one image or video, one block at a time.
///
/// Dropping it ends the work and leaves nothing behind.
pub struct TowerRun(Box<dyn Run>);

impl TowerRun {
    /// A tower's blocks, and how the family reads what they give.
    pub fn new<B: TowerBlocks + 'static>(
        blocks: B,
        read: impl FnOnce(B::Output) -> Result<Encoded> + Send + 'static,
    ) -> Self {
        Self(Box::new(Reading { blocks, read }))
    }

    /// For a family that encodes an image in one step: `encode` is called by the only
    /// [`Self::advance`].
    pub fn once(encode: impl FnOnce() -> Result<Encoded> + Send + 'static) -> Self {
        Self::new(Once::Waiting(encode), Ok)
    }

    /// Steps that have run. A block counts once for every view that went through it.
    pub fn done(&self) -> usize {
        self.0.done()
    }

    /// All steps of the run; 0 for a tower without blocks.
    pub fn total(&self) -> usize {
        self.0.total()
    }

    /// Runs one more block on the views that go through it together; nothing if all have run.
    pub fn advance(&mut self) -> Result<()> {
        if self.done() < self.total() { self.0.advance() } else { Ok(()) }
    }

    /// What the tower gave. Blocks that have not run yet do so first.
    pub fn finish(mut self) -> Result<Encoded> {
        while self.done() < self.total() {
            self.0.advance()?;
        }
        self.0.finish()
    }
}

impl Debug for TowerRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TowerRun({} of {})", self.done(), self.total())
    }
}

// Whoever keeps a run may move it between threads.
const _: () = {
    const fn moved<T: Send + 'static>() {}
    moved::<TowerRun>();
};

/// A run whose tower is forgotten.
trait Run: Send {
    fn done(&self) -> usize;
    fn total(&self) -> usize;
    fn advance(&mut self) -> Result<()>;
    fn finish(self: Box<Self>) -> Result<Encoded>;
}

struct Reading<B, F> {
    blocks: B,
    read: F,
}

impl<B: TowerBlocks, F: FnOnce(B::Output) -> Result<Encoded> + Send> Run for Reading<B, F> {
    fn done(&self) -> usize {
        self.blocks.done()
    }

    fn total(&self) -> usize {
        self.blocks.total()
    }

    fn advance(&mut self) -> Result<()> {
        self.blocks.advance()
    }

    fn finish(self: Box<Self>) -> Result<Encoded> {
        (self.read)(self.blocks.finish()?)
    }
}

/// Work that is not divided.
enum Once<F> {
    Waiting(F),
    Done(Box<Encoded>),
    Failed,
}

impl<F: FnOnce() -> Result<Encoded> + Send> TowerBlocks for Once<F> {
    type Output = Encoded;

    fn done(&self) -> usize {
        usize::from(!matches!(self, Self::Waiting(_)))
    }

    fn total(&self) -> usize {
        1
    }

    fn advance(&mut self) -> Result<()> {
        if let Self::Waiting(encode) = std::mem::replace(self, Self::Failed) {
            *self = Self::Done(Box::new(encode()?));
        }
        Ok(())
    }

    fn finish(self) -> Result<Encoded> {
        match self {
            Self::Done(encoded) => Ok(*encoded),
            Self::Waiting(encode) => encode(),
            Self::Failed => Err(Error::input("tower", "its run failed before")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> Encoded {
        Encoded { features: None, reliability: None, shallow: None, keys: None, states: Vec::new() }
    }

    #[test]
    fn work_in_one_step_is_done_once() {
        let mut run = TowerRun::once(|| Ok(nothing()));
        assert_eq!((run.done(), run.total()), (0, 1));
        run.advance().unwrap();
        assert_eq!(format!("{run:?}"), "TowerRun(1 of 1)");
        run.advance().unwrap();
        assert!(run.finish().unwrap().states.is_empty());
        assert!(TowerRun::once(|| Ok(nothing())).finish().is_ok());
    }

    #[test]
    fn a_failure_stays_one() {
        let mut run = TowerRun::once(|| Err(Error::input("pixels", "none")));
        assert!(run.advance().is_err());
        assert!(run.finish().unwrap_err().to_string().contains("failed before"));
    }
}
