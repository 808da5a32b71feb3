//! The prompts that ask for the bounding box of a referring expression.

use crate::Profile;

/// The grounding prompt of a model family. Each family was trained with its own wording and
/// coordinates, so no single prompt suits all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroundingPrompt {
    /// Qwen's own evaluation prompt; boxes come as JSON.
    Qwen,
    /// InternVL's prompt, which is also in the question column of VLMEvalKit's RefCOCO table.
    InternVl,
    /// LLaVA's prompt, which asks for the region that the sentence describes.
    Llava,
    /// lmms-eval's prompt, which states the coordinate format that it expects.
    Lmms,
}

impl GroundingPrompt {
    /// The prompt for a profile's models, used when the data has no question of its own.
    pub fn of(profile: Profile) -> Self {
        match profile {
            Profile::VlmEvalKit | Profile::Qwen2VlCustom | Profile::Qwen3VlCustom => Self::Qwen,
            Profile::InternVl => Self::InternVl,
            Profile::Llava => Self::Llava,
            Profile::Lmms => Self::Lmms,
        }
    }

    /// The prompt for one referring expression.
    pub fn text(self, expression: &str) -> String {
        const REGION: &str =
            "Please provide the bounding box coordinate of the region this sentence describes: ";
        match self {
            Self::Qwen => format!(
                "Locate every object that matches the description \"{expression}\" in the image. Report bbox coordinates in JSON format."
            ),
            Self::InternVl => format!("{REGION}<ref>{expression}</ref>"),
            Self::Llava => format!("{REGION}{expression}"),
            Self::Lmms => format!(
                "Bounding box coordinates are specified in the format (top-left x, top-left y, bottom-right x, bottom-right y). All values are floating point numbers bounded between 0 and 1. {REGION}{expression}"
            ),
        }
    }
}
