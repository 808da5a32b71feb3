//! The overlay sheet.

use mico_vision::decode::{DecodeOptions, decode};
use mico_vision::layout::VisualLayout;
use mico_vision::llava::{Llava, PadMode};
use mico_vision::overlay::{Caption, OverlayError, Pruned, draw, draw_png};
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::{RgbImage, Size};

use crate::fixture::noise;

const CAPTION: Caption<'static> =
    Caption { question: "What is it?", answer: "A square.", counts: "16 -> 3 -> 1" };
/// Where the first image begins on the sheet.
const MARGIN: usize = 24;

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
    let centre = |column: usize, row: usize| {
        sheet.pixel(MARGIN + column * 168 + 84, MARGIN + row * 168 + 84).unwrap()
    };
    assert_eq!(centre(1, 0), orange);
    let [r, g, b] = centre(3, 3);
    assert!(r == g && g == b && r < 80, "dropped regions are grey and dim");
    let stage1 = centre(0, 0);
    assert_eq!(stage1, centre(2, 0));
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
