//! What an engine is made of, for people and programs that ask.

use serde::Serialize;

use crate::engine::Engine;

/// What an engine is made of.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Description {
    /// `llava`, `llava_next`, `qwen2_5_vl`, ...
    pub family: &'static str,
    /// The published model with this shape and schedule, if it is one.
    pub preset: Option<&'static str>,
    /// Whether the refinement block was scaled rather than calibrated for this model.
    pub uncalibrated: bool,
    /// Number of decoder blocks, L in the paper.
    pub layers: usize,
    /// Refinement block K, counted from 1.
    pub refine_layer: usize,
    /// Width of the decoder.
    pub hidden_size: usize,
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
    /// Longest sequence the model was made for.
    pub max_positions: usize,
    /// The id that stands for an image.
    pub image_token_id: u32,
    /// Ids that end an answer.
    pub end_token_ids: Vec<u32>,
    /// Visual tokens of one view, where the tower's input has one size.
    pub tokens_per_view: Option<usize>,
    /// Whether texts can be used.
    pub tokenizer: bool,
    /// Where the chat template was found.
    pub template: Option<String>,
    /// How messages become a prompt unless a request says otherwise.
    pub prompt_style: &'static str,
    /// Bytes of the decoder's matrices.
    pub decoder_bytes: usize,
    /// Number format of the hidden states.
    pub dtype: String,
    /// Number format of the tower's and projector's matrices.
    pub vision_format: String,
}

impl Description {
    pub(crate) fn of(engine: &Engine) -> Self {
        let (config, decoder) = (engine.model.config(), engine.model.decoder());
        Self {
            family: config.family.name(),
            preset: engine.schedule.preset,
            uncalibrated: engine.schedule.preset.is_none(),
            layers: decoder.blocks(),
            refine_layer: engine.schedule.policy.refine_layer,
            hidden_size: config.decoder.hidden_size,
            vocabulary: config.decoder.vocab_size,
            max_positions: config.decoder.max_positions,
            image_token_id: engine.placeholder,
            end_token_ids: engine.ends.clone(),
            tokens_per_view: config.vision.tokens_per_view(),
            tokenizer: engine.tokenizer.is_some(),
            template: engine.template.as_ref().map(|template| template.file().to_owned()),
            prompt_style: engine.style().name(),
            decoder_bytes: decoder.bytes(),
            dtype: format!("{:?}", decoder.dtype()).to_lowercase(),
            vision_format: engine.model.vision_format(),
        }
    }
}
