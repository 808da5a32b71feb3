//! Preprocessor configurations of every published style.

use mico_vision::Size;
use mico_vision::normalize::{Normalize, Statistics};
use mico_vision::preprocessor_config::{PreprocessorConfig, Resize, TileCount};

use crate::fixture::cases;

fn fail(text: &str) -> String {
    PreprocessorConfig::parse(text).unwrap_err().to_string()
}

#[test]
fn sizes_of_every_style() {
    let resize = |text: &str| PreprocessorConfig::parse(text).unwrap().resize;
    assert_eq!(resize(r#"{"size": 336}"#), Resize::ShortestEdge(336));
    assert_eq!(resize(r#"{"size": {"shortest_edge": 336}}"#), Resize::ShortestEdge(336));
    let exact = Resize::Exact(Size::new(448, 336));
    assert_eq!(resize(r#"{"size": {"height": 336, "width": 448}}"#), exact);
    assert_eq!(resize("{}"), Resize::ShortestEdge(224));
    let square = Resize::Exact(Size::square(9));
    assert_eq!(resize(r#"{"size": 9, "default_to_square": true}"#), square);
    let crop = |text: &str| PreprocessorConfig::parse(text).unwrap().crop;
    assert_eq!(crop(r#"{"crop_size": 336}"#), Size::square(336));
    assert_eq!(crop(r#"{"crop_size": {"height": 3, "width": 4}}"#), Size::new(4, 3));
}

#[test]
fn the_published_next_file() {
    let text = r#"{
        "aspect_ratio_setting": "anyres", "crop_size": {"height": 336, "width": 336},
        "do_center_crop": true, "do_convert_rgb": true, "do_normalize": true, "do_pad": true,
        "do_rescale": true, "do_resize": true, "image_grid_pinpoints": [[336, 672], [672, 336]],
        "image_mean": [0.48145466, 0.4578275, 0.40821073],
        "image_processor_type": "LlavaNextImageProcessor",
        "image_std": [0.26862954, 0.26130258, 0.27577711], "processor_class": "LlavaNextProcessor",
        "resample": 3, "rescale_factor": 0.00392156862745098, "size": {"shortest_edge": 336},
        "_valid_processor_keys": ["images"]
    }"#;
    let config = PreprocessorConfig::parse(text).unwrap();
    assert_eq!(config.normalize, Normalize::CLIP);
    assert_eq!(config.pinpoints, Some(vec![[336, 672], [672, 336]]));
    assert_eq!(config.do_pad, Some(true));
    let nested =
        format!(r#"{{"image_processor": {text}, "processor_class": "X", "patch_size": 14}}"#);
    assert_eq!(PreprocessorConfig::parse(&nested).unwrap(), config);
}

#[test]
fn null_means_the_default_and_switches_are_heard() {
    let text = r#"{"size": null, "image_mean": null, "do_rescale": false, "image_std": 0.5}"#;
    let config = PreprocessorConfig::parse(text).unwrap();
    assert_eq!(config.resize, Resize::ShortestEdge(224));
    assert_eq!(config.normalize.rescale, None);
    let expected = Statistics { std: [0.5; 3], ..Statistics::CLIP };
    assert_eq!(config.normalize.statistics, Some(expected));
    let plain = PreprocessorConfig::parse(r#"{"do_normalize": false}"#).unwrap();
    assert_eq!(plain.normalize.statistics, None);
}

#[test]
fn both_edges_are_limits_on_the_area() {
    let both = r#"{"size": {"shortest_edge": 3136, "longest_edge": 12845056}}"#;
    let area = PreprocessorConfig::parse(both).unwrap().area;
    assert_eq!((area.min, area.max), (Some(3136), Some(12_845_056)));
}

#[test]
fn the_original_internvl_file() {
    let text = r#"{
        "crop_size": 448, "do_center_crop": true, "do_normalize": true, "do_resize": true,
        "feature_extractor_type": "CLIPFeatureExtractor", "image_mean": [0.485, 0.456, 0.406],
        "image_std": [0.229, 0.224, 0.225], "resample": 3, "size": 448
    }"#;
    let config = PreprocessorConfig::parse(text).unwrap();
    assert_eq!((config.resize, config.crop), (Resize::ShortestEdge(448), Size::square(448)));
    assert_eq!(config.normalize, PreprocessorConfig::internvl(448).normalize);
}

#[test]
fn the_got_ocr_file_with_nulls_and_tiles() {
    let text = r#"{
        "crop_size": null, "crop_to_patches": false, "data_format": "channels_first",
        "default_to_square": true, "device": null, "do_center_crop": null, "do_convert_rgb": true,
        "do_normalize": true, "do_rescale": true, "do_resize": true,
        "image_mean": [0.485, 0.456, 0.406], "image_processor_type": "GotOcr2ImageProcessorFast",
        "image_std": [0.229, 0.224, 0.225], "input_data_format": null, "max_patches": 12,
        "min_patches": 1, "processor_class": "InternVLProcessor", "resample": 3,
        "rescale_factor": 0.00392156862745098, "return_tensors": null,
        "size": {"height": 448, "width": 448}
    }"#;
    let config = PreprocessorConfig::parse(text).unwrap();
    assert_eq!(config.tiles, TileCount { min: Some(1), max: Some(12) });
    assert_eq!(config.crop_to_patches, Some(false));
    assert_eq!(config.crop, Size::square(448), "an exact size is not cropped");
    assert_eq!(config.normalize, Normalize::IMAGENET);
}

#[test]
fn every_file_that_transformers_writes_is_understood() {
    let files = cases("processor_files");
    assert_eq!(files.len(), 7);
    for file in files {
        let text = file["content"].to_string();
        let flat = PreprocessorConfig::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let nested = format!(r#"{{"image_processor": {text}, "image_seq_length": 256}}"#);
        assert_eq!(PreprocessorConfig::parse(&nested).unwrap(), flat, "{text}");
    }
}

#[test]
fn a_video_processors_file_is_read_for_its_frames() {
    let text = r#"{
        "do_convert_rgb": true, "do_normalize": true, "do_rescale": true, "do_resize": true,
        "do_sample_frames": true, "fps": 2, "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5], "initial_shift": true, "max_frames": 768,
        "max_video_tokens": 768, "min_frames": 4, "num_frames": 32, "resample": 3,
        "rescale_factor": 0.00392156862745098, "return_metadata": false,
        "size": {"height": 384, "width": 384}, "video_processor_type": "Qwen3VLVideoProcessor"
    }"#;
    let config = PreprocessorConfig::parse(text).unwrap();
    assert_eq!((config.normalize, config.crop), (Normalize::HALF, Size::square(384)));
}

#[test]
fn families_have_defaults() {
    let internvl = PreprocessorConfig::internvl(448);
    assert_eq!(internvl.resize, Resize::Exact(Size::square(448)));
    assert_eq!(internvl.ground, [123, 116, 103]);
    assert_eq!(PreprocessorConfig::siglip(384).normalize, Normalize::HALF);
    let (old, new) = (PreprocessorConfig::qwen2_5(), PreprocessorConfig::qwen3());
    assert_eq!((old.area.min, old.area.max), (Some(3136), Some(1_003_520)));
    assert_eq!((old.patch, old.merge, old.frames), (Some(14), Some(2), Some(2)));
    assert_eq!((new.area.min, new.area.max), (Some(65_536), Some(16_777_216)));
    assert_eq!((new.patch, new.normalize), (Some(16), Normalize::HALF));
    assert_eq!(old.normalize, Normalize::CLIP);
}

#[test]
fn wrong_fields_are_named() {
    assert!(fail("{").starts_with("preprocessor configuration is not JSON"));
    assert_eq!(fail("[]"), "preprocessor configuration is []: accepted is an object");
    let sizes = [
        "0",
        "-3",
        "1e9",
        "3.5",
        "\"336\"",
        "[336, 336]",
        "true",
        "{}",
        r#"{"shortest_edge": 336, "longest_edge": -1}"#,
        r#"{"height": 3}"#,
        r#"{"height": 3, "width": 0}"#,
        r#"{"height": 3, "width": 3, "depth": 3}"#,
    ];
    for size in sizes {
        let message = fail(&format!(r#"{{"size": {size}}}"#));
        assert!(message.contains("field `size` is"), "{message}");
    }
    for (text, field) in [
        (r#"{"image_mean": [0.1, 0.2]}"#, "image_mean"),
        (r#"{"image_std": [0.1, "x", 0.2]}"#, "image_std"),
        (r#"{"rescale_factor": 0}"#, "rescale_factor"),
        (r#"{"do_normalize": "yes"}"#, "do_normalize"),
        (r#"{"image_grid_pinpoints": []}"#, "image_grid_pinpoints"),
        (r#"{"image_grid_pinpoints": [[336, 672, 3]]}"#, "image_grid_pinpoints"),
        (r#"{"crop_size": {"shortest_edge": 0}}"#, "crop_size"),
        (r#"{"max_patches": 0}"#, "max_patches"),
        (r#"{"min_patches": "one"}"#, "min_patches"),
        (r#"{"crop_to_patches": 1}"#, "crop_to_patches"),
    ] {
        let message = fail(text);
        assert!(message.contains(&format!("field `{field}` is")), "{message}");
    }
    let message = "preprocessor configuration: field `resample` is 2: accepted is 3 (bicubic)";
    assert_eq!(fail(r#"{"resample": 2}"#), message);
    let message = "preprocessor configuration: unknown field `do_sharpen` (value true)";
    assert_eq!(fail(r#"{"do_sharpen": true}"#), message);
}
