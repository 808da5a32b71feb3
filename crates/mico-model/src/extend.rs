//! The building blocks of a model family defined outside this crate.
//!
//! An [`Architecture`] reads `config.json` through [`Fields`] and the readers of common parts, states
//! its own [`VisionSettings`], and puts its [`VisionSide`] together from the towers and layers a
//! [`Builder`] gives. [`crate::ModelConfig::read`] and [`crate::Model::load_as`] then treat it like
//! the ones that ship with the crate; `mico-engine/tests/extend/abacus.rs` is a whole one.

pub use crate::architectures::{
    Architecture, Family, Traits, VisionSide, check_views, patch_means, single_state, token_means,
};
pub use crate::checkpoint::Part;
pub use crate::config::common::{bos, dtype, eos};
pub use crate::config::fields::Fields;
pub use crate::config::parts::Check;
pub use crate::config::text::{DecoderKinds, LLAVA_KINDS, read_decoder};
pub use crate::config::vit::read_vit;
pub use crate::config::{VisionConfig, VisionSettings};
pub use crate::linear::Linear;
pub use crate::norm::{LayerNorm, RmsNorm};
pub use crate::presets::Preset;
pub use crate::projector::Projector;
pub use crate::vision::flops::{VisionFlops, two_layer_flops, vit_flops};
pub use crate::vision::qwen::{QwenOutput, QwenRun, QwenTower};
pub use crate::vision::vit::{VitOutput, VitRun, VitTower};
pub use crate::vision::{TowerBlocks, TowerRun};
pub use crate::weights::{Builder, LinearShape};
