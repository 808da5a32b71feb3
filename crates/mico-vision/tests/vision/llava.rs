//! The LLaVA-1.5 processor against transformers.

use mico_vision::Size;
use mico_vision::layout::Region;
use mico_vision::llava::{Llava, PadMode};
use mico_vision::preprocessor_config::PreprocessorConfig;

use crate::fixture::{cases, check_floats, config, image, noise, shape, text};

#[test]
fn pixels_equal_transformers_to_the_bit() {
    for case in cases("llava") {
        let config = config(&case);
        let mode =
            if config.do_pad == Some(true) { PadMode::Square } else { PadMode::ShortSideCrop };
        let processor = Llava::from_config(&config, 7, mode).unwrap();
        let out = processor.process(&image(text(&case, "source")));
        assert_eq!(shape(&case), out.shape, "{case}");
        check_floats(&case, &out.pixels);
        assert_eq!(out.layout.len(), (out.shape[2] / 7) * (out.shape[3] / 7));
    }
}

#[test]
fn a_padded_landscape_has_empty_rows_and_raster_regions() {
    let processor = Llava::from_config(&PreprocessorConfig::clip(28), 7, PadMode::Square).unwrap();
    // 80 x 40 in an 80 x 80 square: rows 0 and 3 of the 4 x 4 grid show padding.
    let layout = processor.layout(Size::new(80, 40));
    let empty: Vec<bool> = (0..16).map(|token| layout.region(token).is_empty()).collect();
    assert_eq!(empty, [[true; 4], [false; 4], [false; 4], [true; 4]].concat());
    assert_eq!(layout.region(6), Region { x0: 40.0, y0: 0.0, x1: 60.0, y1: 20.0 });
}

#[test]
fn a_crop_does_not_show_the_ends() {
    let processor =
        Llava::from_config(&PreprocessorConfig::clip(28), 7, PadMode::ShortSideCrop).unwrap();
    let layout = processor.layout(Size::new(112, 28));
    assert_eq!(layout.region(0), Region { x0: 42.0, y0: 0.0, x1: 49.0, y1: 7.0 });
    assert_eq!(layout.region(15), Region { x0: 63.0, y0: 21.0, x1: 70.0, y1: 28.0 });
}

#[test]
fn very_long_images_cost_only_what_is_seen() {
    for mode in [PadMode::Square, PadMode::ShortSideCrop] {
        let processor = Llava::from_config(&PreprocessorConfig::clip(336), 14, mode).unwrap();
        for image in [noise(1, 30_000), noise(30_000, 1), noise(1, 1)] {
            let out = processor.process(&image);
            assert!(out.pixels.iter().all(|number| number.is_finite()));
            assert_eq!((out.layout.len(), out.pixels.len()), (576, 3 * 336 * 336));
        }
    }
}

#[test]
fn wrong_parameters_are_named() {
    let config = PreprocessorConfig::clip(28);
    let error = Llava::from_config(&config, 0, PadMode::Square).unwrap_err();
    assert_eq!(error.to_string(), "patch size is 0: accepted is 1 to 28");
    let error = Llava::from_config(&config, 29, PadMode::Square).unwrap_err();
    assert_eq!(error.parameter, "patch size");
    let error =
        Llava::from_config(&PreprocessorConfig::clip(5000), 14, PadMode::Square).unwrap_err();
    assert_eq!(error.to_string(), "view width is 5000: accepted is 1 to 4096");
    let text = r#"{"image_std": [0.2, 0, 0.2]}"#;
    let config = PreprocessorConfig::parse(text).unwrap();
    let error = Llava::from_config(&config, 14, PadMode::Square).unwrap_err();
    assert_eq!(error.to_string(), "image_std is 0: accepted is finite numbers other than 0");
    let config = PreprocessorConfig::parse(r#"{"do_center_crop": false}"#).unwrap();
    let error = Llava::from_config(&config, 14, PadMode::Square).unwrap_err();
    assert_eq!(error.parameter, "do_center_crop");
}
