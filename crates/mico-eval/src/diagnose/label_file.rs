//! Label maps as PNG files.

use std::io::Cursor;

use image::{ColorType, DynamicImage, ExtendedColorType, ImageDecoder, codecs::png::PngDecoder};
use mico_vision::Size;
use mico_vision::decode::Limits;

use super::source::LabelMap;

/// Reads a grey PNG of 8 or 16 bits whose values are labels.
pub(super) fn read(bytes: &[u8], void: Option<u16>, classes: usize) -> Result<LabelMap, String> {
    let limits = Limits::default();
    limits.check_encoded(bytes.len() as u64).map_err(|error| error.to_string())?;
    let refused = |error: image::ImageError| {
        format!("no PNG that can be read ({})", error.to_string().replace(['\n', '\r'], " "))
    };
    let decoder = PngDecoder::new(Cursor::new(bytes)).map_err(refused)?;
    let (width, height) = decoder.dimensions();
    let size = Size::new(width, height);
    if size.area() > limits.pixels {
        return Err(format!("{size} pixels, accepted: at most {} in all", limits.pixels));
    }
    // A palette, or grey of fewer bits, would reach us as other numbers than the file has.
    let gray = (decoder.color_type(), decoder.original_color_type());
    let accepted =
        [(ColorType::L8, ExtendedColorType::L8), (ColorType::L16, ExtendedColorType::L16)];
    if !accepted.contains(&gray) {
        return Err(format!("pixels of type {:?}, accepted: grey of 8 or 16 bits", gray.1));
    }
    let values = match DynamicImage::from_decoder(decoder).map_err(refused)? {
        DynamicImage::ImageLuma8(map) => map.into_raw().into_iter().map(u16::from).collect(),
        DynamicImage::ImageLuma16(map) => map.into_raw(),
        _ => return Err("accepted: grey of 8 or 16 bits".into()),
    };
    LabelMap::new(size, values, void, classes)
}

#[cfg(test)]
mod tests {
    use image::{GrayImage, ImageBuffer, ImageFormat, Luma, RgbImage};

    use super::*;

    fn png(image: impl Into<DynamicImage>) -> Vec<u8> {
        let mut file = Cursor::new(Vec::new());
        image.into().write_to(&mut file, ImageFormat::Png).unwrap();
        file.into_inner()
    }

    #[test]
    fn gray_of_both_depths_keeps_its_values() {
        let small = png(GrayImage::from_raw(2, 1, vec![3, 255]).unwrap());
        let map = read(&small, Some(255), 4).unwrap();
        assert_eq!((map.at(0, 0), map.at(1, 0)), (Some(3), None));
        let deep = ImageBuffer::<Luma<u16>, _>::from_raw(2, 1, vec![300_u16, 65_535]).unwrap();
        let map = read(&png(deep), Some(65_535), 301).unwrap();
        assert_eq!((map.at(0, 0), map.at(1, 0)), (Some(300), None));
    }

    #[test]
    fn what_is_no_label_map_is_told() {
        let color = png(RgbImage::new(2, 1));
        assert!(read(&color, None, 4).unwrap_err().contains("grey of 8 or 16 bits"));
        let gray = png(GrayImage::from_raw(2, 1, vec![3, 9]).unwrap());
        assert!(read(&gray, None, 4).unwrap_err().contains("label 9"));
        let pixels = gray.windows(4).position(|name| name == b"IDAT").unwrap() + 4;
        for end in 0..gray.len() {
            match read(&gray[..end], None, 300) {
                Err(_) => {}
                // Only what follows the pixels may be missing.
                Ok(map) => {
                    assert!(end > pixels, "cut at {end}");
                    assert_eq!((map.at(0, 0), map.at(1, 0)), (Some(3), Some(9)), "cut at {end}");
                }
            }
        }
        assert!(read(b"GIF89a", None, 4).unwrap_err().contains("no PNG"));
    }

    #[test]
    fn palettes_are_refused() {
        // An indexed PNG of one pixel, written by hand.
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut chunk = |name: &[u8; 4], data: &[u8]| {
            file.extend((data.len() as u32).to_be_bytes());
            let body = [name.as_slice(), data].concat();
            file.extend(&body);
            file.extend(crc(&body).to_be_bytes());
        };
        chunk(b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 3, 0, 0, 0]);
        chunk(b"PLTE", &[10, 20, 30]);
        chunk(b"IDAT", &[0x78, 1, 1, 2, 0, 0xfd, 0xff, 0, 0, 0, 2, 0, 1]);
        chunk(b"IEND", &[]);
        let message = read(&file, None, 4).unwrap_err();
        assert!(message.contains("grey of 8 or 16 bits"), "{message}");
    }

    fn crc(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
        })
    }
}
