//! Videos: containers and animations; the H.264 pictures themselves are left out, as their decoder is not ours.

use mico_video::{Limits, Video, VideoOptions};

use super::Target;
use crate::folder::with_folder;
use crate::seen::Seen;

pub(super) const TARGET: Target = Target {
    name: "video",
    about: "MP4 containers up to the H.264 track, GIF and WebP animations",
    run,
    tokens: &[
        "ftyp",
        "moov",
        "mvhd",
        "trak",
        "tkhd",
        "edts",
        "elst",
        "mdia",
        "mdhd",
        "hdlr",
        "vide",
        "minf",
        "stbl",
        "stsd",
        "avc1",
        "avcC",
        "hvc1",
        "stts",
        "stss",
        "ctts",
        "stsc",
        "stsz",
        "stz2",
        "stco",
        "co64",
        "mdat",
        "moof",
        "mvex",
        "free",
        "wide",
        "isom",
        "qt  ",
        "RIFF",
        "WEBP",
        "VP8 ",
        "VP8L",
        "VP8X",
        "ANIM",
        "ANMF",
        "ALPH",
        "GIF89a",
        "NETSCAPE2.0",
    ],
    short_run: 2500,
};

const MAX_FRAMES: usize = 5;
const LIMITS: Limits = Limits {
    file_bytes: 1 << 18,
    index_bytes: 1 << 16,
    source_frames: 500,
    frame_pixels: 1 << 16,
    frame_side: 1024,
    held_pixels: 1 << 18,
    decoded_frames: 200,
    decoded_pixels: 1 << 20,
};

fn run(data: &[u8], seen: &mut Seen) {
    let options = VideoOptions {
        fps: [1.0, 30.0, 0.01, 1e9][data.len() % 4],
        max_frames: MAX_FRAMES,
        // Its pictures would be decoded by a library in C++.
        h264: false,
        limits: LIMITS,
        ..VideoOptions::default()
    };
    let opened = with_folder(data, "clip", |folder| Video::open(folder.join("clip"), &options));
    let Some(video) = seen.result("video", opened) else { return };
    let count = video.frames.len();
    assert!((1..=MAX_FRAMES).contains(&count), "{count} frames");
    assert_eq!((video.indices.len(), video.times.len()), (count, count));
    assert!(video.indices.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", video.indices);
    assert!(video.indices.iter().all(|&index| index < video.source_frames));
    assert!(video.times.iter().all(|time| time.is_finite() && *time >= 0.0), "{:?}", video.times);
    assert!(video.fps.is_finite() && video.fps > 0.0, "{} frames in a second", video.fps);
    let area: u64 = video.frames.iter().map(|frame| frame.size().area()).sum();
    assert!(area <= LIMITS.held_pixels, "{area} pixels are held");
    seen.accepted(format_args!("{:?} of {count} frames", video.kind));
}
