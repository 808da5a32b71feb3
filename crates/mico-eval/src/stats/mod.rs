//! How sure a number is, and how numbers hang together.

mod bootstrap;
mod mcnemar;
mod trim;
mod wilson;

pub use bootstrap::{RESAMPLES, Resamples, correlation_interval, interval};
pub use mcnemar::mcnemar;
pub use mico_score::rules::diagnostics::{concordance, jeffreys_entropy, ranks, spearman};
pub use trim::Trim;
pub use wilson::wilson;
