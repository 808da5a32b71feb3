//! From encoded image bytes to the pixels a multimodal model reads, and the one value that says
//! what every visual token shows.
//!
//! The way through this crate:
//!
//! 1. [`decode`] turns bytes of unknown origin into an upright [`RgbImage`], within explicit
//!    limits;
//! 2. a family's processor ([`llava`], [`qwen`], [`internvl`], [`llava_video`]) lays out
//!    [`view::View`]s of that image, resamples them ([`resample`], bit-exact to Pillow 11 or to
//!    torch) and normalises them;
//! 3. the resulting [`layout::VisualLayout`] is the only source of token counts, groups, grids and
//!    image regions for everything downstream, overlay pictures included.
//!
//! The crate knows no tensor framework, reads no files and prints nothing.
//!
//! ```
//! use mico_vision::llava::{Llava, PadMode};
//! use mico_vision::preprocessor_config::PreprocessorConfig;
//! use mico_vision::{RgbImage, Size};
//!
//! let image = RgbImage::filled(Size::new(80, 60), [200, 30, 30]);
//! let config = PreprocessorConfig::clip(336);
//! let processor = Llava::from_config(&config, 14, PadMode::Square)?;
//! let processed = processor.process(&image);
//! assert_eq!(processed.layout.len(), 576);
//! assert_eq!(processed.pixels.len(), 3 * 336 * 336);
//! # Ok::<(), mico_vision::llava::ParamError>(())
//! ```
#![forbid(unsafe_code)]
// Coordinates and colours are clamped to their range before they are narrowed.
#![allow(clippy::cast_sign_loss)]

pub mod decode;
pub mod internvl;
pub mod layout;
pub mod llava;
pub mod llava_video;
pub mod normalize;
mod param;
mod pixels;
pub mod preprocessor_config;
mod processed;
pub mod qwen;
pub mod resample;
pub mod view;

pub use param::ParamError;
pub use pixels::{EncodeError, RgbImage, Size, SizeError, encode_jpeg, encode_png, encode_webp};
pub use processed::Processed;
