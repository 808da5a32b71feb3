//! How sure a number is.

mod bootstrap;
mod mcnemar;
mod wilson;

pub use bootstrap::{RESAMPLES, Resamples, interval};
pub use mcnemar::mcnemar;
pub use wilson::wilson;
