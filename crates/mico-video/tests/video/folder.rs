//! Folders of images.

use mico_video::{Limits, Video, VideoKind, VideoOptions};
use mico_vision::{RgbImage, Size, encode_png};

use tempfile::TempDir;

fn picture(level: u8) -> Vec<u8> {
    encode_png(&RgbImage::filled(Size::new(4, 3), [level; 3])).unwrap()
}

fn folder(names: &[(&str, u8)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, level) in names {
        std::fs::write(folder.path().join(name), picture(*level)).unwrap();
    }
    folder
}

fn levels(video: &Video) -> Vec<u8> {
    video.frames.iter().map(|frame| frame.data()[0]).collect()
}

#[test]
fn images_come_in_the_order_people_number_them() {
    let names = [("frame10.png", 4), ("frame2.PNG", 2), ("frame1.jpg", 1), ("frame03.png", 3)];
    let folder = folder(&names);
    // None of these is a frame.
    std::fs::write(folder.path().join("notes.txt"), "frames of a test").unwrap();
    std::fs::write(folder.path().join(".frame0.png"), picture(9)).unwrap();
    std::fs::create_dir(folder.path().join("frame4.png")).unwrap();
    let video = Video::open(folder.path(), &VideoOptions::default()).unwrap();
    assert_eq!(levels(&video), [1, 2, 3, 4]);
    assert_eq!(video.kind, VideoKind::Folder);
    assert_eq!((video.indices, video.times), (vec![0, 1, 2, 3], vec![0.0, 1.0, 2.0, 3.0]));
    assert_eq!((video.source_frames, video.fps), (4, 1.0));
}

#[test]
fn many_images_are_spread() {
    let names: Vec<String> = (0..10).map(|i| format!("{i}.png")).collect();
    let named: Vec<(&str, u8)> = names.iter().map(String::as_str).zip(0..).collect();
    let folder = folder(&named);
    let mut seen = Vec::new();
    let options = VideoOptions { max_frames: 4, ..VideoOptions::default() };
    let video =
        Video::open_with_progress(folder.path(), &options, &mut |step| seen.push(step.done))
            .unwrap();
    assert_eq!(levels(&video), [0, 3, 6, 9]);
    assert_eq!(seen, [1, 2, 3, 4]);
    // Only images that are looked at are read.
    std::fs::write(folder.path().join("1.png"), "no image").unwrap();
    assert!(Video::open(folder.path(), &options).is_ok());
    std::fs::write(folder.path().join("3.png"), "no image").unwrap();
    let error = Video::open(folder.path(), &options).unwrap_err().to_string();
    assert!(error.contains("3.png: this is a text"), "{error}");
}

#[test]
fn limits_hold_for_folders() {
    let folder = folder(&[("a.png", 1), ("b.png", 2), ("c.png", 3)]);
    let with = |limits| {
        let options = VideoOptions { limits, ..VideoOptions::default() };
        Video::open(folder.path(), &options).unwrap_err().to_string()
    };
    let wide = Limits::default();
    assert!(
        with(Limits { source_frames: 2, ..wide })
            .ends_with("video too large: 3 entries in the folder, at most 2 are accepted")
    );
    assert!(
        with(Limits { held_pixels: 24, ..wide })
            .ends_with("video too large: 36 pixels in the frames to keep, at most 24 are accepted")
    );
    assert!(with(Limits { frame_side: 3, ..wide }).contains("a.png: image too large: 4 width"));
    assert!(with(Limits { file_bytes: 9, ..wide }).contains("a.png: video too large: "));
}

#[test]
fn a_very_wide_image_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let wide = RgbImage::filled(Size::new(40_000, 2), [0; 3]);
    std::fs::write(folder.path().join("wide.png"), encode_png(&wide).unwrap()).unwrap();
    let error = Video::open(folder.path(), &VideoOptions::default()).unwrap_err().to_string();
    assert!(error.ends_with("image too large: 40000 width, at most 16384 are accepted"), "{error}");
}

#[test]
fn a_folder_without_images_says_so() {
    let folder = folder(&[]);
    std::fs::write(folder.path().join("clip.mp4"), "").unwrap();
    let error = Video::open(folder.path(), &VideoOptions::default()).unwrap_err().to_string();
    let expected = "no image among the 1 entries of the folder: \
                    accepted are names ending in .png, .jpg, .jpeg, .webp, .gif, .bmp";
    assert!(error.ends_with(expected), "{error}");
}
