//! Where items come from.

mod benchmark;
mod tiny;

pub use benchmark::{Benchmark, BenchmarkOptions};
pub use tiny::TinySuite;

use mico_engine::ImageLimits;
use mico_score::Segment;

use crate::error::Result;
use crate::item::{DamagedRow, Item};
use crate::scoring::TrackSpec;

/// Items one at a time; a row that cannot be asked comes as what is wrong with it.
pub type Items<'a> = Box<dyn Iterator<Item = std::result::Result<Item, DamagedRow>> + Send + 'a>;

/// Items of one or several tracks, read as a stream.
pub trait Source: Sync {
    /// The name, with everything that decides its items and prompts.
    fn name(&self) -> String;

    /// The tracks, in the order of tables.
    fn tracks(&self) -> &[TrackSpec];

    /// The items from the first on, those about one picture together.
    fn items(&self) -> Result<Items<'_>>;

    /// How many there are, where that is known without reading them.
    fn expected(&self) -> Option<usize>;

    /// What is put to the model.
    fn prompt(&self, item: &Item) -> Result<Vec<Segment>>;

    /// The number of tokens after which an answer is cut.
    fn max_new_tokens(&self) -> usize;

    /// How large its pictures may become, where it says; else as the engine has it.
    fn limits(&self) -> Option<ImageLimits> {
        None
    }

    /// Rows that the benchmark's own rules leave out, seen so far.
    fn dropped(&self) -> usize {
        0
    }
}
