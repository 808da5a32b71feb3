//! The paper's evaluation of a family, as data: whose prompts and rules, and how large images become.
//! The laboratory translates it into its own terms.

use mico_model::ModelConfig;
use mico_vision::Size;
use mico_vision::layout::VisualLayout;

use crate::preprocess::ImageLimits;

/// Whose prompts and scoring rules the paper uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolkit {
    /// The evaluation scripts of the LLaVA repository.
    Llava,
    /// VLMEvalKit with its default prompts.
    VlmEvalKit,
    /// VLMEvalKit with InternVL's own prompts.
    InternVl,
    /// lmms-eval, by which video benchmarks are measured.
    Lmms,
}

/// What the numbers of a box in an answer are measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxUnits {
    /// Shares of the picture.
    Fractions,
    /// Thousandths of the picture.
    Thousandths,
    /// Pixels of the resized picture the model saw.
    ResizedPixels,
}

/// How the paper measures a family.
#[derive(Clone, Copy)]
pub struct EvaluationProfile {
    /// Whose prompts and rules.
    pub toolkit: Toolkit,
    /// What boxes are measured in.
    pub boxes: BoxUnits,
    /// How large pictures become on a track, where the toolkit sets that itself.
    pub image_limits: fn(track: &str) -> Option<ImageLimits>,
    /// The size of what the model saw, where its boxes are in those pixels.
    pub model_input: Option<fn(&ModelConfig, &VisualLayout) -> Option<Size>>,
}
