//! The embedded model: a small LLaVA-1.5 (CLIP tower, projector, Llama decoder) that was trained on
//! the pictures of `mico-scenes`, in the layout of published checkpoints.
//!
//! The files in `model/` are a Hugging Face folder; this crate only carries them. How they were made
//! is in `training/`.

#![forbid(unsafe_code)]

use mico_model::MemoryModel;

/// The name of the model on the command line.
pub const NAME: &str = "tiny";

/// A question the model was made for, about the pictures it was trained on.
pub const EXAMPLE: &str = "What letter is on the purple circle?";

macro_rules! file {
    ($name:literal) => {
        ($name, include_bytes!(concat!("../model/", $name)).as_slice())
    };
}

/// The model's files.
pub static MODEL: MemoryModel = MemoryModel {
    name: NAME,
    files: &[
        file!("config.json"),
        file!("generation_config.json"),
        file!("preprocessor_config.json"),
        file!("tokenizer.json"),
        file!("tokenizer_config.json"),
        file!("chat_template.jinja"),
        file!("model.safetensors"),
    ],
};
