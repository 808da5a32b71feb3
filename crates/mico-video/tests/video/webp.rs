//! WebP files that contradict themselves, and the words for it.

use mico_video::{Limits, Video, VideoOptions};

use crate::fixture::{bytes, every_frame, open_bytes, path, problem};

/// Where the content of each `ANMF` chunk of the file starts.
fn frames(file: &[u8]) -> Vec<usize> {
    let riff = 8 + u32::from_le_bytes(file[4..8].try_into().unwrap()) as usize;
    let mut starts = Vec::new();
    let mut at = 12;
    while at + 8 <= riff {
        let size = u32::from_le_bytes(file[at + 4..at + 8].try_into().unwrap()) as usize;
        if &file[at..at + 4] == b"ANMF" {
            starts.push(at + 8);
        }
        at += 8 + size + size % 2;
    }
    starts
}

/// What is said of `blended.webp` with these bytes in place of others, `skip` into frame `index`.
fn with(index: usize, skip: usize, value: &[u8]) -> String {
    let mut file = bytes("blended.webp");
    let at = frames(&file)[index] + skip;
    file[at..at + value.len()].copy_from_slice(value);
    problem(&file, &every_frame())
}

/// The error of frame 1, shown after 40 ms.
fn picture(reason: &str) -> String {
    format!("the picture at 0.040 s cannot be decoded: {reason}")
}

#[test]
fn a_frame_must_lie_on_the_canvas() {
    let outside = "a part of 21x17 pixels at (28, 2) does not lie on the canvas of 48x32";
    assert_eq!(with(1, 0, &[14, 0, 0]), picture(outside));
    let outside = "a part of 21x17 pixels at (2, 33554430) does not lie on the canvas of 48x32";
    assert_eq!(with(1, 3, &[0xff; 3]), picture(outside));
    let large = "a part of 16777216x16777216 pixels at (2, 2) does not lie on the canvas of 48x32";
    assert_eq!(with(1, 6, &[0xff; 6]), picture(large));
}

#[test]
fn a_picture_must_have_the_size_of_its_frame() {
    assert_eq!(with(1, 6, &[9]), picture("a picture of 21x17 in a frame of 10x17"));
    // 16384x16384 in the picture's own header: refused before room is made for it.
    let huge = "a picture of 16384x16384 in a frame of 21x17";
    assert_eq!(with(1, 25, &[0xff; 4]), picture(huge));
    let mut lossy = bytes("blended-lossy.webp");
    let at = frames(&lossy)[1] + 16;
    assert_eq!(&lossy[at..at + 4], b"VP8 ");
    lossy[at + 14..at + 18].copy_from_slice(&[0xff; 4]);
    let huge = "a picture of 16383x16383 in a frame of 21x17";
    assert_eq!(problem(&lossy, &every_frame()), picture(huge));
}

#[test]
fn the_chunks_of_a_frame_must_fit() {
    assert_eq!(with(1, 20, &[0xff; 4]), picture("the data ends before the picture does"));
    assert_eq!(with(1, 16, b"JUNK"), picture("a JUNK chunk where a picture is expected"));
    let twice = "a VP8L chunk where a picture is expected";
    let mut lossy = bytes("blended-lossy.webp");
    let at = frames(&lossy)[0] + 16;
    assert_eq!(&lossy[at..at + 4], b"ALPH");
    let alpha = u32::from_le_bytes(lossy[at + 4..at + 8].try_into().unwrap()) as usize;
    let next = at + 8 + alpha + alpha % 2;
    assert_eq!(&lossy[next..next + 4], b"VP8 ");
    lossy[next..next + 4].copy_from_slice(b"VP8L");
    assert!(problem(&lossy, &every_frame()).ends_with(twice));
    // A frame without room for its header, and one without room for a picture.
    let short = "damaged WebP file: the ANMF chunk has 15 bytes, 16 are needed";
    let mut file = bytes("plain.webp");
    let last = *frames(&file).last().unwrap();
    file[last - 4..last].copy_from_slice(&15u32.to_le_bytes());
    assert_eq!(problem(&file, &every_frame()), short);
    file[last - 4..last].copy_from_slice(&16u32.to_le_bytes());
    file.truncate(last + 16);
    let none = "the picture at 1.500 s cannot be decoded: the frame ends before its picture";
    assert_eq!(problem(&file, &every_frame()), none);
}

#[test]
fn a_picture_larger_than_its_pixels_allow_is_not_read() {
    // One pixel whose picture claims, and has, more than a megabyte.
    let coded = [&[0x2f, 0, 0, 0, 0][..], &vec![0; (1 << 20) + 4]].concat();
    let still = [b"VP8L", &(coded.len() as u32).to_le_bytes()[..], &coded, &[0]].concat();
    let part = [&[0; 16][..], &still].concat();
    let file = [
        b"RIFF\xff\xff\xff\xffWEBPVP8X\x0a\0\0\0\x02\0\0\0\0\0\0\0\0\0ANIM\x06\0\0\0\0\0\0\0\0\0ANMF",
        &(part.len() as u32).to_le_bytes()[..],
        &part,
    ]
    .concat();
    let found = problem(&file, &every_frame());
    let most = (1 << 20) + 8;
    let bytes = coded.len() + 8;
    let reason = format!("{bytes} coded bytes for 1x1 pixels, at most {most} are accepted");
    assert_eq!(found, format!("the picture at 0.000 s cannot be decoded: {reason}"));
}

#[test]
fn frames_are_announced() {
    let mut file = bytes("plain.webp");
    let at = file.windows(4).position(|four| four == b"ANIM").unwrap();
    file[at..at + 4].copy_from_slice(b"NONE");
    let missing = "damaged WebP file: there is no ANIM chunk before a frame";
    assert_eq!(problem(&file, &every_frame()), missing);
}

#[test]
fn damage_behind_the_last_frame_wanted_does_not_matter() {
    let mut file = bytes("blended.webp");
    let last = *frames(&file).last().unwrap();
    file[last + 16..last + 20].copy_from_slice(b"JUNK");
    let options = VideoOptions { max_frames: 1, ..VideoOptions::default() };
    let video = open_bytes(&file, &options).unwrap();
    assert_eq!((video.frames.len(), video.source_frames), (1, 17));
    assert!(open_bytes(&file, &every_frame()).is_err());
}

#[test]
fn every_header_byte_may_be_wrong() {
    let limits = Limits { frame_pixels: 1 << 14, ..Limits::default() };
    let options = VideoOptions { limits, ..every_frame() };
    for name in ["blended.webp", "blended-lossy.webp"] {
        assert!(Video::open(path(name), &options).is_ok());
        let whole = bytes(name);
        let heads = frames(&whole).into_iter().take(6).flat_map(|start| start - 8..start + 34);
        for at in (0..60).chain(heads) {
            for value in [0, 0xff, whole[at] ^ 1, whole[at] ^ 0x10] {
                let mut broken = whole.clone();
                broken[at] = value;
                if let Err(error) = open_bytes(&broken, &options) {
                    let message = error.problem.to_string();
                    assert!(
                        message.len() < 300 && !message.contains(char::is_control),
                        "{message}"
                    );
                }
            }
        }
    }
}
