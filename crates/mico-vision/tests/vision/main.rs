//! Parity with Pillow, torch and transformers on committed expectations, hostile input, and
//! properties that must hold for every size.

// Helpers here state their expectations by unwrapping, as tests do.
#![allow(clippy::unwrap_used)]

mod config;
mod decode;
mod fixture;
mod hostile;
mod internvl;
mod llava;
mod next;
mod properties;
mod qwen;
mod resize;
mod video;
