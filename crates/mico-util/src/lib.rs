//! Small things that several crates of the workspace need and that must not differ between them.
//!
//! * [`SplitMix64`]: seeded random numbers that are the same on every machine and in every release.
//! * [`quantile`]: quantiles with linear interpolation.
//! * [`memory`]: what the operating system says about memory and processor.
//! * [`escape_markup`]: text inside HTML and XML documents.
//! * [`text`]: values of files and users as messages quote them.
//! * [`catch_panic`]: panics of third-party code on hostile files as errors.
//! * [`input`]: files that somebody else named, read without waiting and up to a limit.
//! * [`ErrorKind`]: whose fault an error is, for every front end.
//! * `digest` (feature `digest`): SHA-256 of bytes and streams, in hexadecimal.
//! * `files` (feature `files`): files that appear whole or not at all.
//! * `size` (feature `size`): amounts of memory as people write them.
//!
//! Nothing here knows a tensor, a model or a command line.

#![forbid(unsafe_code)]

#[cfg(feature = "digest")]
pub mod digest;
mod error_kind;
#[cfg(feature = "files")]
pub mod files;
pub mod input;
mod markup;
pub mod memory;
mod panics;
mod quantile;
mod rng;
#[cfg(feature = "size")]
pub mod size;
pub mod text;

pub use error_kind::ErrorKind;
pub use markup::escape_markup;
pub use panics::{catch_panic, is_catching_panic};
pub use quantile::quantile;
pub use rng::SplitMix64;
