//! PyramidDrop: FastV's ranking, repeated at several decoder depths with shrinking shares.

use super::FastV;
use crate::error::Result;
use crate::inputs::TensorSet;
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::tokens::Tokens;

/// One stage of PyramidDrop: the row of the last prompt token in the block after the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PyramidDrop(FastV);

impl PyramidDrop {
    /// The shares of the original tokens the authors keep after a quarter, a half and three
    /// quarters of the decoder.
    pub const SHARES: [f64; 3] = [0.5, 0.25, 0.125];

    pub(super) fn build(_: &mut Settings) -> Result<Box<dyn Selector>> {
        Ok(Box::new(Self::default()))
    }
}

impl Selector for PyramidDrop {
    fn name(&self) -> &'static str {
        "pyramiddrop"
    }

    fn reads(&self, present: TensorSet) -> Result<TensorSet> {
        self.0.reads(present)
    }

    fn select(
        &self,
        tokens: &Tokens<'_>,
        budget: usize,
        context: &Context<'_>,
    ) -> Result<Selection> {
        self.0.select(tokens, budget, context)
    }
}
