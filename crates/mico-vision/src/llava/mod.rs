//! The image processors of LLaVA-1.5 (one square view) and LLaVA-NeXT (a base view and crops).

mod anyres;
mod one;
mod packing;
mod params;

pub use crate::param::{MAX_PIXEL_VALUES, MAX_VIEW_SIDE, ParamError};
pub use anyres::{AnyresAxis, LlavaNext};
pub use one::{Llava, PadMode};
pub use packing::NextPacking;
pub use params::Tower;
