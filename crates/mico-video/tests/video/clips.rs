//! H.264 in MP4 against FFmpeg's decoder and libswscale's colours.

use mico_video::{Progress, Video, VideoKind, VideoOptions, sample_indices};
use mico_vision::RgbImage;
use mico_vision::decode::{DecodeOptions, decode};
use serde_json::Value;

use crate::fixture::{
    bytes, cases, checksum, every_frame, fraction, number, open_bytes, path, problem, replaced,
};

fn clip(name: &str) -> Value {
    cases("clips").into_iter().find(|case| case["file"] == name).unwrap()
}

/// The number a frame shows: blocks along the bottom, lowest bit first.
fn shown_number(frame: &RgbImage) -> usize {
    let y = frame.height() - 7;
    let bit = |i: usize| {
        let [red, green, blue] = frame.pixel(6 + 8 * i, y).unwrap();
        u32::from(red) + u32::from(green) + u32::from(blue) > 380
    };
    (0..7).filter(|&i| bit(i)).map(|i| 1 << i).sum()
}

/// A frame has FFmpeg's bytes. Where OpenH264 is known to differ, in a few pixels of a B picture, the
/// expectation is a picture: at most 16 pixels off, none by more than 4 levels.
fn check(frame: &RgbImage, expected: &Value) {
    if checksum(frame) == expected["crc"].as_u64().unwrap() {
        return;
    }
    let Some(picture) = expected["picture"].as_str() else { panic!("not FFmpeg's: {expected}") };
    let picture = decode(&bytes(picture), &DecodeOptions::default()).unwrap();
    let pixels = frame.data().chunks(3).zip(picture.data().chunks(3));
    let off = |(a, b): (&[u8], &[u8])| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).max();
    let off: Vec<u8> = pixels.filter_map(off).filter(|&levels| levels > 0).collect();
    assert!(off.len() <= 16 && off.iter().all(|&levels| levels <= 4), "{off:?}: {expected}");
}

#[test]
fn every_frame_is_ffmpegs_in_ffmpegs_order() {
    for case in cases("clips") {
        let name = case["file"].as_str().unwrap();
        let video = Video::open(path(name), &every_frame()).unwrap();
        let expected = case["frames"].as_array().unwrap();
        assert_eq!(video.kind, VideoKind::Mp4);
        assert_eq!(video.source_frames, expected.len(), "{name}");
        assert_eq!(video.indices, (0..expected.len()).collect::<Vec<_>>(), "{name}");
        assert!((video.fps - fraction(&case, "fps")).abs() < 1e-9, "{name}: {}", video.fps);
        for (index, (frame, expected)) in video.frames.iter().zip(expected).enumerate() {
            assert_eq!(
                [frame.width(), frame.height()],
                ["width", "height"].map(|f| number(&case, f))
            );
            assert!(
                (video.times[index] - fraction(expected, "time")).abs() < 1e-9,
                "{name} {index}"
            );
            if number(&case, "turned") == 0 {
                assert_eq!(shown_number(frame), number(&case, "first_number") + index, "{name}");
            }
            check(frame, expected);
        }
    }
}

#[test]
fn a_sample_is_the_same_as_all_frames_sampled() {
    // Skipping unneeded pictures and starting late must not change a pixel.
    for case in cases("clips") {
        let name = case["file"].as_str().unwrap();
        let all = Video::open(path(name), &every_frame()).unwrap();
        for (fps, max_frames) in [(1.0, 64), (2.5, 64), (1e6, 1), (1e6, 2), (1e6, 5), (4.0, 3)] {
            let options = VideoOptions { fps, max_frames, ..VideoOptions::default() };
            let some = Video::open(path(name), &options).unwrap();
            let indices = sample_indices(all.source_frames, all.fps, fps, max_frames);
            assert_eq!(some.indices, indices, "{name}");
            for (frame, &index) in some.frames.iter().zip(&indices) {
                assert!(frame == &all.frames[index], "{name}: frame {index} at {fps}");
            }
            let times: Vec<f64> = indices.iter().map(|&index| all.times[index]).collect();
            assert_eq!(some.times, times);
        }
    }
}

#[test]
fn only_what_is_needed_is_decoded() {
    let total = |name: &str, max_frames| {
        let mut seen = Vec::new();
        let options = VideoOptions { fps: 1e6, max_frames, ..VideoOptions::default() };
        Video::open_with_progress(path(name), &options, &mut |step| seen.push(step)).unwrap();
        let total = seen[0].total;
        let expected: Vec<_> = (1..=total).map(|done| Progress { done, total }).collect();
        assert_eq!(seen, expected, "{name}");
        total
    };
    assert_eq!(total("high.mp4", 1), 1);
    // First and last of 38 with a start every 15: the last group has 8, and no picture follows.
    assert_eq!(total("high.mp4", 2), 1 + 8);
    // Later key frames of this one are no starts: one stretch from the beginning.
    assert_eq!(total("open.mp4", 2), 30);
}

#[test]
fn other_codecs_are_named() {
    let whole = bytes("bt709.mp4");
    for (code, name) in [
        (b"hvc1", "HEVC video (hvc1)"),
        (b"av01", "AV1 video (av01)"),
        (b"vp09", "VP9 video (vp09)"),
        (b"xyz\n", "unknown video (xyz\\n)"),
    ] {
        // Once as the brand of the file, once as the codec of the track.
        let at = whole.windows(4).rposition(|four| four == b"avc1").unwrap();
        let other = [&whole[..at], code, &whole[at + 4..]].concat();
        let expected = format!("{name} is not supported: H.264 (avc1) is accepted");
        assert_eq!(problem(&other, &VideoOptions::default()), expected);
    }
}

#[test]
fn what_is_not_read_is_named() {
    let options = VideoOptions::default();
    let of = |name| problem(&bytes(name), &options);
    assert!(
        of("fragmented.mp4").starts_with("a fragmented MP4 file (mvex, moof) is not supported")
    );
    let interlaced = "interlaced H.264 is not supported: progressive is accepted";
    assert_eq!(of("interlaced.mp4"), interlaced);
    let start = "an H.264 track that does not start with an instant refresh (IDR) picture is";
    assert!(of("no-start.mp4").starts_with(start), "{}", of("no-start.mp4"));
    let sound_only = replaced(&bytes("bt709.mp4"), b"\0\0\0\0vide", b"\0\0\0\0soun");
    assert_eq!(problem(&sound_only, &options), "damaged MP4 file: there is no video track");
    let careful = VideoOptions { h264: false, ..options };
    assert!(problem(&bytes("high.mp4"), &careful).starts_with("H.264 video is switched off"));
}

#[test]
fn the_name_of_a_file_decides_nothing() {
    let case = clip("baseline.mp4");
    let video = open_bytes(&bytes("baseline.mp4"), &every_frame()).unwrap();
    assert_eq!(checksum(&video.frames[7]), case["frames"][7]["crc"].as_u64().unwrap());
}
