//! Files that were damaged on the way or on purpose: an error or frames, never a panic, never more
//! memory than allowed.

use mico_video::{Limits, VideoOptions};

use crate::fixture::{bytes, open_bytes, problem};

/// MP4 files are whole videos only where the build can decode them.
fn files() -> impl Iterator<Item = &'static str> {
    FILES.into_iter().filter(|name| cfg!(feature = "h264") || !name.ends_with("mp4"))
}

const FILES: [&str; 10] = [
    "high.mp4",
    "baseline.mp4",
    "cropped.mp4",
    "open.mp4",
    "trimmed.mp4",
    "variable.mp4",
    "disposal.gif",
    "moving.webp",
    "blended.webp",
    "blended-lossy.webp",
];

/// Limits close to what the clips need, so that anything out of proportion is refused.
fn tight() -> VideoOptions {
    let limits = Limits {
        source_frames: 1000,
        frame_pixels: 1 << 16,
        frame_side: 1024,
        held_pixels: 1 << 20,
        decoded_frames: 1000,
        decoded_pixels: 1 << 24,
        ..Limits::default()
    };
    VideoOptions { fps: 4.0, max_frames: 16, limits, ..VideoOptions::default() }
}

/// Errors are one short line; frames keep to the limits.
fn check(bytes: &[u8], what: &str) -> bool {
    match open_bytes(bytes, &tight()) {
        Ok(video) => {
            let pixels: u64 = video.frames.iter().map(|frame| frame.size().area()).sum();
            assert!(pixels <= 1 << 20 && video.frames.len() <= 16, "{what}");
            assert_eq!(video.frames.len(), video.indices.len(), "{what}");
            assert!(video.times.iter().all(|time| time.is_finite()), "{what}");
            true
        }
        Err(error) => {
            let message = error.problem.to_string();
            assert!(message.len() < 300 && !message.contains(char::is_control), "{message}");
            false
        }
    }
}

#[test]
fn a_cut_file_is_refused() {
    for name in files() {
        let whole = bytes(name);
        assert!(check(&whole, name));
        for part in 0..50 {
            let cut = &whole[..whole.len() * part / 50];
            let is_video = check(cut, &format!("{name} cut to {part}/50"));
            // An animation may end between two frames; the index of an MP4 names every sample.
            assert!(!is_video || !name.ends_with("mp4"), "{name} cut to {part}/50");
        }
    }
}

/// The same numbers on every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

#[test]
fn flipped_bytes_never_do_harm() {
    const VARIANTS: usize = 250;
    let mut dice = Dice(7);
    for name in files() {
        let whole = bytes(name);
        let mut videos = 0;
        for variant in 0..VARIANTS {
            let mut broken = whole.clone();
            for _ in 0..=dice.roll(4) {
                let at = dice.roll(broken.len());
                broken[at] = match dice.roll(4) {
                    0 => 0,
                    1 => 0xff,
                    2 => broken[at] ^ 1 << dice.roll(8),
                    _ => dice.roll(256) as u8,
                };
            }
            videos += usize::from(check(&broken, &format!("{name}, variant {variant}")));
        }
        assert!(videos < VARIANTS, "{name}: no variant was noticed");
    }
    assert!(peak_megabytes().is_none_or(|peak| peak < 400), "{:?} MB", peak_megabytes());
}

#[test]
fn a_broken_index_never_does_harm() {
    // Most bytes of a clip are pictures; here every byte of the index gets its turn.
    let whole = bytes("high.mp4");
    let start = whole.windows(4).position(|four| four == b"moov").unwrap();
    let end = whole.windows(4).position(|four| four == b"mdat").unwrap();
    for at in start..end {
        let mut broken = whole.clone();
        broken[at] = [0, 0x7f, 0xff, broken[at] ^ 1][at % 4];
        check(&broken, &format!("byte {at} set to {}", broken[at]));
    }
}

/// Peak memory of this process, where the system tells.
fn peak_megabytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024)
}

/// The bytes of a box's content after its name.
fn set_after(whole: &[u8], name: &[u8; 4], skip: usize, value: [u8; 4]) -> Vec<u8> {
    let at = whole.windows(4).position(|four| four == name).unwrap() + 4 + skip;
    let mut changed = whole.to_vec();
    changed[at..at + 4].copy_from_slice(&value);
    changed
}

#[test]
fn false_claims_are_named() {
    let whole = bytes("high.mp4");
    let claim = |name, skip, value| {
        let options = VideoOptions::default();
        problem(&set_after(&whole, name, skip, u32::to_be_bytes(value)), &options)
    };
    // Every sample of one size, 2^32 - 1 of them.
    let many = set_after(&whole, b"stsz", 4, 1u32.to_be_bytes());
    let many = problem(&set_after(&many, b"stsz", 8, [0xff; 4]), &VideoOptions::default());
    assert_eq!(many, "video too large: 4294967295 frames, at most 1000000 are accepted");
    let entries = "damaged MP4 file: the stsz box says 4294967295 entries and holds 38";
    assert_eq!(claim(b"stsz", 8, u32::MAX), entries);
    assert!(claim(b"stco", 8, u32::MAX).contains("lies beyond the file's"));
    assert!(claim(b"stsz", 12, u32::MAX).contains("38 samples of 42949"));
    let still = "damaged MP4 file: the mdhd box has a clock that stands still";
    assert_eq!(claim(b"mdhd", 12, 0), still);
    assert!(claim(b"elst", 4, 5).contains("the elst box ends too early"));
}
