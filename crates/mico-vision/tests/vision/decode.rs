//! Decoding against Pillow and transformers' RGB conversion.

use mico_vision::decode::{AlphaMode, DecodeOptions, decode};
use mico_vision::{RgbImage, Size, encode_png};

use crate::fixture::{bytes, cases, check_image, image, noise, text};

#[test]
fn every_format_gives_pillows_pixels() {
    for case in cases("decode") {
        let alpha = match text(&case, "alpha") {
            "flatten" => AlphaMode::default(),
            "drop" => AlphaMode::Drop,
            other => panic!("alpha {other}"),
        };
        let options = DecodeOptions { alpha, ..DecodeOptions::default() };
        let found = decode(&bytes(text(&case, "file")), &options).unwrap();
        if let Some(reference) = case["reference"].as_str() {
            // Lossy formats: another inverse transform, so equal within a stated tolerance.
            let expected = image(reference);
            assert_eq!(found.size(), expected.size(), "{case}");
            let worst = found.data().iter().zip(expected.data()).map(|(a, b)| a.abs_diff(*b)).max();
            let tolerance = case["tolerance"].as_u64().unwrap();
            assert!(u64::from(worst.unwrap()) <= tolerance, "{worst:?} levels off: {case}");
        } else {
            check_image(&case, &found);
        }
    }
}

#[test]
fn alpha_is_flattened_on_the_stated_color() {
    let file = bytes("palette_transparent.png");
    let on = |alpha| decode(&file, &DecodeOptions { alpha, ..DecodeOptions::default() }).unwrap();
    let (green, white) = (on(AlphaMode::Flatten([0, 255, 0])), on(AlphaMode::default()));
    let changed = green.data().chunks(3).zip(white.data().chunks(3)).filter(|(a, b)| a != b);
    let mut count = 0;
    for (green, white) in changed {
        assert_eq!((green, white), (&[0, 255, 0][..], &[255; 3][..]));
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn what_we_encode_we_decode() {
    for picture in [noise(1, 1), noise(31, 7), RgbImage::filled(Size::new(300, 2), [7, 8, 9])] {
        let png = encode_png(&picture).unwrap();
        assert!(decode(&png, &DecodeOptions::default()).unwrap() == picture);
    }
}
