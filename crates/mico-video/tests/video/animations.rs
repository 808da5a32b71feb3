//! GIF against FFmpeg, WebP against Pillow (libwebp).

use mico_video::{Video, VideoKind, VideoOptions, sample_indices};
use mico_vision::decode::AlphaMode;

use crate::fixture::{bytes, cases, checksum, every_frame, number, open_bytes, path};

#[test]
fn every_frame_is_the_expected_one() {
    for case in cases("animations") {
        let name = case["file"].as_str().unwrap();
        let video = Video::open(path(name), &every_frame()).unwrap();
        let expected = case["frames"].as_array().unwrap();
        assert_eq!(video.frames.len(), expected.len(), "{name}");
        let mut elapsed = 0;
        for (index, (frame, expected)) in video.frames.iter().zip(expected).enumerate() {
            assert_eq!(
                [frame.width(), frame.height()],
                ["width", "height"].map(|f| number(&case, f))
            );
            assert_eq!(checksum(frame), expected["crc"].as_u64().unwrap(), "{name} {index}");
            assert!((video.times[index] - elapsed as f64 / 1000.0).abs() < 1e-9, "{name} {index}");
            elapsed += number(expected, "delay");
        }
        let fps = expected.len() as f64 * 1000.0 / elapsed as f64;
        assert!((video.fps - fps).abs() < 1e-9, "{name}: {}", video.fps);
    }
}

#[test]
fn the_colors_under_transparency_are_the_expected_ones() {
    let options = VideoOptions { alpha: AlphaMode::Drop, ..every_frame() };
    let mut compared = 0;
    for case in cases("animations") {
        let name = case["file"].as_str().unwrap();
        let video = Video::open(path(name), &options).unwrap();
        for (index, expected) in case["frames"].as_array().unwrap().iter().enumerate() {
            if let Some(crc) = expected["colours_crc"].as_u64() {
                assert_eq!(checksum(&video.frames[index]), crc, "{name} {index}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 10 + 4 + 17 + 17);
}

#[test]
fn they_are_sampled_by_the_same_rule() {
    for name in ["disposal.gif", "moving.webp", "blended.webp"] {
        let all = Video::open(path(name), &every_frame()).unwrap();
        let options = VideoOptions { fps: 3.0, max_frames: 64, ..VideoOptions::default() };
        let some = Video::open(path(name), &options).unwrap();
        assert_eq!(some.indices, sample_indices(all.source_frames, all.fps, 3.0, 64));
        assert!(some.indices.len() < all.indices.len());
        for (frame, &index) in some.frames.iter().zip(&some.indices) {
            assert!(frame == &all.frames[index], "{name} {index}");
        }
    }
}

#[test]
fn transparency_takes_the_stated_color() {
    let options = VideoOptions { alpha: AlphaMode::Flatten([0, 255, 0]), ..every_frame() };
    let green = Video::open(path("moving.webp"), &options).unwrap();
    assert_eq!(green.frames[1].pixel(35, 6), Some([0, 255, 0]));
    let white = Video::open(path("moving.webp"), &every_frame()).unwrap();
    assert_eq!(white.frames[1].pixel(35, 6), Some([255; 3]));
}

#[test]
fn a_still_webp_is_one_frame() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/data/vision/lossless.webp");
    let video = Video::open(file, &VideoOptions::default()).unwrap();
    assert_eq!((video.kind, video.source_frames, video.frames.len()), (VideoKind::WebP, 1, 1));
}

#[test]
fn a_gif_without_trailer_is_whole() {
    let mut gif = bytes("disposal.gif");
    assert_eq!(gif.pop(), Some(0x3b));
    assert_eq!(open_bytes(&gif, &every_frame()).unwrap().frames.len(), 12);
}
