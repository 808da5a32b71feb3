//! The classes of security advisories that servers of models have had, each as a test of this one. Classes that need a
//! model's files or weights are tested where those are read: 17 (templates), 19, 20 and 22 in `mico-template`,
//! `mico-tensors` and `mico-engine`; addresses and URLs of 2 and 3 also in `src/media`.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

#[path = "advisories/access.rs"]
mod access;
#[path = "advisories/limits.rs"]
mod limits;
#[path = "advisories/media.rs"]
mod media;
