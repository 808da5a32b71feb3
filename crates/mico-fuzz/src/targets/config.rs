//! `config.json` of every family, and everything that is computed from it before weights are read.

use mico_engine::families::{FAMILIES, FamilySpec};
use mico_engine::flops::Head;
use mico_engine::pruner::Pruning;
use mico_engine::{Estimate, Switches, TextTokens};
use mico_model::ModelConfig;
use mico_select::schedule::Budget;
use mico_vision::Size;

use super::Target;
use crate::folder::with_folder;
use crate::seen::Seen;

pub(super) const TARGET: Target = Target {
    name: "config",
    about: "config.json and generation_config.json of every family",
    run,
    tokens: &[
        "model_type",
        "architectures",
        "text_config",
        "vision_config",
        "llm_config",
        "llava",
        "llava_next",
        "llava_llama",
        "qwen2_5_vl",
        "qwen3_vl",
        "qwen3_5",
        "internvl",
        "internvl_chat",
        "llava_qwen",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "intermediate_size",
        "vocab_size",
        "rope_theta",
        "rope_scaling",
        "rope_parameters",
        "mrope_section",
        "max_position_embeddings",
        "sliding_window",
        "image_size",
        "patch_size",
        "image_token_index",
        "image_token_id",
        "eos_token_id",
        "quantization_config",
        "quant_method",
        "layer_types",
        "linear_attention",
        "full_attention",
        "hidden_act",
        "gelu",
        "silu",
        "tie_word_embeddings",
        "vision_feature_layer",
        "mm_vision_tower",
        "torch_dtype",
        "bfloat16",
    ],
    short_run: 2500,
};

/// The most tokens a layout is computed of: one of an image of 224 pixels on patches of one pixel.
const SMALL: usize = 1 << 12;

fn run(data: &[u8], seen: &mut Seen) {
    with_folder(data, "config.json", |folder| {
        let read = ModelConfig::read(folder, &FamilySpec::architectures(FAMILIES));
        let Some(config) = seen.result("config", read) else { return };
        let decoder = &config.decoder;
        assert!(decoder.blocks > 0 && decoder.heads > 0 && decoder.kv_heads > 0);
        assert!(decoder.heads.is_multiple_of(decoder.kv_heads), "{} heads", decoder.heads);
        let family = FamilySpec::find(config.family);
        let family = family.unwrap_or_else(|error| panic!("a family that nobody knows: {error}"));
        seen.accepted(family.name());
        let preprocessing = family.default_preprocessing(&config);
        if seen.result("preprocessing", preprocessing).is_none() {
            return;
        }
        let size = Size::new(96, 64);
        let frames = if family.traits().takes_video { 2 } else { 1 };
        let estimate = Estimate::new(family, config, size, frames, Switches::default());
        let Some(estimate) = seen.result("estimate", estimate) else { return };
        for pruning in [Pruning::off(), Pruning::mico(Budget::Tokens(4))] {
            let text = TextTokens { total: 20, before: 5 };
            let counted = seen.result("counted", estimate.prefill(&pruning, text, Head::Last));
            let Some(counted) = counted else { continue };
            assert!(counted.layer_average.is_finite() && counted.layer_average >= 0.0);
            let entered = counted.stage1_kept.unwrap_or(0);
            assert!(entered <= counted.visual_tokens, "{entered} of {}", counted.visual_tokens);
            if counted.visual_tokens <= SMALL {
                assert!(counted.gflops.total.is_finite(), "{:?}", counted.gflops);
            }
        }
    });
}
