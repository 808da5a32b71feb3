//! Pictures: decoded within limits, then prepared as each family does.

use mico_vision::decode::{AlphaMode, DecodeOptions, Limits, decode, is_animated};
use mico_vision::internvl::{InternVl, TileLimits, TileShape};
use mico_vision::llava::{AnyresAxis, Llava, LlavaNext, NextPacking, PadMode};
use mico_vision::llava_video::{FrameShape, LlavaVideo, RowEnd};
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::qwen::{PatchShape, PixelLimits, QwenVl};
use mico_vision::{ParamError, Processed, RgbImage, encode_png};

use super::Target;
use crate::seen::Seen;

pub(super) const TARGET: Target = Target {
    name: "image",
    about: "PNG, JPEG, WebP, GIF and BMP, and the processors on what they show",
    run,
    tokens: &[
        "IHDR",
        "PLTE",
        "tRNS",
        "IDAT",
        "IEND",
        "eXIf",
        "gAMA",
        "iCCP",
        "RIFF",
        "WEBP",
        "VP8 ",
        "VP8L",
        "VP8X",
        "ALPH",
        "ANIM",
        "ANMF",
        "EXIF",
        "Exif\0\0",
        "II*\0",
        "MM\0*",
        "GIF87a",
        "GIF89a",
        "\u{21}\u{f9}\u{4}",
        "BM",
        "JFIF",
    ],
    short_run: 1500,
};

/// Small enough to try thousands in a second, so that most time goes into the formats.
const LIMITS: Limits = Limits { encoded_bytes: 1 << 17, pixels: 1 << 14, side: 512 };
/// The most pixels of a picture that is written and read again.
const ROUND_TRIP: u64 = 1 << 10;
/// The side of the views of a made-up tower, and that of its patches.
const SIDE: u32 = 28;
const PATCH: u32 = 7;

fn run(data: &[u8], seen: &mut Seen) {
    let animated = is_animated(data);
    let alpha = if data.len().is_multiple_of(2) { AlphaMode::Drop } else { AlphaMode::default() };
    let options = DecodeOptions { limits: LIMITS, alpha };
    let image = match decode(data, &options) {
        Err(error) => return seen.refused(&error),
        Ok(image) => image,
    };
    let size = image.size();
    assert!((1..=LIMITS.pixels).contains(&size.area()), "{size} pixels");
    assert!(size.width.max(size.height) <= LIMITS.side, "{size} pixels");
    assert_eq!(image.data().len() as u64, 3 * size.area());
    seen.accepted(format_args!("{} {animated}", if data.len() > 3 { data[1] } else { 0 }));
    if size.area() <= ROUND_TRIP {
        let png = encode_png(&image).unwrap_or_else(|error| panic!("cannot be written: {error}"));
        assert_eq!(decode(&png, &options).ok().as_ref(), Some(&image));
    }
    for (name, processed) in processed(&image) {
        if let Some(processed) = seen.result(name, processed) {
            let values: usize = processed.shape.iter().product();
            assert_eq!(processed.pixels.len(), values, "{name}");
            assert!(processed.pixels.iter().all(|value| value.is_finite()), "{name}");
            assert!(!processed.layout.is_empty(), "{name}");
            assert_eq!(processed.layout.image(), size, "{name}");
        }
    }
}

/// The picture as every family prepares it for towers of a few patches.
fn processed(image: &RgbImage) -> Vec<(&'static str, Result<Processed, ParamError>)> {
    let clip = PreprocessorConfig::clip(SIDE);
    let llava = |mode| Ok(Llava::from_config(&clip, PATCH, mode)?.process(image));
    let pinpoints = [[SIDE, 2 * SIDE], [2 * SIDE, SIDE], [2 * SIDE, 2 * SIDE]];
    let next = |axis, packing| {
        let processor = LlavaNext::from_config(&clip, PATCH, axis, Some(&pinpoints))?;
        Ok(processor.process(image, packing))
    };
    let qwen = || {
        let shape = PatchShape { patch: 14, merge: 2, frames: 2 };
        let limits = PixelLimits { min: 28 * 28, max: 16 * 28 * 28 };
        QwenVl::from_config(&PreprocessorConfig::qwen2_5(), shape, limits)?.process(image)
    };
    let intern = || {
        let shape = TileShape { side: SIDE, patch: PATCH, shuffle: 2 };
        let config = PreprocessorConfig::internvl(SIDE);
        InternVl::from_config(&config, shape, TileLimits::PAPER, true)?.process(image)
    };
    let video = || {
        let shape = FrameShape { side: SIDE, patch: PATCH, pool: 2 };
        let processor = LlavaVideo::from_config(&PreprocessorConfig::siglip(SIDE), shape)?;
        processor.process(&[image.clone(), image.clone()], RowEnd::Newline)
    };
    vec![
        ("llava square", llava(PadMode::Square)),
        ("llava crop", llava(PadMode::ShortSideCrop)),
        ("next", next(AnyresAxis::Original, NextPacking::Spatial)),
        ("next unpad", next(AnyresAxis::Hf, NextPacking::SpatialUnpad)),
        ("qwen", qwen()),
        ("internvl", intern()),
        ("llava-video", video()),
    ]
}
