//! The models MiCo prunes: vision towers, projectors and one generic decoder on candle tensors,
//! loaded from published checkpoints or built with random weights.
//!
//! This crate knows tensors and files. It knows nothing of images, prompts or pruning policy:
//! it runs any range of decoder blocks on any tokens at any positions, with a cache per block, and
//! shows the caller the attention it asks for and nothing more.
//!
//! ```
//! use mico_model::config::LlavaVision;
//! use mico_model::vision::{Grid, Pixels};
//! use mico_model::{Model, Preset, SyntheticOptions, Tap, VisionTaps};
//! use mico_model::{Normalization, text_to_visual_attention};
//! use candle_core::{Device, Tensor, DType};
//!
//! # fn main() -> mico_model::Result<()> {
//! // A toy of LLaVA-1.5's make.
//! let mut config = Preset::find("llava-1.5-7b")?.config();
//! if let Some(vision) = config.vision.get_mut::<LlavaVision>() {
//!     vision.tower.hidden_size = 32;
//!     vision.tower.intermediate_size = 64;
//!     vision.tower.blocks = 3;
//!     vision.tower.heads = 4;
//!     vision.tower.image_size = 28;
//!     vision.tower.patch_size = 7;
//! }
//! config.decoder.hidden_size = 32;
//! config.decoder.intermediate_size = 64;
//! config.decoder.blocks = 4;
//! config.decoder.heads = 4;
//! config.decoder.kv_heads = 4;
//! config.decoder.head_dim = 8;
//! config.decoder.vocab_size = 100;
//! let (model, _) = Model::synthetic(config, &SyntheticOptions::default())?;
//!
//! // Image to embeddings.
//! let values = Tensor::zeros((1, 3, 28, 28), DType::F32, &Device::Cpu)?;
//! let pixels = Pixels { values, grids: vec![Grid { rows: 4, columns: 4 }] };
//! let seen = model.encode(pixels, VisionTaps::ALL)?;
//! assert_eq!(seen.features.as_ref().map(Tensor::dims), Some(&[16, 32][..]));
//! let visual = model.embed(&seen)?.embeds;
//!
//! // One text token before the 16 visual ones and two after; blocks #1 and #2.
//! let decoder = model.decoder();
//! let text = decoder.embed(&[1, 5, 6])?;
//! let hidden = Tensor::cat(&[&text.narrow(0, 0, 1)?, &visual, &text.narrow(0, 1, 2)?], 0)?;
//! let positions = decoder.positions(&(0..19).collect::<Vec<_>>())?;
//! let mut caches = decoder.new_caches();
//! let taps = [Tap { block: 1, query_rows: vec![17, 18] }];
//! let run = decoder.run(0..2, &hidden, &positions, &mut caches, &taps)?;
//! let visual_rows: Vec<u32> = (1..17).collect();
//! let relevance =
//!     text_to_visual_attention(&run.taps[0], &visual_rows, Normalization::FullCausal)?;
//! assert_eq!(relevance.len(), 16);
//!
//! // Drop all visual tokens but two, keep their positions, run the rest.
//! let kept = [0, 3, 9, 17, 18];
//! let hidden = run.hidden.index_select(&Tensor::new(&kept, &Device::Cpu)?, 0)?;
//! let run = decoder.run(2..4, &hidden, &positions.select(&kept)?, &mut caches, &[])?;
//! let logits = decoder.logits(&run.hidden.narrow(0, 4, 1)?)?;
//! assert_eq!(logits.dims(), [1, 100]);
//! assert_eq!(caches.lengths(), [Some(19), Some(19), Some(5), Some(5)]);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod architectures;
mod attention;
mod cache;
pub mod checkpoint;
pub mod config;
mod decoder;
mod error;
pub mod extend;
mod files;
mod linear;
mod matmul;
mod model;
mod norm;
mod ops;
mod presets;
mod projector;
mod quant;
mod relevance;
mod rope;
mod synthetic;
#[cfg(test)]
mod testing;
pub mod vision;
mod weights;

pub use architectures::{ARCHITECTURES, Architecture, Family, Traits, VisionSide};
pub use cache::{CacheMark, Caches};
pub use config::ModelConfig;
pub use decoder::{Decoder, DeepStack, Peek, QkTap, RunOutput, Tap, Tokens};
pub use error::{Error, Result, first_line};
pub use files::{MemoryModel, ModelFiles};
pub use model::{LoadOptions, LoadReport, Model};
pub use presets::Preset;
pub use projector::Projector;
pub use quant::{QuantKind, QuantNote};
pub use relevance::{Normalization, attention_row, text_to_visual_attention};
pub use rope::{Position, Positions};
pub use synthetic::SyntheticOptions;
pub use vision::{AttentionTaps, Embedded, Encoded, Grid, Pixels, TowerRun, VisionTaps};
pub use weights::{Precision, Progress, ProgressFn};
