//! Several clients at once: how many answers the machine makes, and what each client waits for. Open this to
//! measure something else about a scheduler under load.
//!
//! At a level of c, c clients each send their next request as soon as the last one is answered (a closed loop),
//! through [`mico_batch::Scheduler`]. No two requests show the same pixels and nothing is kept in an encoder
//! cache, so every image is encoded.

mod client;
mod plot;
mod row;
mod sample;
mod table;
#[cfg(test)]
mod tests;
mod turn;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

pub(crate) use plot::charts;
pub(crate) use row::Turns;
pub use row::{Latency, LevelRow, LevelSeconds, RelativeToOne};
pub(crate) use sample::LevelSample;
pub(crate) use table::concurrency_table;
pub(crate) use turn::LevelTurn;

/// Numbers of clients that are served at once, and how many requests each of them sends in a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Concurrency {
    clients: Vec<usize>,
    requests: usize,
}

impl Concurrency {
    /// The most clients at once.
    pub const MAX_CLIENTS: usize = 64;
    /// The most requests of a client in a turn.
    pub const MAX_REQUESTS: usize = 1000;

    /// Turns with these numbers of clients, none twice and the smallest first, of so many requests each.
    pub fn new(mut clients: Vec<usize>, requests: usize) -> Result<Self> {
        clients.sort_unstable();
        clients.dedup();
        let check = |what, given, most| {
            let fits = (1..=most).contains(&given);
            if fits { Ok(()) } else { Err(Error::Concurrency { what, given, most }) }
        };
        for &count in &clients {
            check("clients", count, Self::MAX_CLIENTS)?;
        }
        check("requests", requests, Self::MAX_REQUESTS)?;
        Ok(Self { clients, requests })
    }

    /// The levels, that of the fewest clients first.
    pub(crate) fn levels(&self) -> impl DoubleEndedIterator<Item = Level> {
        self.clients.iter().map(|&clients| Level { clients, requests: self.requests })
    }
}

/// How many clients there are in a turn, and what each of them asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Level {
    /// Clients at once.
    pub(crate) clients: usize,
    /// Requests of each client, one after another.
    pub(crate) requests: usize,
}
