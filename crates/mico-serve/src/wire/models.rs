//! The list of served models.

use serde::Serialize;
use utoipa::ToSchema;

/// All names under which the model is served.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ModelList {
    /// `list`.
    pub object: &'static str,
    /// One entry per name and profile.
    pub data: Vec<ModelEntry>,
}

/// A name under which the model is served.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ModelEntry {
    /// What requests write as `model`.
    pub id: String,
    /// `model`.
    pub object: &'static str,
    /// When the server was started, in seconds since 1970.
    pub created: u64,
    /// `mico`.
    pub owned_by: &'static str,
    /// The name of the model's folder.
    pub root: String,
    /// Longest sequence the model was made for.
    pub max_model_len: usize,
    /// What the OpenAI API has no field for.
    pub mico: ModelMico,
}

/// What the OpenAI API has no field for.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ModelMico {
    /// `llava`, `qwen2_5_vl`, ...
    pub family: String,
    /// Number of decoder blocks.
    pub layers: usize,
    /// Refinement block, counted from 1.
    pub refine_layer: usize,
    /// The pruning methods that requests may name.
    pub methods: Vec<&'static str>,
    /// How requests under this name are pruned unless they say otherwise; null for not at all.
    pub default: Option<String>,
    /// What can be asked about: `text`, `image`, `video`.
    pub modalities: Vec<&'static str>,
}
