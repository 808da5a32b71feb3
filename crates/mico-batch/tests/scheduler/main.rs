//! The scheduler on a scripted backend: no weights, no sleeps, and time that passes when it is told to.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod admission;
mod common;
mod drain;
mod ends;
mod metrics;
mod pace;
mod panics;
mod random;
mod run_all;
mod threads;
