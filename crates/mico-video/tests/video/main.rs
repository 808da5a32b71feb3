//! Frames against FFmpeg, libswscale, Pillow and numpy on committed expectations; limits; hostile
//! files.

// Helpers here state their expectations by unwrapping, as tests do.
#![allow(clippy::unwrap_used)]
// Names of products (FFmpeg, OpenH264) are not code.
#![allow(clippy::doc_markdown)]

mod animations;
#[cfg(feature = "h264")]
mod clips;
mod fixture;
mod folder;
mod hostile;
mod limits;
mod sampling;
mod webp;
