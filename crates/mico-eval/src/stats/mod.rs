//! How sure a number is, and how numbers hang together.

mod bootstrap;
mod concordance;
mod entropy;
mod mcnemar;
mod rank;
mod trim;
mod wilson;

pub use bootstrap::{RESAMPLES, Resamples, interval};
pub use concordance::concordance;
pub use entropy::jeffreys_entropy;
pub use mcnemar::mcnemar;
pub use rank::{average_ranks, spearman};
pub use trim::{Trim, quantile};
pub use wilson::wilson;
