//! What methods know of a model: a handful of properties, never its name.

/// The properties of a model that decide how a method is carried out on it.
///
/// Published methods come with code for some models, and differ between them. What they distinguish is
/// written here as what it is, not as whose model it is, so that a new model takes its place by its
/// properties alone. Start from [`ModelTraits::new`] and set what differs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "independent properties, none of them a state")]
pub struct ModelTraits {
    /// For each decoder block whether it has full attention, which can be observed; blocks of linear
    /// attention have no map to read.
    pub attends: Vec<bool>,
    /// Whether position ids have three axes (time, row, column).
    pub spatial_positions: bool,
    /// Whether the projector takes the tower's tokens one by one, so that they can be chosen, or merged,
    /// before it.
    pub projects_tokens: bool,
    /// Whether images are taken at their own resolution and aspect ratio (the authors' variants for
    /// Qwen models).
    pub native_resolution: bool,
    /// Whether an image is a base view followed by crops that are stitched into one grid (LLaVA-NeXT).
    pub anyres_crops: bool,
    /// Whether images are padded to a square, so that some tokens show padding alone (LLaVA-1.5).
    pub pads_to_square: bool,
}

impl ModelTraits {
    /// A model with these decoder blocks and none of the other properties.
    pub fn new(attends: Vec<bool>) -> Self {
        Self {
            attends,
            spatial_positions: false,
            projects_tokens: false,
            native_resolution: false,
            anyres_crops: false,
            pads_to_square: false,
        }
    }

    /// The number of decoder blocks L.
    pub fn layers(&self) -> usize {
        self.attends.len()
    }

    /// Whether a block, counted from 1, has full attention; `false` for a block that does not exist.
    pub fn attends_at(&self, block: usize) -> bool {
        let index = block.checked_sub(1);
        index.and_then(|index| self.attends.get(index)).copied().unwrap_or(false)
    }
}
