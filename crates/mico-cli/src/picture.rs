//! Pictures that verbs write: the ending of a file's name says how.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use mico_vision::{EncodeError, RgbImage, encode_jpeg, encode_png, encode_webp};

/// The quality of JPEG files, where text stays readable.
const JPEG_QUALITY: u8 = 90;

/// How a picture made of pixels is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RasterFormat {
    Png,
    Jpeg,
    WebP,
}

/// The endings of files of pixels.
const RASTERS: [(&str, RasterFormat); 4] = [
    ("png", RasterFormat::Png),
    ("jpg", RasterFormat::Jpeg),
    ("jpeg", RasterFormat::Jpeg),
    ("webp", RasterFormat::WebP),
];

impl RasterFormat {
    /// The content of a file of this format.
    pub(crate) fn encode(self, image: &RgbImage) -> Result<Vec<u8>, EncodeError> {
        match self {
            Self::Png => encode_png(image),
            Self::Jpeg => encode_jpeg(image, JPEG_QUALITY),
            Self::WebP => encode_webp(image),
        }
    }
}

/// How a chart is written.
#[cfg(feature = "eval")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChartFormat {
    Svg,
    Png,
}

/// The endings of charts.
#[cfg(feature = "eval")]
const CHARTS: [(&str, ChartFormat); 2] = [("svg", ChartFormat::Svg), ("png", ChartFormat::Png)];

/// A picture's file and how it is written.
#[derive(Debug, Clone)]
pub(crate) struct PictureFile<F> {
    pub(crate) path: PathBuf,
    pub(crate) format: F,
}

impl PictureFile<RasterFormat> {
    /// A picture made of pixels; an error says which endings are accepted.
    pub(crate) fn raster(path: PathBuf) -> Result<Self, String> {
        picture(path, &RASTERS)
    }
}

/// Reads the name of a picture made of pixels.
pub(crate) fn raster() -> impl TypedValueParser<Value = PictureFile<RasterFormat>> {
    PathBufValueParser::new().try_map(PictureFile::raster)
}

/// Reads the name of a chart.
#[cfg(feature = "eval")]
pub(crate) fn chart() -> impl TypedValueParser<Value = PictureFile<ChartFormat>> {
    PathBufValueParser::new().try_map(|path| picture(path, &CHARTS))
}

/// A picture whose name has one of these endings, in capitals or not.
fn picture<F: Copy>(path: PathBuf, formats: &[(&str, F)]) -> Result<PictureFile<F>, String> {
    let ending = path.extension().map(OsStr::to_ascii_lowercase);
    let found = formats.iter().find(|(name, _)| ending.as_deref() == Some(OsStr::new(name)));
    let Some(&(_, format)) = found else {
        let accepted: Vec<&str> = formats.iter().map(|(name, _)| *name).collect();
        return Err(format!("accepted: names that end in .{}", accepted.join(", .")));
    };
    Ok(PictureFile { path, format })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_decides() {
        let format = |name: &str| picture(name.into(), &RASTERS).map(|picture| picture.format);
        assert_eq!(format("a.png"), Ok(RasterFormat::Png));
        assert_eq!(format("a.b.JPG"), Ok(RasterFormat::Jpeg));
        assert_eq!(format("a.jpeg"), Ok(RasterFormat::Jpeg));
        assert_eq!(format("a.webp"), Ok(RasterFormat::WebP));
        for other in ["a", "a.svg", "png", ".png", "a.png.txt", "a.gif"] {
            assert!(format(other).unwrap_err().contains(".png, .jpg, .jpeg, .webp"), "{other}");
        }
    }

    #[test]
    fn content_is_what_the_ending_says() {
        let image = RgbImage::filled(mico_vision::Size::new(3, 2), [10, 200, 30]);
        let start = |format: RasterFormat| format.encode(&image).unwrap()[..4].to_vec();
        assert_eq!(start(RasterFormat::Png), b"\x89PNG");
        assert_eq!(start(RasterFormat::Jpeg)[..3], [0xff, 0xd8, 0xff]);
        assert_eq!(start(RasterFormat::WebP), b"RIFF");
    }
}
