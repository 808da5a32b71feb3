//! Limits and refusals of files.

use mico_video::{Limits, Video, VideoOptions};

use crate::fixture::{bytes, path, problem};

fn with(name: &str, limits: Limits) -> String {
    let options = VideoOptions { fps: 1e6, limits, ..VideoOptions::default() };
    Video::open(path(name), &options).unwrap_err().problem.to_string()
}

fn large(what: &str, limit: u64) -> String {
    format!("video too large: {what}, at most {limit} are accepted")
}

#[test]
fn each_limit_is_named_with_its_value() {
    let wide = Limits::default();
    for (name, frames, pixels) in
        [("high.mp4", 38, 96 * 64), ("disposal.gif", 12, 48 * 32), ("moving.webp", 10, 48 * 32)]
    {
        if name.ends_with("mp4") && !cfg!(feature = "h264") {
            continue;
        }
        let size = bytes(name).len();
        let limit = |limits| with(name, limits);
        let found = limit(Limits { file_bytes: 100, ..wide });
        assert_eq!(found, large(&format!("{size} bytes"), 100));
        let found = limit(Limits { source_frames: 7, ..wide });
        // Animations are counted as they are walked through.
        let counted = if frames == 38 { 38 } else { 8 };
        assert_eq!(found, large(&format!("{counted} frames"), 7));
        let found = limit(Limits { frame_pixels: 99, ..wide });
        assert_eq!(found, large(&format!("{pixels} pixels in a frame"), 99));
        let found = limit(Limits { decoded_frames: 9, ..wide });
        assert_eq!(found, large(&format!("{frames} frames to decode"), 9));
        let all = pixels * frames;
        let found = limit(Limits { decoded_pixels: all - 1, ..wide });
        assert_eq!(found, large(&format!("{all} pixels in the frames to decode"), all - 1));
        let found = limit(Limits { held_pixels: all - 1, ..wide });
        assert_eq!(found, large(&format!("{all} pixels in the frames to keep"), all - 1));
        let exact =
            Limits { held_pixels: all, decoded_pixels: all, decoded_frames: frames, ..wide };
        let options = VideoOptions { fps: 1e6, limits: exact, ..VideoOptions::default() };
        assert!(Video::open(path(name), &options).is_ok(), "{name}");
    }
    let found = with("high.mp4", Limits { index_bytes: 100, ..wide });
    assert!(found.contains("bytes of index, at most 100 are accepted"), "{found}");
    if cfg!(feature = "h264") {
        let found = with("high.mp4", Limits { frame_side: 95, ..wide });
        assert_eq!(found, large("96 pixels of width", 95));
    }
}

#[cfg(not(feature = "h264"))]
#[test]
fn h264_is_refused_by_name_in_a_build_without_its_decoder() {
    let refused = "H.264 video is not part of this build (cargo feature `h264`) and not supported: \
                   animated GIF and WebP and folders of images are accepted";
    for h264 in [false, true] {
        let options = VideoOptions { h264, ..VideoOptions::default() };
        let found = Video::open(path("high.mp4"), &options).unwrap_err().problem.to_string();
        assert_eq!(found, refused);
    }
}

#[test]
fn a_gif_bomb_is_refused_by_its_header() {
    // 65535 x 65535, then frames without end.
    let bomb = [b"GIF89a", &[0xff; 4][..], &[0, 0, 0]].concat();
    let found = problem(&bomb, &VideoOptions::default());
    assert_eq!(found, large("65535 pixels of width", 16384));
    // A small canvas, but one part of 65535 x 65535.
    let part = [b"GIF89a", &[9, 0, 9, 0, 0, 0, 0][..], &[0x2c, 0, 0, 0, 0], &[0xff; 4], &[0, 2, 0]];
    let found = problem(&part.concat(), &VideoOptions::default());
    assert_eq!(found, large("4294836225 pixels in a part of a frame", 16 << 20));
    // Many small parts on a large canvas: cheap to write, dear to show.
    let frame = [&[0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0][..], &[2, 2, 0x44, 1, 0]].concat();
    let many = [b"GIF89a", &[0, 16, 0, 16, 0x80, 0, 0][..], &[0; 6]].concat();
    let many = [many, frame.repeat(9000)].concat();
    let options = VideoOptions { fps: 1e6, max_frames: 2, ..VideoOptions::default() };
    let found = problem(&many, &options);
    assert_eq!(found, large("150994944000 pixels in the frames to decode", 128 << 30));
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let with = |fps, max_frames| {
        let options = VideoOptions { fps, max_frames, ..VideoOptions::default() };
        Video::open(path("high.mp4"), &options).unwrap_err().problem.to_string()
    };
    assert_eq!(with(0.0, 1), "fps is 0: a number above 0 is accepted");
    assert_eq!(with(f64::NAN, 1), "fps is NaN: a number above 0 is accepted");
    assert_eq!(with(f64::INFINITY, 1), "fps is inf: a number above 0 is accepted");
    assert_eq!(with(1.0, 0), "max_frames is 0: 1 or more is accepted");
}

#[test]
fn what_is_no_video_says_so() {
    let options = VideoOptions::default();
    let unknown = |start| {
        format!(
            "unknown video format (content starts with \"{start}\"): accepted are {}animated GIF \
             and WebP, and folders of images",
            if cfg!(feature = "h264") { "MP4 and QuickTime with H.264, " } else { "" }
        )
    };
    assert_eq!(problem(b"", &options), unknown(""));
    assert_eq!(problem(b"just some text", &options), unknown("just som"));
    assert!(problem(b"\x89PNG\r\n\x1a\n", &options).starts_with("a PNG file is a single image"));
    let missing = Video::open(path("none.mp4"), &options).unwrap_err().to_string();
    assert!(missing.contains("none.mp4: cannot be read: "), "{missing}");
    let device = Video::open("/dev/null", &options).unwrap_err().to_string();
    assert_eq!(device, "/dev/null: neither a file nor a folder");
}
