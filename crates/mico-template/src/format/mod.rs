//! Formatting: `%` with a string, `str.format`, and the numbers both write.

pub(crate) mod fields;
pub(crate) mod numbers;
pub(crate) mod printf;
mod spec;
