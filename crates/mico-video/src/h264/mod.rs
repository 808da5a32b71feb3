//! Decodes H.264 pictures one at a time.
//!
//! OpenH264 can reorder pictures for display, but then does not tell which is which. It is
//! therefore made to return every picture as soon as it is decoded (see [`sps`]), so that the
//! output belongs to the data just given; display order comes from the times in the file.
//!
//! Only [`decoder`] depends on the feature `h264`; without it no decoder can be created, and
//! everything else is unchanged.

mod bits;
mod color;
mod config;
mod decoder;
mod picture;
mod sps;
mod units;

pub(crate) use config::AvcConfig;
pub(crate) use picture::{Outcome, PictureDecoder};
pub(crate) use units::{has_instant_refresh, units};
