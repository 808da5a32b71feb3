//! What must hold for every size.

use mico_vision::decode::{DecodeOptions, decode};
use mico_vision::internvl::{InternVl, TileLimits, TileShape};
use mico_vision::layout::{GroupKind, Patch, VisualLayout};
use mico_vision::llava::{AnyresAxis, Llava, LlavaNext, NextPacking, PadMode};
use mico_vision::llava_video::{FrameShape, LlavaVideo, RowEnd};
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::qwen::{PatchShape, PixelLimits, QwenVl};
use mico_vision::resample::{Canvas, ResizeBackend, Window, resize, resize_window};
use mico_vision::{RgbImage, Size};
use proptest::prelude::*;

use crate::fixture::{bytes, noise};

fn backend() -> impl Strategy<Value = ResizeBackend> {
    prop_oneof![Just(ResizeBackend::Pillow), Just(ResizeBackend::Torch)]
}

/// Sizes of every magnitude, from a pixel to a very long strip.
fn size() -> impl Strategy<Value = Size> {
    let side = || prop_oneof![1..4_u32, 1..400_u32, 1..20_000_u32];
    (side(), side()).prop_map(|(width, height)| Size::new(width, height))
}

fn next(side: u32, patch: u32, axis: AnyresAxis) -> LlavaNext {
    let grids = [[1, 2], [2, 1], [2, 2], [3, 1], [1, 3], [1, 1]];
    let pinpoints = grids.map(|pair| pair.map(|count| count * side));
    let config = PreprocessorConfig::clip(side);
    LlavaNext::from_config(&config, patch, axis, Some(&pinpoints)).unwrap()
}

/// Lookups agree with the list, regions lie in the image, groups add up.
fn check_layout(layout: &VisualLayout) {
    check_layout_of(layout, &vec![layout.image(); layout.groups().len()]);
}

/// The same where each group has an image of its own.
fn check_layout_of(layout: &VisualLayout, images: &[Size]) {
    for (index, token) in layout.tokens().iter().enumerate() {
        let region = token.region;
        if let Some(patch) = token.patch {
            assert_eq!(layout.index_of(patch), Some(index));
            assert_eq!(layout.group_of(index), Some(patch.group));
            assert!(patch.local < layout.groups()[patch.group].patches());
        } else {
            assert!(region.is_empty());
        }
        if let Some(patch) = token.patch.filter(|_| !region.is_empty()) {
            let Size { width, height } = images[patch.group];
            assert!(region.x0 >= 0.0 && region.x1 <= width as f32, "{region:?}");
            assert!(region.y0 >= 0.0 && region.y1 <= height as f32, "{region:?}");
        }
    }
    let patches = layout.tokens().iter().filter(|token| token.patch.is_some()).count();
    assert_eq!(layout.group_sizes().iter().sum::<usize>(), patches);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn one_color_stays_one_color(
        from in (1..200_u32, 1..200_u32), to in (1..200_u32, 1..200_u32),
        color in any::<[u8; 3]>(), backend in backend(),
    ) {
        let image = RgbImage::filled(Size::new(from.0, from.1), color);
        let target = Size::new(to.0, to.1);
        prop_assert!(resize(&image, target, backend) == RgbImage::filled(target, color));
    }

    #[test]
    fn an_unchanged_axis_is_untouched(
        width in 1..60_u32, height in 1..60_u32, backend in backend(),
    ) {
        let image = noise(width, height);
        let canvas = Canvas::bare(image.size());
        let all = Window::all(image.size());
        prop_assert!(resize_window(&image, &canvas, image.size(), &all, backend) == image);
        let row = noise(width, 1);
        let tall = resize(&row, Size::new(width, height), backend);
        prop_assert!((0..height as usize).all(|y| tall.row(y) == row.row(0)));
    }

    #[test]
    fn any_window_equals_its_part_of_the_whole(
        from in (1..80_u32, 1..80_u32), to in (1..80_u32, 1..80_u32),
        at in (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>()), backend in backend(),
    ) {
        let image = noise(from.0, from.1);
        let target = Size::new(to.0, to.1);
        let range = |start: u32, length: u32, side: u32| {
            let start = start % side;
            start..start + 1 + length % (side - start)
        };
        let window = Window { columns: range(at.0, at.1, to.0), rows: range(at.2, at.3, to.1) };
        let whole = resize(&image, target, backend);
        let part = resize_window(&image, &Canvas::bare(image.size()), target, &window, backend);
        for y in 0..part.height() {
            for x in 0..part.width() {
                let place = (window.columns.start as usize + x, window.rows.start as usize + y);
                prop_assert_eq!(part.pixel(x, y), whole.pixel(place.0, place.1));
            }
        }
    }

    #[test]
    fn layouts_hold_together(
        image in size(), square in any::<bool>(), unpad in any::<bool>(), hf in any::<bool>(),
        tower in prop_oneof![Just((28, 7)), Just((30, 7)), Just((336, 14))],
    ) {
        let (side, patch) = tower;
        let mode = if square { PadMode::Square } else { PadMode::ShortSideCrop };
        let config = PreprocessorConfig::clip(side);
        let layout = Llava::from_config(&config, patch, mode).unwrap().layout(image);
        let patches = ((side / patch) * (side / patch)) as usize;
        prop_assert_eq!(layout.len(), patches);
        check_layout(&layout);

        let packing = if unpad { NextPacking::SpatialUnpad } else { NextPacking::Spatial };
        let axis = if hf { AnyresAxis::Hf } else { AnyresAxis::Original };
        let layout = next(side, patch, axis).layout(image, packing);
        check_layout(&layout);
        prop_assert!(layout.len() >= patches);
        // The base view shows the whole image, patch by patch.
        let last = layout.region(patches - 1);
        let covered = side / patch * patch;
        let expected = image.width as f32 * covered as f32 / side as f32;
        prop_assert!((last.x1 - expected).abs() <= expected * 1e-5);
        if !unpad {
            prop_assert_eq!(layout.len(), patches * layout.groups().len());
            let first = Patch { group: 1, local: 0 };
            prop_assert!(layout.index_of(first).is_some());
        }
    }

    #[test]
    fn processed_pixels_fit_their_layout(width in 1..300_u32, height in 1..300_u32) {
        let image = noise(width, height);
        let processor = next(28, 7, AnyresAxis::Original);
        let out = processor.process(&image, NextPacking::Spatial);
        prop_assert_eq!(out.pixels.len(), out.shape.iter().product::<usize>());
        prop_assert_eq!(out.layout.groups().len(), out.shape[0]);
        prop_assert!(out.pixels.iter().all(|number| number.is_finite()));
    }

    #[test]
    fn tiles_keep_their_limits(
        image in size(), min in 1..13_u32, more in 0..12_u32, thumbnail in any::<bool>(),
        tower in prop_oneof![Just((28, 7, 2)), Just((28, 14, 1)), Just((448, 14, 2))],
    ) {
        let (side, patch, shuffle) = tower;
        let limits = TileLimits { min, max: min + more };
        let shape = TileShape { side, patch, shuffle };
        let config = PreprocessorConfig::internvl(side);
        let layout =
            InternVl::from_config(&config, shape, limits, thumbnail).unwrap().layout(image).unwrap();
        check_layout(&layout);
        let last = layout.groups().last().map(|group| group.kind);
        let behind = usize::from(last == Some(GroupKind::Thumbnail));
        let tiles = layout.groups().len() - behind;
        prop_assert!((limits.min as usize..=limits.max as usize).contains(&tiles));
        prop_assert_eq!(behind == 1, thumbnail && tiles > 1);
        let tokens = shape.tokens_per_side() as usize;
        prop_assert_eq!(layout.group_sizes(), vec![tokens * tokens; tiles + behind]);
        prop_assert_eq!(layout.len(), layout.groups().len() * tokens * tokens);
        // Tiles cover the image: nothing is lost at its far corner, and areas add up.
        let area = |from: usize, to: usize| -> f64 {
            let regions = layout.tokens()[from..to].iter().map(|token| token.region);
            regions.map(|r| f64::from(r.x1 - r.x0) * f64::from(r.y1 - r.y0)).sum()
        };
        let whole = image.area() as f64;
        prop_assert!((area(0, tiles * tokens * tokens) / whole - 1.0).abs() < 1e-3);
        let far = layout.region(tiles * tokens * tokens - 1);
        prop_assert_eq!((far.x1, far.y1), (image.width as f32, image.height as f32));
        if behind == 1 {
            prop_assert!((area(tiles * tokens * tokens, layout.len()) / whole - 1.0).abs() < 1e-3);
        }
    }

    #[test]
    fn frames_lie_one_behind_another(
        frames in proptest::collection::vec(size(), 1..9), newline in any::<bool>(),
        shape in prop_oneof![Just((35, 7, 2)), Just((30, 7, 3)), Just((384, 14, 2))],
    ) {
        let (side, patch, pool) = shape;
        let shape = FrameShape { side, patch, pool };
        let processor =
            LlavaVideo::from_config(&PreprocessorConfig::siglip(side), shape).unwrap();
        let end = if newline { RowEnd::Newline } else { RowEnd::None };
        let layout = processor.layout(&frames, end).unwrap();
        check_layout_of(&layout, &frames);
        let tokens = shape.tokens_per_side() as usize;
        prop_assert_eq!(layout.len(), frames.len() * tokens * (tokens + usize::from(newline)));
        prop_assert_eq!(layout.group_sizes(), vec![tokens * tokens; frames.len()]);
        let order: Vec<usize> = (0..layout.len()).filter_map(|t| layout.group_of(t)).collect();
        prop_assert!(order.is_sorted());
        for (index, frame) in frames.iter().enumerate() {
            let last = Patch { group: index, local: tokens * tokens - 1 };
            let region = layout.region(layout.index_of(last).unwrap());
            let seen = f64::from(shape.factor() * shape.tokens_per_side()) / f64::from(side);
            let expected = f64::from(frame.height) * seen;
            prop_assert!((f64::from(region.y1) - expected).abs() <= expected * 1e-5);
        }
    }

    #[test]
    fn tiles_and_frames_fit_their_layout(width in 1..300_u32, height in 1..300_u32) {
        let image = noise(width, height);
        let shape = TileShape { side: 28, patch: 7, shuffle: 2 };
        let config = PreprocessorConfig::internvl(28);
        let tiles = InternVl::from_config(&config, shape, TileLimits::PROCESSOR, true).unwrap();
        let shape = FrameShape { side: 35, patch: 7, pool: 2 };
        let frames = LlavaVideo::from_config(&PreprocessorConfig::siglip(35), shape).unwrap();
        for out in [
            tiles.process(&image).unwrap(),
            frames.process(&[image.clone(), noise(height, width)], RowEnd::Newline).unwrap(),
        ] {
            prop_assert_eq!(out.pixels.len(), out.shape.iter().product::<usize>());
            prop_assert_eq!(out.layout.groups().len(), out.shape[0]);
            prop_assert!(out.pixels.iter().all(|number| number.is_finite()));
        }
        prop_assert_eq!(tiles.process(&image).unwrap().layout, tiles.layout(image.size()).unwrap());
    }

    #[test]
    fn patches_fit_their_layout(width in 1..300_u32, height in 1..300_u32) {
        let image = noise(width, height);
        let shape = PatchShape { patch: 14, merge: 2, frames: 2 };
        let limits = PixelLimits { min: 784, max: 40 * 784 };
        let config = PreprocessorConfig::qwen2_5();
        let processor = QwenVl::from_config(&config, shape, limits).unwrap();
        if width.max(height) > 200 * width.min(height) {
            prop_assert!(processor.process(&image).is_err());
        } else {
            let out = processor.process(&image).unwrap();
            check_layout(&out.layout);
            prop_assert_eq!(out.layout.len() * 4, out.shape[0]);
            prop_assert_eq!(out.pixels.len(), out.shape.iter().product::<usize>());
        }
    }

    #[test]
    fn damaged_files_never_panic(
        file in prop_oneof![
            Just("rgba.png"), Just("palette.png"), Just("progressive.jpg"), Just("turned6.jpg"),
            Just("lossless_alpha.webp"), Just("lossy.webp"), Just("animated.gif"), Just("rgb.bmp"),
        ],
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut data = bytes(file);
        for (place, byte) in damage {
            let place = place.index(data.len());
            data[place] = byte;
        }
        let _outcome = decode(&data, &DecodeOptions::default());
    }
}
