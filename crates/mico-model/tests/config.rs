//! The settings read from old-style, new-style and original files.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use std::fs;
use std::path::Path;

use mico_model::config::{
    Activation, AttentionBias, LlavaVision, MixerKind, RopeAxes, StoredDtype,
};
use mico_model::{ARCHITECTURES, ModelConfig};
use serde_json::{Value, json};

fn read(config: &Value, generation: Option<&Value>) -> ModelConfig {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
    if let Some(generation) = generation {
        fs::write(folder.path().join("generation_config.json"), generation.to_string()).unwrap();
    }
    ModelConfig::read(folder.path(), ARCHITECTURES).unwrap()
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
    let layer = config.vision.get::<LlavaVision>().unwrap().feature_layer;
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
    assert_eq!(config.family.name(), "llava_next");
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
    let projector = config.vision.get::<LlavaVision>().unwrap().projector;
    assert!(config.decoder.tied_head && !projector.bias);
    assert_eq!(projector.activation, Activation::GeluTanh);
}

#[test]
fn every_layout_of_the_same_model_reads_alike() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data/llava");
    let reference = ModelConfig::read(&root.join("llava15"), ARCHITECTURES).unwrap();
    for case in ["llava15-tf5", "llava15-memory", "llava15-original"] {
        let config = ModelConfig::read(&root.join(case), ARCHITECTURES).unwrap();
        assert_eq!(config.decoder, reference.decoder, "{case}");
        let (found, expected) =
            (config.vision.get::<LlavaVision>(), reference.vision.get::<LlavaVision>());
        let (found, expected) = (found.unwrap(), expected.unwrap());
        assert_eq!(found.tower, expected.tower, "{case}");
        assert_eq!(found.projector, expected.projector, "{case}");
        assert_eq!(found.feature_layer, expected.feature_layer, "{case}");
        assert_eq!(config.image_token_id, reference.image_token_id, "{case}");
        assert_eq!(config.eos_token_ids, reference.eos_token_ids, "{case}");
    }
}

fn hybrid(text: &Value) -> mico_model::Result<ModelConfig> {
    let folder = tempfile::tempdir().unwrap();
    let file = json!({"model_type": "llava", "text_config": text});
    fs::write(folder.path().join("config.json"), file.to_string()).unwrap();
    ModelConfig::read(folder.path(), ARCHITECTURES)
}

/// The published file of the 9B states its blocks one by one.
#[test]
fn a_hybrid_decoder_lists_its_blocks_or_their_interval() {
    let mut text = json!({
        "model_type": "qwen3_5_text", "attn_output_gate": true, "full_attention_interval": 4,
        "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 8,
        "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 248_320,
        "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
        "linear_num_key_heads": 16, "linear_num_value_heads": 32, "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10_000_000,
            "partial_rotary_factor": 0.25, "mrope_section": [11, 11, 10], "mrope_interleaved": true}
    });
    let by_interval = hybrid(&text).unwrap().decoder;
    let linear = by_interval.linear_attention.clone().unwrap();
    let full: Vec<usize> =
        (0..8).filter(|&block| by_interval.mixer(block) == MixerKind::FullAttention).collect();
    assert_eq!(full, [3, 7]);
    assert_eq!((linear.channels(), linear.group()), (8192, 2));
    assert_eq!((by_interval.rotary_dim(), by_interval.head_dim), (64, 256));
    assert_eq!(by_interval.rope.axes, RopeAxes::Interleaved([11, 11, 10]));
    assert!(by_interval.output_gate && by_interval.zero_centered_norms && by_interval.qk_norm);
    // What the file leaves out is the same.
    let fields = text.as_object_mut().unwrap();
    fields.retain(|key, _| !key.starts_with("linear_") && key != "attn_output_gate");
    for key in ["full_attention_interval", "head_dim", "rms_norm_eps"] {
        fields.remove(key);
    }
    assert_eq!(hybrid(&text).unwrap().decoder, by_interval);
    let mut names = vec!["linear_attention"; 8];
    (names[3], names[7]) = ("full_attention", "full_attention");
    text["layer_types"] = json!(names);
    assert_eq!(hybrid(&text).unwrap().decoder, by_interval);
    names[2] = "full_attention";
    text["layer_types"] = json!(names);
    assert_eq!(hybrid(&text).unwrap().decoder.mixer(2), MixerKind::FullAttention);
    // The old place of the rotary share.
    text["rope_parameters"] = json!({"rope_theta": 1e7, "mrope_section": [24, 20, 20]});
    text["partial_rotary_factor"] = json!(0.5);
    assert_eq!(hybrid(&text).unwrap().decoder.rotary_dim(), 128);
}

#[test]
fn a_hybrid_decoder_that_cannot_be_is_refused_by_name() {
    let base = json!({
        "model_type": "qwen3_5_text", "hidden_size": 64, "intermediate_size": 96,
        "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
        "vocab_size": 128
    });
    hybrid(&base).unwrap();
    for (key, value, message) in [
        ("layer_types", json!(["full_attention"]), "layer_types` has 1 entries for 4 blocks"),
        (
            "layer_types",
            json!(vec!["mamba"; 4]),
            "layer_types` has `mamba`, accepted: full_attention",
        ),
        ("layer_types", json!([1, 2]), "layer_types` is [1,2], expected a list of strings"),
        ("full_attention_interval", json!(0), "full_attention_interval` is 0"),
        ("linear_num_key_heads", json!(12), "linear_num_value_heads` is 32, expected a multiple"),
        ("linear_key_head_dim", json!(-1), "linear_key_head_dim` is -1"),
        ("linear_value_head_dim", json!(u64::MAX), "linear_value_head_dim` is"),
        ("partial_rotary_factor", json!(2.0), "partial_rotary_factor` is 2"),
        ("num_hidden_layers", json!(u64::MAX), "num_hidden_layers` is"),
        ("attn_output_gate", json!("yes"), "attn_output_gate` is \"yes\""),
    ] {
        let mut text = base.clone();
        text[key] = value;
        let error = hybrid(&text).unwrap_err().to_string();
        assert!(error.contains(message), "{key}: {error}");
    }
}

/// Small Qwen3 decoders are wider in their heads than in the residual stream.
#[test]
fn heads_of_qwen3_are_128_wide_unless_the_file_says_otherwise() {
    let mut text = json!({
        "model_type": "qwen3_vl_text", "hidden_size": 2560, "intermediate_size": 9728,
        "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 151_936, "tie_word_embeddings": true
    });
    let config = hybrid(&text).unwrap().decoder;
    assert!(config.tied_head && config.qk_norm && config.linear_attention.is_none());
    assert!(!config.output_gate && !config.zero_centered_norms);
    assert_eq!((config.head_dim, config.rotary_dim()), (128, 128));
    text["head_dim"] = json!(64);
    assert_eq!(hybrid(&text).unwrap().decoder.head_dim, 64);
}
