//! `config.json` of the families beside LLaVA: what may be left out, and what is refused by name.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use mico_model::config::VideoVision;
use mico_model::{ARCHITECTURES, ModelConfig, Result};
use serde_json::{Value, json};
use support::{folder, json as read};

/// The configuration of a case after an edit.
fn edited(case: &str, edit: impl Fn(&mut Value)) -> Result<ModelConfig> {
    let copy = tempfile::tempdir().unwrap();
    let mut config = read(&folder(case).join("config.json"));
    edit(&mut config);
    std::fs::write(copy.path().join("config.json"), config.to_string()).unwrap();
    ModelConfig::read(copy.path(), ARCHITECTURES)
}

/// Sets `path` (dotted) to a value; null takes it away.
fn set(config: &mut Value, path: &str, value: Value) {
    let mut at = config;
    for part in path.split('.') {
        at = &mut at[part];
    }
    *at = value;
}

#[test]
fn every_family_is_told_by_its_file() {
    for (case, family) in [
        ("qwen25", "qwen2_5_vl"),
        ("qwen25-memory", "qwen2_5_vl"),
        ("qwen3", "qwen3_vl"),
        ("qwen35", "qwen3_5"),
        ("internvl3", "internvl"),
        ("internvl3-original", "internvl"),
        ("video", "llava_video"),
        ("video-onevision", "llava_video"),
    ] {
        assert_eq!(edited(case, |_| ()).unwrap().family.name(), family, "{case}");
    }
}

#[test]
fn layouts_of_the_same_model_read_alike() {
    for (case, other) in [
        ("qwen25", "qwen25-memory"),
        ("internvl3", "internvl3-original"),
        ("video", "video-onevision"),
    ] {
        let (found, expected) = (edited(case, |_| ()).unwrap(), edited(other, |_| ()).unwrap());
        assert_eq!(found.decoder, expected.decoder, "{case}");
        assert_eq!(found.vision.tower(), expected.vision.tower(), "{case}");
        assert_eq!(found.vision.tokens_per_view(), expected.vision.tokens_per_view(), "{case}");
    }
}

#[test]
fn a_decoder_that_is_not_named_is_the_familys() {
    for (case, part) in [
        ("qwen3", "text_config"),
        ("qwen35", "text_config"),
        ("internvl3", "text_config"),
        ("internvl3-original", "llm_config"),
        ("video-onevision", "text_config"),
    ] {
        let plain = edited(case, |_| ()).unwrap();
        let path = format!("{part}.model_type");
        let unnamed = edited(case, |config| set(config, &path, Value::Null)).unwrap();
        assert_eq!(plain.decoder, unnamed.decoder, "{case}");
    }
}

#[test]
fn the_published_video_tower_runs_26_blocks_however_it_is_described() {
    let blocks = |layers: usize, width: usize| {
        let config = edited("video-onevision", |config| {
            set(config, "vision_config.num_hidden_layers", json!(layers));
            set(config, "vision_config.hidden_size", json!(width));
            set(config, "vision_config.num_attention_heads", json!(16));
        });
        config.unwrap().vision.get::<VideoVision>().unwrap().blocks_that_run()
    };
    assert_eq!((blocks(27, 1152), blocks(26, 1152), blocks(5, 64)), (26, 26, 4));
}

#[test]
fn contradictions_are_refused_by_name() {
    for (case, path, value, words) in [
        ("qwen25", "rope_scaling.mrope_section", Value::Null, "mrope_section"),
        ("qwen3", "text_config.model_type", json!("llama"), "model_type"),
        ("qwen25", "image_token_id", json!(999_999), "image_token_id"),
        ("qwen25", "vision_config.window_size", json!(0), "window_size"),
        ("qwen25", "vision_config.fullatt_block_indexes", json!([9]), "fullatt_block_indexes"),
        ("qwen25", "vision_config.out_hidden_size", json!(7), "out_hidden_size"),
        ("qwen25", "vision_config.hidden_act", json!("gelu"), "hidden_act"),
        ("qwen25", "vision_config.num_heads", json!(8), "hidden_size"),
        ("qwen25", "rms_norm_eps", json!(7.0), "rms_norm_eps"),
        ("qwen3", "vision_config.deepstack_visual_indexes", json!([1, 0]), "ascending"),
        ("qwen3", "vision_config.deepstack_visual_indexes", json!([0, 99]), "names block 99"),
        ("qwen3", "vision_config.num_position_embeddings", json!(15), "square"),
        ("qwen35", "text_config.layer_types", json!(["full_attention"]), "layer_types"),
        ("internvl3", "downsample_ratio", json!(0.3), "downsample_ratio"),
        ("internvl3", "projector_hidden_act", json!("x"), "projector_hidden_act"),
        ("internvl3", "vision_config.use_qk_norm", json!(true), "use_qk_norm"),
        ("internvl3", "vision_config.image_size", json!([28, 35]), "image_size"),
        ("internvl3-original", "select_layer", json!(-2), "select_layer"),
        ("internvl3-original", "ps_version", json!("v1"), "ps_version"),
        ("internvl3-original", "pad2square", json!(true), "pad2square"),
        ("video", "mm_spatial_pool_mode", json!("max"), "mm_spatial_pool_mode"),
        ("video", "mm_spatial_pool_stride", json!(0), "mm_spatial_pool_stride"),
        ("video", "mm_newline_position", json!("frame"), "mm_newline_position"),
        ("video", "mm_vision_select_layer", json!(-5), "mm_vision_select_layer"),
        ("video", "add_faster_video", json!(true), "add_faster_video"),
        ("video-onevision", "vision_feature_layer", json!(3), "vision_feature_layer"),
    ] {
        let error = edited(case, |config| set(config, path, value.clone())).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(words), "{case} {path}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    // Without its settings the tower must at least have a name we know.
    let unknown = edited("video", |config| {
        set(config, "vision_config", Value::Null);
        set(config, "mm_vision_tower", json!("siglip-of-mine"));
    });
    assert!(unknown.unwrap_err().to_string().contains("siglip-of-mine"));
    let known = edited("video", |config| {
        set(config, "vision_config", Value::Null);
        set(config, "mm_hidden_size", json!(1152));
    });
    assert_eq!(known.unwrap().vision.tokens_per_view(), Some(169));
}
