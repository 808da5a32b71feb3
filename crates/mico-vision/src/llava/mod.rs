//! The processors of the LLaVA family.

mod anyres;
mod one;
mod packing;
mod params;

pub use crate::param::{MAX_PIXEL_VALUES, MAX_VIEW_SIDE, ParamError};
pub use anyres::{AnyresAxis, LlavaNext};
pub use one::{Llava, PadMode};
pub use packing::NextPacking;
pub use params::Tower;
