//! Files that are not what they claim to be: one-line errors, never a panic, never a wrong picture.

use mico_vision::decode::{DecodeError, DecodeOptions, Limits, decode};
use mico_vision::encode_png;

use crate::fixture::{bytes, noise};

const WHOLE_FILES: [&str; 9] = [
    "rgb.png",
    "rgba16.png",
    "palette.png",
    "baseline.jpg",
    "progressive.jpg",
    "lossless.webp",
    "lossy.webp",
    "still.gif",
    "rgb.bmp",
];

fn fail(bytes: &[u8]) -> DecodeError {
    decode(bytes, &DecodeOptions::default()).unwrap_err()
}

#[test]
fn nothing_and_text_are_refused() {
    assert_eq!(fail(&[]).to_string(), "the image is empty (0 bytes)");
    let message =
        "this is a text, which is not read as an image (accepted are PNG, JPEG, WebP, GIF and BMP)";
    assert_eq!(fail(&bytes("text.png")).to_string(), message);
    let unknown = fail(b"\x01\x02\x03").to_string();
    assert!(
        unknown.starts_with("unknown image format, content starts with \"\\x01\\x02\\x03\""),
        "{unknown}"
    );
    // A real format, but none of the accepted ones.
    assert!(matches!(fail(b"II*\0\x08\0\0\0\0\0"), DecodeError::UnknownFormat { .. }));
}

#[test]
fn a_bomb_is_refused_by_its_header() {
    let bomb = bytes("bomb.png");
    assert!(bomb.len() < 1024);
    let message = "image too large: 400000000 pixels, at most 67108864 are accepted";
    assert_eq!(fail(&bomb).to_string(), message);
}

#[test]
fn each_limit_is_named_with_its_value() {
    let png = encode_png(&noise(40, 30)).unwrap();
    let with = |limits| {
        let options = DecodeOptions { limits, ..DecodeOptions::default() };
        decode(&png, &options).map(drop).map_err(|error| error.to_string())
    };
    let wide = Limits::default();
    assert_eq!(with(wide), Ok(()));
    let error =
        |found, limit| Err(format!("image too large: {found}, at most {limit} are accepted"));
    assert_eq!(with(Limits { side: 39, ..wide }), error("40 width", 39));
    assert_eq!(with(Limits { pixels: 1199, ..wide }), error("1200 pixels", 1199));
    let bytes = png.len();
    assert_eq!(
        with(Limits { encoded_bytes: 100, ..wide }),
        error(&format!("{bytes} encoded bytes"), 100)
    );
}

#[test]
fn a_cut_file_is_never_a_picture() {
    for name in WHOLE_FILES {
        let whole = bytes(name);
        assert!(decode(&whole, &DecodeOptions::default()).is_ok(), "{name}");
        let half = fail(&whole[..whole.len() / 2]);
        assert!(
            matches!(half, DecodeError::Truncated { .. } | DecodeError::Damaged { .. }),
            "{half}"
        );
        // Cut in the middle of the pixels, most decoders know why; they all must refuse.
        for length in (0..whole.len() * 9 / 10).step_by(7) {
            let error = decode(&whole[..length], &DecodeOptions::default());
            assert!(error.is_err(), "{name} cut to {length} of {} bytes", whole.len());
        }
    }
    let png = bytes("rgb.png");
    let cut = fail(&png[..png.len() / 2]).to_string();
    let message = format!(
        "truncated PNG image: the data ends before the picture does ({} bytes read)",
        png.len() / 2
    );
    assert_eq!(cut, message);
    let jpeg = bytes("baseline.jpg");
    assert!(matches!(
        fail(&jpeg[..jpeg.len() - 40]),
        DecodeError::Truncated { format: "JPEG", .. }
    ));
}

#[test]
fn errors_are_one_line() {
    for name in WHOLE_FILES {
        let mut broken = bytes(name);
        let middle = broken.len() / 2;
        broken[12..40].fill(0xff);
        broken[middle] ^= 0x55;
        let message = fail(&broken).to_string();
        assert!(!message.contains('\n') && message.len() < 200, "{name}: {message}");
    }
}
