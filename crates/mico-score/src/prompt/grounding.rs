//! How a model is asked for the box of what a sentence describes.

use crate::Profile;

/// The wording of a family. Every family was trained with another and answers in other coordinates, so
/// that none can stand for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroundingPrompt {
    /// Qwen's own evaluation prompt; boxes come as JSON.
    Qwen,
    /// InternVL's, which is also that of the question column of RefCOCO's table.
    InternVl,
    /// LLaVA's.
    Llava,
    /// lmms-eval's, which states the coordinates it expects.
    Lmms,
}

impl GroundingPrompt {
    /// What a profile's models are asked with when the data bring no question of their own.
    pub fn of(profile: Profile) -> Self {
        match profile {
            Profile::VlmEvalKit | Profile::Qwen2VlCustom | Profile::Qwen3VlCustom => Self::Qwen,
            Profile::InternVl => Self::InternVl,
            Profile::Llava => Self::Llava,
            Profile::Lmms => Self::Lmms,
        }
    }

    /// The prompt for one description.
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
