//! Files from strangers, tried on every reader of the workspace.
//!
//! A [`Target`] is one reader as the program calls it, with what must hold whatever the bytes are: a value
//! or an error of one line, no panic, bounded memory, and the contract of what was read. Committed seeds and
//! [`mutate::Mutator`] make the inputs; [`campaign::Campaign`] keeps those that lead somewhere new and goes on
//! from them.
//!
//! `cargo test -p mico-fuzz` tries all seeds and some thousand mutations of each target; `mico-fuzz TARGET`
//! goes on for as long as it is told. `docs/fuzzing.md` says how to run it and how to add a target.

#![forbid(unsafe_code)]

pub mod campaign;
pub mod folder;
pub mod mutate;
pub mod seeds;
pub mod seen;
pub mod targets;

pub use targets::{TARGETS, Target};

use peak_alloc::PeakAlloc;

/// Counts what is allocated, in every program that this crate is part of.
#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;
