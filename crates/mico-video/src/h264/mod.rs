//! H.264 pictures, one at a time.
//!
//! OpenH264 can put pictures into the order they are shown, but then does not say which is which.
//! Here it is made to hand out every picture as soon as it is decoded (see [`sps`]), so that the
//! picture that comes out is the one whose data went in; the file's own times give the order.
//!
//! Only [`decoder`] knows the feature `h264`: without it, no decoder can be made, and all else is as it
//! is with it.

mod bits;
mod colour;
mod config;
mod decoder;
mod picture;
mod sps;
mod units;

pub(crate) use config::AvcConfig;
pub(crate) use picture::{Outcome, PictureDecoder};
pub(crate) use units::{has_instant_refresh, units};
