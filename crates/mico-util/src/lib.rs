//! What every crate of the workspace would otherwise write again.
#![forbid(unsafe_code)]

mod error_kind;

pub use error_kind::ErrorKind;
