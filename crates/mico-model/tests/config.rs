//! The settings read from old-style, new-style and original files.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use std::fs;
use std::path::Path;

use mico_model::config::{Activation, AttentionBias, StoredDtype};
use mico_model::{Family, ModelConfig};
use serde_json::{Value, json};

fn read(config: &Value, generation: Option<&Value>) -> ModelConfig {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
    if let Some(generation) = generation {
        fs::write(folder.path().join("generation_config.json"), generation.to_string()).unwrap();
    }
    ModelConfig::read(folder.path()).unwrap()
}

/// The `-hf` 7B file leaves the decoder's sizes out.
#[test]
fn sizes_that_are_omitted_are_the_7b_ones() {
    let config = read(
        &json!({
            "model_type": "llava", "image_token_index": 32000, "torch_dtype": "float16",
            "text_config": {"model_type": "llama", "max_position_embeddings": 4096,
                            "torch_dtype": "float16", "vocab_size": 32064},
            "vision_config": {"hidden_size": 1024, "image_size": 336, "intermediate_size": 4096,
                "model_type": "clip_vision_model", "num_attention_heads": 16,
                "num_hidden_layers": 24, "patch_size": 14, "projection_dim": 768}
        }),
        None,
    );
    let expected = mico_model::Preset::find("llava-1.5-7b").unwrap().config();
    assert_eq!(config.decoder, expected.decoder);
    assert_eq!(config.vision, expected.vision);
    assert_eq!(config.dtype, Some(StoredDtype::F16));
    let layer = config.vision.llava().unwrap().feature_layer;
    assert_eq!((config.eos_token_ids, layer), (vec![2], -2));
}

#[test]
fn mistral_sizes_and_new_style_rope() {
    let config = read(
        &json!({
            "model_type": "llava_next", "image_token_id": 32000, "dtype": "bfloat16",
            "vision_feature_layer": [-2], "eos_token_id": 7,
            "text_config": {"model_type": "mistral", "vocab_size": 32064, "sliding_window": null,
                "max_position_embeddings": 32768, "rms_norm_eps": 1e-5,
                "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}
        }),
        Some(&json!({"eos_token_id": [2, 32_007]})),
    );
    let expected = mico_model::Preset::find("llava-next-mistral-7b").unwrap().config();
    assert_eq!(config.decoder, expected.decoder);
    assert_eq!(config.vision, expected.vision);
    assert_eq!(config.family, Family::LlavaNext);
    assert_eq!(config.dtype, Some(StoredDtype::Bf16));
    assert_eq!(config.eos_token_ids, [2, 32_007]);
}

#[test]
fn old_style_scaling_biases_and_activations() {
    let config = read(
        &json!({
            "model_type": "llava", "multimodal_projector_bias": false,
            "projector_hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": true,
            "text_config": {"rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 2.0},
                            "attention_bias": true}
        }),
        None,
    );
    assert_eq!((config.decoder.rope.theta, config.decoder.rope.factor), (5e5, 2.0));
    assert_eq!(config.decoder.attention_bias, AttentionBias::All);
    let projector = config.vision.llava().unwrap().projector;
    assert!(config.decoder.tied_head && !projector.bias);
    assert_eq!(projector.activation, Activation::GeluTanh);
}

#[test]
fn every_layout_of_the_same_model_reads_alike() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data/llava");
    let reference = ModelConfig::read(&root.join("llava15")).unwrap();
    for case in ["llava15-tf5", "llava15-memory", "llava15-original"] {
        let config = ModelConfig::read(&root.join(case)).unwrap();
        assert_eq!(config.decoder, reference.decoder, "{case}");
        let (found, expected) = (config.vision.llava(), reference.vision.llava());
        let (found, expected) = (found.unwrap(), expected.unwrap());
        assert_eq!(found.tower, expected.tower, "{case}");
        assert_eq!(found.projector, expected.projector, "{case}");
        assert_eq!(found.feature_layer, expected.feature_layer, "{case}");
        assert_eq!(config.image_token_id, reference.image_token_id, "{case}");
        assert_eq!(config.eos_token_ids, reference.eos_token_ids, "{case}");
    }
}
