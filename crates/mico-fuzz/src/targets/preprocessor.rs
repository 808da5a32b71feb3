//! `preprocessor_config.json`, and the processors that are made from it.

use mico_vision::internvl::{InternVl, TileLimits, TileShape};
use mico_vision::layout::VisualLayout;
use mico_vision::llava::{AnyresAxis, Llava, LlavaNext, NextPacking, PadMode};
use mico_vision::llava_video::{FrameShape, LlavaVideo, RowEnd};
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::qwen::{PatchShape, PixelLimits, QwenVl};
use mico_vision::{ParamError, RgbImage, Size};

use super::Target;
use crate::seen::Seen;

pub(super) const TARGET: Target = Target {
    name: "preprocessor",
    about: "preprocessor_config.json of every family",
    run,
    tokens: &[
        "size",
        "shortest_edge",
        "longest_edge",
        "height",
        "width",
        "crop_size",
        "do_resize",
        "do_center_crop",
        "do_rescale",
        "rescale_factor",
        "do_normalize",
        "image_mean",
        "image_std",
        "do_pad",
        "resample",
        "min_pixels",
        "max_pixels",
        "patch_size",
        "merge_size",
        "temporal_patch_size",
        "image_grid_pinpoints",
        "min_patches",
        "max_patches",
        "crop_to_patches",
        "image_processor_type",
        "CLIPImageProcessor",
        "LlavaNextImageProcessor",
        "Qwen2VLImageProcessor",
        "GotOcr2ImageProcessor",
        "SiglipImageProcessor",
        "do_convert_rgb",
        "image_processor",
    ],
    short_run: 3000,
};

/// The largest view that pixels are made of: a tower's side is the model's, which is no part of this file.
const LARGEST_VIEW: u32 = 128;
/// The side of a patch of towers that state none.
const PATCH: u32 = 14;
/// Pictures of common and extreme shapes.
const SIZES: [Size; 4] =
    [Size::new(1, 1), Size::new(640, 480), Size::new(3, 500), Size::new(16_000, 90)];

fn run(data: &[u8], seen: &mut Seen) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some(config) = seen.result("config", PreprocessorConfig::parse(text)) else { return };
    let picture = RgbImage::filled(Size::new(9, 5), [7, 100, 250]);
    let side = config.crop.width;
    let small = side.max(config.crop.height) <= LARGEST_VIEW;
    let check = |seen: &mut Seen, layout: Result<VisualLayout, ParamError>, size: Size| {
        if let Some(layout) = seen.result("layout", layout) {
            assert!(!layout.is_empty());
            assert_eq!(layout.image(), size);
        }
    };
    for mode in [PadMode::Square, PadMode::ShortSideCrop] {
        let made = Llava::from_config(&config, PATCH, mode);
        let Some(llava) = seen.result("llava", made).filter(|_| small) else { continue };
        SIZES.into_iter().for_each(|size| check(seen, Ok(llava.layout(size)), size));
        assert_eq!(llava.process(&picture).pixels.len() as u64, 3 * config.crop.area());
    }
    for (axis, packing) in
        [(AnyresAxis::Original, NextPacking::Spatial), (AnyresAxis::Hf, NextPacking::SpatialUnpad)]
    {
        let made = LlavaNext::from_config(&config, PATCH, axis, None);
        let Some(next) = seen.result("next", made).filter(|_| small) else { continue };
        SIZES.into_iter().for_each(|size| check(seen, Ok(next.layout(size, packing)), size));
    }
    qwen(&config, &picture, seen);
    if let Some(intern) = seen.result("internvl", internvl(&config)).filter(|_| small) {
        SIZES.into_iter().for_each(|size| check(seen, intern.layout(size), size));
        let _ = seen.result("internvl picture", intern.process(&picture));
    }
    let shape = FrameShape { side, patch: PATCH, pool: 2 };
    let made = LlavaVideo::from_config(&config, shape);
    if let Some(video) = seen.result("llava-video", made).filter(|_| small) {
        let layout = video.layout(&[SIZES[1]], RowEnd::Newline);
        check(seen, layout, SIZES[1]);
    }
}

fn internvl(config: &PreprocessorConfig) -> Result<InternVl, ParamError> {
    let shape = TileShape { side: config.crop.width, patch: PATCH, shuffle: 2 };
    let limits = TileLimits::PROCESSOR.unless_stated(config.tiles);
    InternVl::from_config(config, shape, limits, true)
}

fn qwen(config: &PreprocessorConfig, picture: &RgbImage, seen: &mut Seen) {
    let stated = config.area;
    let usual = PixelLimits::QWEN2_5_PROCESSOR;
    let limits =
        PixelLimits { min: stated.min.unwrap_or(usual.min), max: stated.max.unwrap_or(usual.max) };
    let shape = PatchShape {
        patch: config.patch.unwrap_or(PATCH),
        merge: config.merge.unwrap_or(2),
        frames: config.frames.unwrap_or(2),
    };
    let Some(qwen) = seen.result("qwen", QwenVl::from_config(config, shape, limits)) else {
        return;
    };
    for size in SIZES {
        if let Some(layout) = seen.result("qwen layout", qwen.layout(size)) {
            assert_eq!(layout.image(), size);
        }
    }
    if limits.min <= 1 << 16 && shape.factor() <= LARGEST_VIEW && shape.frames <= 4 {
        let _ = seen.result("qwen picture", qwen.process(picture));
    }
}
