//! The mico command.
fn main() {}
