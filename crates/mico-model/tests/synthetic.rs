//! Random models: any shape, reproducible, quantised or not.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use candle_core::{DType, Device, Tensor};
use mico_model::config::LlavaVision;
use mico_model::{
    Grid, Model, ModelConfig, Pixels, Precision, Preset, QuantKind, SyntheticOptions, VisionTaps,
};

const LLAVA: &str = "llava-1.5-7b";
const LLAVA_NEXT: &str = "llava-next-mistral-7b";

fn small(name: &str) -> ModelConfig {
    let mut config = Preset::find(name).unwrap().config();
    let vision = config.vision.get_mut::<LlavaVision>().unwrap();
    vision.tower.hidden_size = 32;
    vision.tower.intermediate_size = 48;
    vision.tower.blocks = 2;
    vision.tower.heads = 2;
    vision.tower.image_size = 28;
    config.decoder.hidden_size = 256;
    config.decoder.intermediate_size = 320;
    config.decoder.blocks = 2;
    config.decoder.heads = 4;
    config.decoder.kv_heads = 2;
    config.decoder.head_dim = 64;
    config.decoder.vocab_size = 128;
    config
}

fn logits(model: &Model) -> Vec<f32> {
    let decoder = model.decoder();
    let hidden = decoder.embed(&[1, 2, 3, 4]).unwrap();
    let positions = decoder.positions(&[0, 1, 2, 3]).unwrap();
    let mut caches = decoder.new_caches();
    let last = decoder.run_to_last(0, &hidden, &positions, &mut caches).unwrap();
    decoder.logits(&last).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

/// Whether the model's packing may insert newlines.
fn newline(model: &Model) -> bool {
    let clip = &model.config().vision.get::<LlavaVision>().unwrap().tower;
    let (side, grid) = (clip.image_size, clip.grid());
    let values = Tensor::zeros((1, 3, side, side), DType::F32, &Device::Cpu).unwrap();
    let pixels = Pixels { values, grids: vec![Grid { rows: grid, columns: grid }] };
    let seen = model.encode(pixels, VisionTaps::default()).unwrap();
    model.embed(&seen).unwrap().newline.is_some()
}

#[test]
fn the_same_seed_gives_the_same_model() {
    for preset in [LLAVA, LLAVA_NEXT] {
        let build = |seed| {
            let options = SyntheticOptions { seed, ..SyntheticOptions::default() };
            Model::synthetic(small(preset), &options).unwrap().0
        };
        assert_eq!(logits(&build(3)), logits(&build(3)));
        assert_ne!(logits(&build(3)), logits(&build(4)));
        assert_eq!(newline(&build(3)), preset == LLAVA_NEXT);
    }
}

#[test]
fn quantized_models_run_and_report_what_fell_back() {
    let dense = Model::synthetic(small(LLAVA), &SyntheticOptions::default()).unwrap().0;
    for quantize in [QuantKind::Q4K, QuantKind::Q6K, QuantKind::Q8_0] {
        let options = SyntheticOptions {
            quantize: Some(quantize),
            precision: Precision::F16,
            ..SyntheticOptions::default()
        };
        let (model, report) = Model::synthetic(small(LLAVA), &options).unwrap();
        assert!(model.decoder().bytes() < dense.decoder().bytes() / 2, "{}", quantize.name());
        assert!(logits(&model).iter().all(|x| x.is_finite()));
        // Rows of the MLP's last matrix are 320 long: no multiple of 256.
        let fallen: Vec<&str> = report.quantization.iter().map(|n| n.used).collect();
        let expected = if quantize == QuantKind::Q8_0 { vec![] } else { vec!["q8_0"; 2] };
        assert_eq!(fallen, expected);
        assert!(report.quantization.iter().all(|n| n.tensor.contains("down_proj")));
    }
}

#[test]
fn impossible_shapes_are_refused() {
    let mut config = small(LLAVA);
    config.decoder.kv_heads = 3;
    let error = Model::synthetic(config, &SyntheticOptions::default()).unwrap_err().to_string();
    assert!(error.contains("num_key_value_heads, which is 3"), "{error}");
    let mut config = small(LLAVA);
    config.vision.get_mut::<LlavaVision>().unwrap().feature_layer = 9;
    assert!(Model::synthetic(config, &SyntheticOptions::default()).is_err());
}

#[test]
fn a_checkpoint_too_narrow_to_quantize_says_so() {
    let folder =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data/llava/llava15");
    let load = |quantize| {
        let options = mico_model::LoadOptions { quantize, ..mico_model::LoadOptions::default() };
        Model::load(&folder, &options).unwrap()
    };
    let (exact, _) = load(None);
    let (model, report) = load(Some(QuantKind::Q8_0));
    // Rows of 24 and 40 numbers divide into no block: everything stays as it was, and is named.
    assert_eq!(report.quantization.len(), 4 * 7 + 1);
    assert!(report.quantization.iter().all(|note| note.used == "none"));
    assert_eq!(logits(&exact), logits(&model));
}
