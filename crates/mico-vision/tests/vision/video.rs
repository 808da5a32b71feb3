//! The LLaVA-Video processor: frames against transformers, pooling, rows, and what is refused.

use mico_vision::layout::{GroupKind, Region, VisualToken};
use mico_vision::llava_video::{FrameShape, LlavaVideo, MAX_FRAMES, RowEnd};
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::{RgbImage, Size};

use crate::fixture::{cases, check_floats, config, image, noise, number, shape};

const SHAPE: FrameShape = FrameShape { side: 35, patch: 7, pool: 2 };

fn toy() -> LlavaVideo {
    LlavaVideo::from_config(&PreprocessorConfig::siglip(35), SHAPE).unwrap()
}

#[test]
fn frames_equal_transformers_to_the_bit() {
    for case in cases("video") {
        let names = case["sources"].as_array().unwrap();
        let frames: Vec<RgbImage> =
            names.iter().map(|name| image(name.as_str().unwrap())).collect();
        let side = u32::try_from(shape(&case)[2]).unwrap();
        let (patch, pool) = (number(&case, "patch"), number(&case, "pool"));
        let processor =
            LlavaVideo::from_config(&config(&case), FrameShape { side, patch, pool }).unwrap();
        let (tokens, newlines) = (number(&case, "tokens"), number(&case, "newlines"));
        for (end, expected) in [(RowEnd::None, tokens), (RowEnd::Newline, tokens + newlines)] {
            let out = processor.process(&frames, end).unwrap();
            assert_eq!(shape(&case), out.shape, "{case}");
            check_floats(&case, &out.pixels);
            assert_eq!(out.layout.len(), expected as usize, "{case}");
        }
    }
}

#[test]
fn an_odd_last_row_and_column_are_dropped() {
    let published = FrameShape { side: 384, patch: 14, pool: 2 };
    assert_eq!((published.patches_per_side(), published.tokens_per_side()), (27, 13));
    let layout = toy().layout(&[Size::new(70, 35)], RowEnd::None).unwrap();
    assert_eq!(layout.len(), 4);
    // 35 pixels show the frame's 70: a token of 14 shows 28, and the last 14 are seen by none.
    assert_eq!(layout.region(3), Region { x0: 28.0, y0: 14.0, x1: 56.0, y1: 28.0 });
}

#[test]
fn every_row_of_every_frame_may_end_with_a_newline() {
    let sizes = [Size::new(70, 35), Size::new(35, 350)];
    let plain = toy().layout(&sizes, RowEnd::None).unwrap();
    let rows = toy().layout(&sizes, RowEnd::Newline).unwrap();
    assert_eq!((plain.len(), rows.len()), (8, 12));
    for (place, token) in rows.tokens().iter().enumerate() {
        assert_eq!(*token == VisualToken::NEWLINE, place % 3 == 2, "token {place}");
    }
    let patches: Vec<VisualToken> =
        rows.tokens().iter().filter(|token| token.patch.is_some()).copied().collect();
    assert_eq!(patches, plain.tokens());
    assert_eq!(rows.group_sizes(), [4, 4]);
    assert_eq!(rows.groups()[1].kind, GroupKind::Frame { index: 1 });
}

#[test]
fn regions_are_in_pixels_of_their_own_frame() {
    let sizes = [Size::new(70, 35), Size::new(35, 350)];
    let layout = toy().layout(&sizes, RowEnd::None).unwrap();
    assert_eq!(layout.image(), sizes[0]);
    assert_eq!(layout.region(7), Region { x0: 14.0, y0: 140.0, x1: 28.0, y1: 280.0 });
}

#[test]
fn frames_are_processed_one_by_one() {
    let frames = [noise(50, 73), noise(35, 35), noise(1, 9)];
    let all = toy().process(&frames, RowEnd::None).unwrap();
    assert_eq!(all.shape, [3, 3, 35, 35]);
    let single: Vec<f32> = frames
        .chunks(1)
        .flat_map(|frame| toy().process(frame, RowEnd::Newline).unwrap().pixels)
        .collect();
    assert_eq!(all.pixels, single);
}

#[test]
fn wrong_parameters_are_named() {
    let processor = toy();
    let error = processor.process(&[], RowEnd::None).unwrap_err().to_string();
    assert_eq!(error, "number of frames is 0: accepted is 1 to 1024");
    let many = vec![Size::new(1, 1); MAX_FRAMES + 1];
    let error = processor.layout(&many, RowEnd::None).unwrap_err().to_string();
    assert_eq!(error, "number of frames is 1025: accepted is 1 to 1024");
    assert!(processor.layout(&many[1..], RowEnd::None).is_ok());
    let config = PreprocessorConfig::siglip(1024);
    let large = FrameShape { side: 1024, ..SHAPE };
    let large = LlavaVideo::from_config(&config, large).unwrap();
    let frames = vec![RgbImage::filled(Size::new(1, 1), [0; 3]); 86];
    let error = large.process(&frames, RowEnd::None).unwrap_err().to_string();
    assert!(error.starts_with("number of frames is 86: accepted is what gives"), "{error}");
    for (shape, message) in [
        (FrameShape { side: 5000, ..SHAPE }, "image_size is 5000: accepted is 1 to 4096"),
        (FrameShape { patch: 36, ..SHAPE }, "patch_size is 36: accepted is 1 to 35"),
        (FrameShape { pool: 6, ..SHAPE }, "pooling stride is 6: accepted is 1 to 5"),
        (FrameShape { pool: 0, ..SHAPE }, "pooling stride is 0: accepted is 1 to 5"),
    ] {
        let error = LlavaVideo::from_config(&PreprocessorConfig::siglip(35), shape).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let error = LlavaVideo::from_config(&PreprocessorConfig::siglip(36), SHAPE).unwrap_err();
    assert_eq!(error.to_string(), "size is 36x36: accepted is 35x35, the tower's input");
}
