//! The Qwen processor against transformers.

use mico_vision::Size;
use mico_vision::layout::{GroupKind, Region};
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::qwen::{PatchShape, PixelLimits, QwenVl};

use crate::fixture::{cases, check_floats, config, image, noise, shape, text};

fn processor(config: &PreprocessorConfig) -> QwenVl {
    let shape = PatchShape { patch: config.patch.unwrap(), merge: 2, frames: 2 };
    let limits = PixelLimits { min: config.area.min.unwrap(), max: config.area.max.unwrap() };
    QwenVl::from_config(config, shape, limits).unwrap()
}

#[test]
fn patches_and_grids_equal_transformers_to_the_bit() {
    for case in cases("qwen") {
        let out = processor(&config(&case)).process(&image(text(&case, "source"))).unwrap();
        assert_eq!(shape(&case), out.shape, "{case}");
        check_floats(&case, &out.pixels);
        let grid =
            [1, 2].map(|axis| usize::try_from(case["grid"][axis].as_u64().unwrap()).unwrap());
        let group = out.layout.groups()[0];
        assert_eq!([group.rows * 2, group.columns * 2], grid, "{case}");
        assert_eq!((group.kind, out.layout.len() * 4), (GroupKind::Whole, out.shape[0]));
    }
}

#[test]
fn the_defaults_are_what_an_absent_file_means() {
    for (config, factor) in [(PreprocessorConfig::qwen2_5(), 28), (PreprocessorConfig::qwen3(), 32)]
    {
        let out = processor(&config).process(&noise(640, 480)).unwrap();
        let side = factor as usize / 2;
        assert_eq!(out.shape[1], 3 * 2 * side * side);
    }
    let layout = |config| processor(&config).layout(Size::new(640, 480)).unwrap();
    assert_eq!(layout(PreprocessorConfig::qwen2_5()).len(), 391);
    let layout = layout(PreprocessorConfig::qwen3());
    assert_eq!(layout.len(), 300);
    assert_eq!(layout.region(21), Region { x0: 32.0, y0: 32.0, x1: 64.0, y1: 64.0 });
}

#[test]
fn contradictions_are_named() {
    let config = PreprocessorConfig::qwen3();
    let shape = PatchShape { patch: 14, merge: 2, frames: 2 };
    let limits = PixelLimits::QWEN2_5_PAPER;
    let error = QwenVl::from_config(&config, shape, limits).unwrap_err().to_string();
    assert_eq!(error, "patch_size is 16: accepted is 14, as the vision tower has it");
    let long = processor(&config).process(&noise(1, 201)).unwrap_err().to_string();
    assert_eq!(long, "image size is 1x201: accepted is one side at most 200 times the other");
}
