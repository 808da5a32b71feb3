//! The overlay sheet.

// Helpers here state their expectations by unwrapping, as tests do.
#![allow(clippy::unwrap_used)]

use mico_chart::overlay::{
    Caption, Clip, OverlayError, Pruned, draw, draw_png, draw_video, draw_video_png,
};
use mico_vision::decode::{DecodeOptions, decode};
use mico_vision::layout::VisualLayout;
use mico_vision::llava::{Llava, PadMode};
use mico_vision::llava_video::{FrameShape, LlavaVideo, RowEnd};
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::{RgbImage, Size};

const CAPTION: Caption<'static> =
    Caption { question: "What is it?", answer: "A square.", counts: "16 -> 3 -> 1" };
/// Where the first image begins on the sheet.
const MARGIN: usize = 24;

/// A picture with detail everywhere, the same on every run.
fn noise(width: u32, height: u32) -> RgbImage {
    let size = Size::new(width, height);
    let mut state = width.wrapping_mul(31).wrapping_add(height);
    let data = (0..size.area() * 3).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    RgbImage::new(size, data.collect()).unwrap()
}

fn layout(image: &RgbImage) -> VisualLayout {
    let config = PreprocessorConfig::clip(28);
    Llava::from_config(&config, 7, PadMode::Square).unwrap().layout(image.size())
}

#[test]
fn kept_refined_and_dropped_are_told_apart() {
    let orange = [200, 120, 40];
    let image = RgbImage::filled(Size::square(400), orange);
    let layout = layout(&image);
    let pruned = Pruned { image: &image, layout: &layout, stage1: Some(&[0, 1, 2]), kept: &[1] };
    let sheet = draw(&[pruned], &CAPTION).unwrap();
    // 400 pixels are drawn as 672, a token as 168.
    let center = |column: usize, row: usize| {
        sheet.pixel(MARGIN + column * 168 + 84, MARGIN + row * 168 + 84).unwrap()
    };
    assert_eq!(center(1, 0), orange);
    let [r, g, b] = center(3, 3);
    assert!(r == g && g == b && r < 80, "dropped regions are grey and dim");
    let stage1 = center(0, 0);
    assert_eq!(stage1, center(2, 0));
    assert!(stage1 != orange && stage1[0] > r, "Stage-1 survivors lie between");
    assert_ne!(sheet.pixel(MARGIN + 168, MARGIN + 84), Some(orange), "survivors have an outline");
}

#[test]
fn keeping_everything_shows_the_image_itself() {
    let image = noise(700, 500);
    let layout = layout(&image);
    let all: Vec<usize> = (0..16).collect();
    let pruned = Pruned { image: &image, layout: &layout, stage1: None, kept: &all };
    let sheet = draw(&[pruned], &Caption::default()).unwrap();
    for y in [0, 77, 499] {
        let row = &sheet.row(MARGIN + y)[MARGIN * 3..(MARGIN + 700) * 3];
        assert_eq!(row, image.row(y));
    }
}

#[test]
fn odd_images_and_long_texts_fit_one_sheet() {
    let images = [noise(1, 1), noise(3000, 1), noise(1, 4000), noise(50, 73)];
    let layouts: Vec<VisualLayout> = images.iter().map(layout).collect();
    let pruned: Vec<Pruned<'_>> = images
        .iter()
        .zip(&layouts)
        .map(|(image, layout)| Pruned { image, layout, stage1: Some(&[3, 5]), kept: &[5] })
        .collect();
    let answer = "never-ending".repeat(1000);
    let png = draw_png(&pruned, &Caption { answer: &answer, ..CAPTION }).unwrap();
    let sheet = decode(&png, &DecodeOptions::default()).unwrap();
    assert!(sheet.width() > 1344 && sheet.height() > 1344);
}

#[test]
fn wrong_calls_are_named() {
    let image = noise(40, 40);
    let layout = layout(&image);
    let good = Pruned { image: &image, layout: &layout, stage1: None, kept: &[] };
    assert!(matches!(draw(&[], &CAPTION), Err(OverlayError::Images { found: 0 })));
    assert!(matches!(draw(&[good; 65], &CAPTION), Err(OverlayError::Images { found: 65 })));
    let error = draw(&[good, Pruned { kept: &[16], ..good }], &CAPTION).unwrap_err();
    assert_eq!(error.to_string(), "token index 16 of image 1 is beyond its 16 visual tokens");
    let other = noise(41, 40);
    let error = draw(&[Pruned { image: &other, ..good }], &CAPTION).unwrap_err();
    assert_eq!(error.to_string(), "image 0 has size 41x40, but its layout was made for 40x40");
}

/// A layout of 2 x 2 tokens per frame.
fn video_layout(frames: &[RgbImage], end: RowEnd) -> VisualLayout {
    let shape = FrameShape { side: 28, patch: 7, pool: 2 };
    let processor = LlavaVideo::from_config(&PreprocessorConfig::siglip(28), shape).unwrap();
    let sizes: Vec<Size> = frames.iter().map(RgbImage::size).collect();
    processor.layout(&sizes, end).unwrap()
}

#[test]
fn each_frame_of_a_video_is_shaded_by_its_own_tokens() {
    let orange = [200, 120, 40];
    let frames = vec![RgbImage::filled(Size::new(64, 48), orange); 4];
    // Newlines count as tokens: frame 1 has tokens 6 to 11, of which 8 and 11 are newlines.
    let layout = video_layout(&frames, RowEnd::Newline);
    let clip =
        Clip { frames: &frames, layout: &layout, stage1: Some(&[6, 7]), kept: &[7], labels: &[] };
    let sheet = draw_video(&clip, &CAPTION).unwrap();
    let bright = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>| {
        let at = rows.flat_map(|y| columns.clone().map(move |x| (x, y)));
        at.filter(|&(x, y)| sheet.pixel(x, y) == Some(orange)).count()
    };
    // Two columns of frames of 672 x 504, a gap of 14 and a line of 27: token 7 is the upper right
    // quarter of the second frame.
    let (left, top) = (MARGIN + 672 + 14 + 336, MARGIN);
    let inside = bright(top..top + 252, left..left + 336);
    assert!(inside > 330 * 246, "{inside} bright pixels");
    assert_eq!(inside, bright(0..sheet.height(), 0..MARGIN + 2 * 672 + 14), "nothing else is");
    let [second, dropped] = [left - 100, left - 100 - 672].map(|x| sheet.pixel(x, 100).unwrap());
    assert!(second[0] != second[2] && second != dropped, "dropped in Stage 2 is tinted");
    assert!(dropped[0] == dropped[1] && dropped[0] < 80, "dropped in Stage 1 is grey and dim");
}

#[test]
fn a_video_of_which_all_is_kept_is_shown_unaltered() {
    let frames = [noise(672, 504)];
    let layout = video_layout(&frames, RowEnd::None);
    let all: Vec<usize> = (0..4).collect();
    let labels = ["0:00".to_owned()];
    let clip = Clip { frames: &frames, layout: &layout, stage1: None, kept: &all, labels: &labels };
    let sheet = draw_video(&clip, &Caption::default()).unwrap();
    let large = mico_vision::resample::resize(
        &frames[0],
        Size::new(1344, 1008),
        mico_vision::resample::ResizeBackend::Pillow,
    );
    for y in [0, 500, 1007] {
        assert_eq!(&sheet.row(MARGIN + y)[MARGIN * 3..(MARGIN + 1344) * 3], large.row(y));
    }
}

#[test]
fn long_videos_and_odd_frames_fit_one_sheet() {
    let odd = [noise(1, 1), noise(3000, 1), noise(1, 4000), noise(50, 73)];
    for count in [1, 2, 3, 5, 16, 63, 64, 65, 300] {
        let frames: Vec<RgbImage> = odd.iter().cycle().take(count).cloned().collect();
        let layout = video_layout(&frames, RowEnd::None);
        let labels = vec!["a label that is too long for any frame\nat all".to_owned(); count];
        let clip =
            Clip { frames: &frames, layout: &layout, stage1: None, kept: &[0], labels: &labels };
        let png = draw_video_png(&clip, &CAPTION).unwrap();
        let sheet = decode(&png, &DecodeOptions::default()).unwrap();
        assert!(sheet.width() <= 2400, "{count} frames: {}", sheet.size());
    }
}

#[test]
fn a_cut_video_says_so() {
    let sheet = |count: usize| {
        let frames = vec![noise(16, 9); count];
        let layout = video_layout(&frames, RowEnd::None);
        let clip = Clip { frames: &frames, layout: &layout, stage1: None, kept: &[], labels: &[] };
        draw_video(&clip, &Caption::default()).unwrap()
    };
    let (whole, cut) = (sheet(64), sheet(65));
    assert_eq!(whole.size(), cut.size());
    // The panel begins with the note, where the uncut sheet has its legend.
    let panel = |sheet: &RgbImage| -> Vec<u8> {
        let left = sheet.width() - MARGIN - 480;
        (MARGIN..MARGIN + 40).flat_map(|y| sheet.row(y)[left * 3..].to_vec()).collect()
    };
    assert_ne!(panel(&whole), panel(&cut));
}

#[test]
fn wrong_clips_are_named() {
    let frames = vec![noise(20, 10); 3];
    let layout = video_layout(&frames, RowEnd::None);
    let good = Clip { frames: &frames, layout: &layout, stage1: None, kept: &[], labels: &[] };
    let fail = |clip: Clip<'_>| draw_video(&clip, &CAPTION).unwrap_err().to_string();
    let few = fail(Clip { frames: &frames[..2], ..good });
    assert_eq!(few, "2 frames, but their layout was made for 3");
    assert_eq!(fail(Clip { frames: &[], ..good }), "0 frames, but their layout was made for 3");
    let labels = ["one".to_owned()];
    let message = "1 labels for 3 frames: accepted is one for each, or none";
    assert_eq!(fail(Clip { labels: &labels, ..good }), message);
    let message = "token index 12 of image 0 is beyond its 12 visual tokens";
    assert_eq!(fail(Clip { kept: &[12], ..good }), message);
    let other = vec![noise(10, 20); 3];
    let message = "image 0 has size 10x20, but its layout was made for 20x10";
    assert_eq!(fail(Clip { frames: &other, ..good }), message);
}

/// The panel's pixels that differ from those of a sheet without words, as (column, row) in the panel.
fn words_of(caption: &Caption<'_>) -> Vec<(usize, usize)> {
    let image = RgbImage::filled(Size::square(700), [90; 3]);
    let layout = layout(&image);
    let all: Vec<usize> = (0..16).collect();
    let pruned = Pruned { image: &image, layout: &layout, stage1: None, kept: &all };
    let sheet = draw(&[pruned], caption).unwrap();
    let ground = sheet.pixel(0, 0).unwrap();
    let left = sheet.width() - MARGIN - 480;
    let all = (0..sheet.height()).flat_map(|y| (left..sheet.width()).map(move |x| (x, y)));
    let inked = all.filter(|(x, y)| sheet.pixel(*x, *y) != Some(ground));
    inked.map(|(x, y)| (x - left, y)).collect()
}

#[test]
fn words_are_drawn_inside_the_panel_and_wrap() {
    let none = words_of(&Caption::default());
    let short = words_of(&Caption { question: "What is it?", ..Caption::default() });
    assert!(short.len() > none.len() + 300, "{} and {} pixels", none.len(), short.len());
    let question = "Which of the things that stand on the shelf behind the counter is the oldest? ";
    let long = words_of(&Caption { question: &question.repeat(3), ..Caption::default() });
    assert!(long.iter().all(|(x, _)| *x <= 480), "nothing runs out of the panel");
    let bottom = |inked: &[(usize, usize)]| inked.iter().map(|(_, y)| *y).max().unwrap();
    assert!(bottom(&long) > bottom(&short) + 60, "long questions take more lines");
}

#[test]
fn letters_beyond_ascii_are_drawn_and_unknown_ones_are_replaced() {
    let inked = |question: &str| words_of(&Caption { question, ..Caption::default() });
    let plain = inked("e");
    assert_ne!(inked("\u{e9}"), plain);
    assert_ne!(inked("\u{436}"), inked("\u{4f60}"));
    assert_eq!(inked("\u{4f60}"), inked("\u{fffd}"));
    for odd in ["\u{0}\u{7}", "\u{202e}\u{5e9}", "\u{1f600}", "\u{301}", "\n\n\n", "\u{ffff}"] {
        inked(odd);
    }
}
