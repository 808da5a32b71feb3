//! Broken and malicious model folders give one-line errors that name the culprit.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mico_model::checkpoint::{Checkpoint, INDEX_FILE, SINGLE_FILE};
use mico_model::config::LlavaVision;
use mico_model::{ARCHITECTURES, LoadOptions, Model, ModelConfig};
use serde_json::{Value, json};
use tempfile::TempDir;

fn fixture(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data/llava").join(case)
}

/// A writable copy of a fixture's files.
fn copy(case: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(fixture(case)).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    folder
}

fn edit(folder: &Path, file: &str, change: impl FnOnce(&mut Value)) {
    let path = folder.join(file);
    let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

/// The error of loading, which must be one line and mention every word.
fn refused(folder: &Path, words: &[&str]) {
    let error = Model::load(folder, &LoadOptions::default()).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    for word in words {
        assert!(error.contains(word), "`{word}` not in: {error}");
    }
}

type Tensors = BTreeMap<String, (Vec<usize>, Vec<u8>)>;

/// The tensors of the single-file fixture, to be written back changed.
fn tensors(folder: &Path) -> Tensors {
    let bytes = fs::read(folder.join(SINGLE_FILE)).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    file.iter()
        .map(|(name, view)| (name.to_owned(), (view.shape().to_vec(), view.data().to_vec())))
        .collect()
}

fn write(folder: &Path, tensors: &Tensors) {
    let views = tensors.iter().map(|(name, (shape, data))| {
        let view = safetensors::tensor::TensorView::new(
            safetensors::Dtype::F32,
            shape.clone(),
            data.as_slice(),
        );
        (name.as_str(), view.unwrap())
    });
    fs::write(folder.join(SINGLE_FILE), safetensors::serialize(views, None).unwrap()).unwrap();
}

#[test]
fn a_truncated_shard_names_file_and_tensor() {
    let folder = copy("llava15");
    let shard = folder.path().join("model-00002-of-00002.safetensors");
    let bytes = fs::read(&shard).unwrap();
    for cut in [bytes.len() - 1, bytes.len() / 2] {
        fs::write(&shard, &bytes[..cut]).unwrap();
        refused(folder.path(), &["model-00002-of-00002.safetensors", "truncated", "tensor `"]);
    }
    for cut in [0, 5, 8, 100] {
        fs::write(&shard, &bytes[..cut]).unwrap();
        refused(folder.path(), &["model-00002-of-00002.safetensors", "truncated"]);
    }
    fs::write(&shard, [bytes.as_slice(), &[0; 9]].concat()).unwrap();
    refused(folder.path(), &["model-00002-of-00002.safetensors", "fewer"]);
}

#[test]
fn hostile_headers_are_refused() {
    let folder = copy("llava15-tf5");
    let file = folder.path().join(SINGLE_FILE);
    let with_header = |header: &str, data: usize| {
        let length = (header.len() as u64).to_le_bytes();
        [length.as_slice(), header.as_bytes(), &vec![0; data]].concat()
    };
    let huge = u64::MAX.to_le_bytes().to_vec();
    for bytes in [
        huge,
        with_header("not json", 0),
        with_header("[1,2]", 0),
        with_header(r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}"#, 8),
        with_header(r#"{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}"#, 8),
        with_header(
            r#"{"a":{"dtype":"F32","shape":[9223372036854775807,4],"data_offsets":[0,8]}}"#,
            8,
        ),
        with_header(
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#,
            8,
        ),
    ] {
        fs::write(&file, bytes).unwrap();
        refused(folder.path(), &[SINGLE_FILE]);
    }
}

#[test]
fn an_index_cannot_leave_its_folder() {
    let folder = copy("llava15");
    let outside = folder.path().parent().unwrap().join("outside.safetensors");
    for name in ["../outside.safetensors", outside.to_str().unwrap(), "a/b", "a\\b", "..", ""] {
        edit(folder.path(), INDEX_FILE, |index| {
            index["weight_map"]["language_model.model.norm.weight"] = json!(name);
        });
        refused(
            folder.path(),
            &[INDEX_FILE, "language_model.model.norm.weight", "only plain names"],
        );
    }
    edit(folder.path(), INDEX_FILE, |index| {
        index["weight_map"]["language_model.model.norm.weight"] = json!("gone.safetensors");
    });
    refused(folder.path(), &["gone.safetensors"]);
    edit(folder.path(), INDEX_FILE, |index| {
        index["weight_map"] = json!({"made.up": "model-00001-of-00002.safetensors"});
    });
    refused(folder.path(), &["made.up", "model-00001-of-00002.safetensors"]);
    for broken in [json!({}), json!({"weight_map": {}}), json!({"weight_map": {"a": 3}})] {
        fs::write(folder.path().join(INDEX_FILE), broken.to_string()).unwrap();
        refused(folder.path(), &[INDEX_FILE, "weight_map"]);
    }
}

#[test]
fn a_missing_tensor_is_named_with_its_shape() {
    let folder = copy("llava15-tf5");
    let mut all = tensors(folder.path());
    let name = "language_model.model.layers.2.mlp.up_proj.weight";
    all.remove(name).unwrap();
    write(folder.path(), &all);
    refused(folder.path(), &[name, "model.language_model.layers.2.mlp.up_proj.weight", "[40, 24]"]);
    let folder = copy("llava15-tf5");
    let mut all = tensors(folder.path());
    all.retain(|name, _| !name.contains("lm_head"));
    write(folder.path(), &all);
    refused(folder.path(), &["lm_head.weight", "[128, 24]"]);
}

#[test]
fn a_wrong_shape_names_both_shapes() {
    let folder = copy("llava15-tf5");
    let mut all = tensors(folder.path());
    let name = "multi_modal_projector.linear_1.weight";
    let (shape, _) = all.get_mut(name).unwrap();
    shape.reverse();
    write(folder.path(), &all);
    refused(folder.path(), &[name, "[20, 24]", "[24, 20]"]);
}

#[test]
fn unexpected_tensors_are_listed_and_nan_is_refused_where_it_is_used() {
    let folder = copy("llava15-tf5");
    let mut all = tensors(folder.path());
    all.insert("lora.weight".into(), (vec![1], f32::NAN.to_le_bytes().to_vec()));
    all.insert("model.layers.0.self_attn.rotary_emb.inv_freq".into(), (vec![1], vec![0; 4]));
    write(folder.path(), &all);
    let (_, report) = Model::load(folder.path(), &LoadOptions::default()).unwrap();
    assert_eq!(report.unexpected, ["lora.weight"]);
    let name = "language_model.model.norm.weight";
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let values = &mut all.get_mut(name).unwrap().1;
        let last = values.len() - 4;
        values[last..].copy_from_slice(&bad.to_le_bytes());
        write(folder.path(), &all);
        refused(folder.path(), &[name, "model.safetensors", "NaN or infinity"]);
    }
}

#[test]
fn values_of_files_are_quoted_short_and_printable() {
    let long = "\u{1b}[31m".repeat(2000);
    for (path, value) in [
        ("/model_type", json!(long)),
        ("/text_config/hidden_size", json!(long)),
        ("/text_config/hidden_act", json!(long)),
        ("/text_config/rope_scaling", json!({"type": long})),
        ("/vision_config/patch_size", json!(vec![7; 5000])),
        ("/torch_dtype", json!(long)),
        ("/quantization_config", json!({"quant_method": long})),
    ] {
        let folder = copy("llava15");
        edit(folder.path(), "config.json", |config| {
            let (parent, key) = path.rsplit_once('/').unwrap();
            config.pointer_mut(parent).unwrap()[key] = value;
        });
        let error = ModelConfig::read(folder.path(), ARCHITECTURES).unwrap_err().to_string();
        assert!(!error.contains('\u{1b}') && error.chars().count() < 500, "{path}: {error}");
    }
    let folder = copy("llava15-tf5");
    let mut all = tensors(folder.path());
    all.retain(|name, _| !name.contains("class_embedding"));
    write(folder.path(), &all);
    let error = Model::load(folder.path(), &LoadOptions::default()).unwrap_err().to_string();
    assert_eq!(error.matches("class_embedding").count(), 2, "{error}");
}

#[test]
fn settings_are_named_as_the_file_has_them() {
    for (path, value, words) in [
        ("/vision_feature_layer", json!(99), "config.json: `vision_feature_layer` is 99"),
        ("/text_config/head_dim", json!(5), "`text_config.head_dim` is 5, expected an even number"),
        (
            "/text_config/rope_scaling",
            json!({"type": "yarn"}),
            "`text_config.rope_scaling.type` is `yarn`",
        ),
        (
            "/text_config/rope_scaling",
            json!({"rope_type": "default", "mrope_section": [9, 9, 9]}),
            "`text_config.rope_scaling.mrope_section`",
        ),
        (
            "/text_config/rope_parameters",
            json!({"mrope_section": [9, 9, 9]}),
            "`text_config.rope_parameters.mrope_section`",
        ),
        (
            "/text_config/partial_rotary_factor",
            json!(3.0),
            "`text_config.partial_rotary_factor` is 3",
        ),
        ("/quantization_config", json!({"quant_method": "awq", "bits": 4}), "(method awq)"),
        ("/text_config/quantization_config", json!({"quant_method": "gptq"}), "(method gptq)"),
    ] {
        let folder = copy("llava15");
        edit(folder.path(), "config.json", |config| {
            let (parent, key) = path.rsplit_once('/').unwrap();
            config.pointer_mut(parent).unwrap()[key] = value;
        });
        let error = ModelConfig::read(folder.path(), ARCHITECTURES).unwrap_err().to_string();
        assert!(error.contains(words), "{path}: {error}");
        assert!(error.starts_with(&folder.path().display().to_string()), "{error}");
    }
}

#[test]
fn a_weight_in_an_integer_format_is_refused() {
    let folder = copy("llava15-tf5");
    let header =
        r#"{"embeddings.class_embedding":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}}"#;
    let length = (header.len() as u64).to_le_bytes();
    let bytes = [length.as_slice(), header.as_bytes(), &[0; 8]].concat();
    fs::write(folder.path().join(SINGLE_FILE), bytes).unwrap();
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    let error = checkpoint.load("embeddings.class_embedding", &[2]).unwrap_err().to_string();
    assert!(error.contains("I32") && error.contains("class_embedding"), "{error}");
}

#[test]
fn bad_settings_are_named() {
    for (path, value, words) in [
        ("/model_type", json!("bert"), "`model_type` is `bert`"),
        ("/text_config/hidden_size", json!("wide"), "`text_config.hidden_size` is \"wide\""),
        ("/text_config/hidden_size", json!(0), "`text_config.hidden_size` is 0"),
        ("/text_config/hidden_size", json!(1_u64 << 40), "`text_config.hidden_size`"),
        ("/text_config/num_attention_heads", json!(5), "num_attention_heads"),
        ("/text_config/num_attention_heads", json!(0), "num_attention_heads"),
        (
            "/text_config/num_key_value_heads",
            json!(3),
            "multiple of num_key_value_heads, which is 3",
        ),
        ("/text_config/rms_norm_eps", json!(-1.0), "`text_config.rms_norm_eps` is -1.0"),
        ("/text_config/rope_theta", json!("x"), "`text_config.rope_theta`"),
        ("/text_config/hidden_act", json!("gelu"), "`text_config.hidden_act` is `gelu`"),
        ("/text_config/model_type", json!("gpt2"), "accepted: llama, mistral"),
        ("/vision_config/patch_size", json!(0), "`vision_config.patch_size` is 0"),
        ("/vision_config/patch_size", json!(29), "accepted: 1 to 28"),
        ("/vision_config/num_attention_heads", json!(3), "`vision_config.hidden_size`"),
        ("/vision_config/model_type", json!("siglip_vision_model"), "clip_vision_model"),
        ("/vision_feature_layer", json!(-6), "`vision_feature_layer` is -6"),
        ("/vision_feature_layer", json!([-2, -3]), "`vision_feature_layer` is [-2,-3]"),
        ("/vision_feature_select_strategy", json!("full"), "accepted: default"),
        ("/image_token_index", json!(-1), "`image_token_index` is -1"),
        ("/torch_dtype", json!("int8"), "`torch_dtype` is `int8`"),
        ("/projector_hidden_act", json!("relu6"), "relu6"),
    ] {
        let folder = copy("llava15");
        edit(folder.path(), "config.json", |config| {
            let (parent, key) = path.rsplit_once('/').unwrap();
            config.pointer_mut(parent).unwrap()[key] = value;
        });
        let error = ModelConfig::read(folder.path(), ARCHITECTURES).unwrap_err().to_string();
        assert!(error.contains(words), "{path}: {error}");
    }
}

#[test]
fn a_tower_can_only_be_a_neighbor() {
    let folder = copy("llava15-original");
    for name in ["../../../etc", "/etc/passwd", "..", "unknown-tower"] {
        edit(folder.path(), "config.json", |config| config["mm_vision_tower"] = json!(name));
        let error = ModelConfig::read(folder.path(), ARCHITECTURES).unwrap_err().to_string();
        assert!(error.contains("mm_vision_tower") && error.contains(name), "{error}");
    }
    edit(folder.path(), "config.json", |config| {
        config["mm_vision_tower"] = json!("openai/clip-vit-large-patch14-336");
        config["mm_hidden_size"] = json!(1024);
    });
    let config = ModelConfig::read(folder.path(), ARCHITECTURES).unwrap();
    assert_eq!(config.vision.get::<LlavaVision>().unwrap().tower.blocks, 24);
    refused(folder.path(), &["vision_tower", "patch_embedding", "[1024, 3, 14, 14]"]);
}

#[test]
fn an_empty_folder_and_a_folder_of_nonsense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    refused(folder.path(), &["config.json"]);
    fs::write(folder.path().join("config.json"), "[]").unwrap();
    refused(folder.path(), &["config.json", "not a JSON object"]);
    fs::write(folder.path().join("config.json"), "{").unwrap();
    refused(folder.path(), &["config.json"]);
}
