//! Exact, fast selection of visual tokens.
//!
//! Work in progress documentation.

#![forbid(unsafe_code)]

mod coverage;
mod covering;
mod error;
mod gram;
mod groups;
mod inputs;
mod lazy;
mod matrix;
pub mod methods;
mod progress;
pub mod proxies;
mod rank;
mod rng;
pub mod schedule;
mod selection;
mod selector;
mod settings;

pub use error::{Error, Result};
pub use gram::Gram;
pub use groups::{Remainder, split_budget};
pub use inputs::{Inputs, Tensor, TensorSet, Tokens};
pub use matrix::{Dense, Matrix, Rows, Values};
pub use progress::Progress;
pub use rank::round_ratio;
pub use selection::{Merge, Replacement, Seconds, Selection};
pub use selector::{Context, DEFAULT_MEMORY, Options, Selector, select};
pub use settings::Settings;
