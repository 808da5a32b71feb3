//! The LLaVA-NeXT processor and its two packings against transformers.

use mico_vision::layout::{GroupKind, Patch};
use mico_vision::llava::{AnyresAxis, LlavaNext, NextPacking};
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::{Processed, Size};
use serde_json::Value;

use crate::fixture::{cases, check_floats, config, image, noise, number, shape, text};

const PINPOINTS: [[u32; 2]; 5] = [[336, 672], [672, 336], [672, 672], [1008, 336], [336, 1008]];

fn run(case: &Value, packing: NextPacking) -> Processed {
    let axis = match text(case, "axis") {
        "hf" => AnyresAxis::Hf,
        "original" => AnyresAxis::Original,
        other => panic!("axis {other}"),
    };
    let processor =
        LlavaNext::from_config(&config(case), number(case, "patch"), axis, None).unwrap();
    processor.process(&image(text(case, "source")), packing)
}

/// Patch numbers in sequence order, -1 for a newline.
fn order(out: &Processed) -> Vec<i32> {
    let patches = out.layout.groups()[0].patches();
    let number = |patch: Patch| i32::try_from(patch.group * patches + patch.local).unwrap();
    out.layout.tokens().iter().map(|token| token.patch.map_or(-1, number)).collect()
}

#[test]
fn pixels_and_native_packing_equal_transformers() {
    for case in cases("next") {
        let out = run(&case, NextPacking::SpatialUnpad);
        assert_eq!(shape(&case), out.shape, "{case}");
        check_floats(&case, &out.pixels);
        assert_eq!(out.layout.len(), number(&case, "tokens") as usize, "{case}");
        let found = order(&out);
        if let Some(expected) = case["order"].as_array() {
            let expected: Vec<i64> = expected.iter().map(|patch| patch.as_i64().unwrap()).collect();
            assert_eq!(found.into_iter().map(i64::from).collect::<Vec<_>>(), expected, "{case}");
        } else {
            let bytes: Vec<u8> = found.iter().flat_map(|patch| patch.to_le_bytes()).collect();
            assert_eq!(crc32fast::hash(&bytes), number(&case, "order_crc"), "{case}");
        }
    }
}

#[test]
fn the_toy_tower_packs_seventy_tokens() {
    let toy = cases("next")
        .into_iter()
        .find(|case| text(case, "source") == "source_73x50.png" && number(case, "patch") == 7);
    assert_eq!(run(&toy.unwrap(), NextPacking::SpatialUnpad).layout.len(), 70);
}

#[test]
fn the_papers_packing_is_base_then_stitched_raster_order() {
    for case in cases("next") {
        let out = run(&case, NextPacking::Spatial);
        let side = out.shape[3] / number(&case, "patch") as usize;
        let patches = side * side;
        assert_eq!(out.layout.len(), out.shape[0] * patches);
        assert_eq!(out.layout.group_sizes(), vec![patches; out.shape[0]]);
        let crop_columns = 1 + out.layout.groups()[1..]
            .iter()
            .map(|group| match group.kind {
                GroupKind::Crop { column, .. } => column,
                other => panic!("not a crop: {other:?}"),
            })
            .max()
            .unwrap();
        for (crop, group) in out.layout.groups()[1..].iter().enumerate() {
            let GroupKind::Crop { row: a, column: b } = group.kind else { panic!("{group:?}") };
            for local in 0..patches {
                let (i, j) = (local / side, local % side);
                let stitched = (a * side + i) * (crop_columns * side) + b * side + j;
                let patch = Patch { group: crop + 1, local };
                assert_eq!(out.layout.index_of(patch), Some(patches + stitched));
            }
        }
    }
}

#[test]
fn small_images_tell_the_two_axes_apart() {
    let config = PreprocessorConfig::clip(336);
    let tokens = |axis| {
        let processor = LlavaNext::from_config(&config, 14, axis, Some(&PINPOINTS)).unwrap();
        let layout = processor.layout(Size::new(100, 100), NextPacking::Spatial);
        layout.groups().last().unwrap().kind
    };
    assert_eq!(tokens(AnyresAxis::Original), GroupKind::Crop { row: 1, column: 0 });
    assert_eq!(tokens(AnyresAxis::Hf), GroupKind::Crop { row: 0, column: 1 });
}

#[test]
fn published_counts() {
    let config = PreprocessorConfig::clip(336);
    let processor =
        LlavaNext::from_config(&config, 14, AnyresAxis::Original, Some(&PINPOINTS)).unwrap();
    let image = Size::new(640, 480);
    assert_eq!(processor.layout(image, NextPacking::Spatial).len(), 2880);
    // 48 columns; of 48 rows 36 show the image: 576 + 36 * (48 + 1).
    assert_eq!(processor.layout(image, NextPacking::SpatialUnpad).len(), 576 + 36 * 49);
}

#[test]
fn extreme_shapes_work() {
    let config = PreprocessorConfig::clip(28);
    let pinpoints = PINPOINTS.map(|pair| pair.map(|side| side / 12));
    let processor =
        LlavaNext::from_config(&config, 7, AnyresAxis::Original, Some(&pinpoints)).unwrap();
    for image in [noise(1, 1), noise(1, 9000), noise(9000, 1), noise(3, 2)] {
        for packing in [NextPacking::Spatial, NextPacking::SpatialUnpad] {
            let out = processor.process(&image, packing);
            assert!(out.pixels.iter().all(|number| number.is_finite()));
            assert!(out.layout.len() >= 16);
        }
    }
}

#[test]
fn wrong_pinpoints_are_named() {
    let config = PreprocessorConfig::clip(28);
    let fail = |pinpoints: &[[u32; 2]]| {
        let error =
            LlavaNext::from_config(&config, 7, AnyresAxis::Hf, Some(pinpoints)).unwrap_err();
        error.to_string()
    };
    assert_eq!(fail(&[]), "image_grid_pinpoints is empty: accepted is at least one resolution");
    let message = "image_grid_pinpoints is 30x28: accepted is positive multiples of the 28x28 crop";
    assert_eq!(fail(&[[28, 30]]), message);
    assert!(fail(&[[0, 28]]).contains("28x0"));
    assert!(fail(&[[28_000, 28_000]]).contains("at most 268435456 pixel values"));
}
