//! Parses sequence parameter sets (SPS): picture size, format and colours.
//!
//! The decoder never sees a file's own set. It gets one written from the checked values, which
//! differs in two ways:
//!
//! - It has no cropping. The decoder trusts these numbers too much (they can be negative), so
//!   pictures are cropped here.
//! - The profile is Scalable Baseline, which has the same syntax as High. The decoder looks at the
//!   profile for one decision that matters: pictures of the Baseline profiles are returned at
//!   once, others are held back for reordering, and it is then not known which is which.

use mico_vision::Size;

use super::bits::{BitWriter, Bits};
use super::color::Color;
use super::units::SEQUENCE_SET;
use crate::budget::at_most;
use crate::error::Problem;

/// The width and height of a macroblock in pixels.
const MACROBLOCK: u32 = 16;
/// The most macroblocks per picture that the decoder accepts: level 5.2.
const MAX_BLOCKS: u64 = 36_864;
/// The most macroblocks along one side that the decoder accepts.
const MAX_SIDE_BLOCKS: u64 = 543;
/// The most reference pictures that the standard allows.
const MAX_REFERENCES: u32 = 16;
/// The profiles whose sets include chroma format and bit depth.
const HIGH_PROFILES: [u32; 13] = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135];
/// The aspect ratio code that is followed by an explicit ratio.
const EXTENDED_RATIO: u32 = 255;
/// The profile and level written for the decoder; see the module documentation.
const SCALABLE_BASELINE: u64 = 83;
const LEVEL_5_2: u64 = 52;
/// The header byte of the NAL unit written for the decoder.
const HEADER: u8 = 0x60 | SEQUENCE_SET;

/// The values of a sequence parameter set that matter here.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sps {
    pub(super) id: u32,
    pub(super) geometry: Geometry,
    pub(super) color: Color,
    /// The rewritten NAL unit for the decoder.
    pub(super) unit: Vec<u8>,
}

/// The size of a coded picture and the part of it that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Geometry {
    /// The size of the coded picture, a multiple of 16 pixels.
    pub(super) coded: Size,
    /// The number of pixels cropped on the left and at the top.
    pub(super) left: u32,
    pub(super) top: u32,
    /// The size of the visible part.
    pub(super) shown: Size,
}

impl Sps {
    /// Parses a whole NAL unit, including its header byte.
    pub(super) fn read(unit: &[u8]) -> Result<Self, Problem> {
        let mut bits = Bits::new(unit.get(1..).unwrap_or_default());
        Self::parse(&mut bits).unwrap_or_else(|| Err(damaged("it ends too early")))
    }

    /// Parses the payload; `None` if the data ends early.
    fn parse(bits: &mut Bits) -> Option<Result<Self, Problem>> {
        let profile = bits.number(8)?;
        let _constraints_and_level = bits.number(16)?;
        let id = bits.unsigned()?;
        let writer = BitWriter::default().number(SCALABLE_BASELINE, 8).number(LEVEL_5_2, 16);
        let mut writer = writer.unsigned(id);
        let start = bits.position();
        if HIGH_PROFILES.contains(&profile) {
            if let Err(problem) = format(bits)? {
                return Some(Err(problem));
            }
        } else {
            // 4:2:0, 8 bits, no bypass and no scaling matrices, which the other profiles imply.
            writer = writer.unsigned(1).unsigned(0).unsigned(0).number(0, 2);
        }
        counters(bits)?;
        let blocks = match size(bits)? {
            Ok(blocks) => blocks,
            Err(problem) => return Some(Err(problem)),
        };
        let writer = writer.copy(bits, start..bits.position());
        let crop = cropping(bits)?;
        let Some(geometry) = Geometry::new(blocks, crop) else {
            return Some(Err(damaged("cropping leaves nothing")));
        };
        let color = color(bits)?;
        // Without cropping and without display information (VUI).
        let unit = writer.flag(false).flag(false).into_unit(HEADER);
        Some(Ok(Self { id, geometry, color, unit }))
    }
}

fn damaged(reason: &str) -> Problem {
    Problem::Damaged { format: "H.264", reason: format!("sequence parameter set: {reason}") }
}

fn unsupported(what: String, accepted: &'static str) -> Problem {
    Problem::Unsupported { what, accepted }
}

/// Checks chroma format and bit depth; `None` if the data ends early.
fn format(bits: &mut Bits) -> Option<Result<(), Problem>> {
    let chroma = bits.unsigned()?;
    if chroma != 1 {
        let name = ["monochrome", "4:2:0", "4:2:2", "4:4:4"].get(chroma as usize);
        let name = name.copied().unwrap_or("unknown");
        let what = format!("H.264 with {name} colour is");
        return Some(Err(unsupported(what, "4:2:0 is")));
    }
    let depths = [bits.unsigned()?, bits.unsigned()?];
    if depths != [0, 0] {
        let depth = u64::from(depths[0].max(depths[1])) + 8;
        return Some(Err(unsupported(format!("H.264 with {depth} bits is"), "8 bits are")));
    }
    let bypass = bits.flag()?;
    if bypass {
        return Some(Err(unsupported("lossless H.264 is".into(), "lossy is")));
    }
    if bits.flag()? {
        for list in 0..8 {
            if bits.flag()? {
                skip_scaling_list(bits, if list < 6 { 16 } else { 64 })?;
            }
        }
    }
    Some(Ok(()))
}

fn skip_scaling_list(bits: &mut Bits, count: usize) -> Option<()> {
    let (mut last, mut next) = (8, 8);
    for _ in 0..count {
        if next != 0 {
            next = (last + bits.signed()?).rem_euclid(256);
        }
        if next != 0 {
            last = next;
        }
    }
    Some(())
}

/// Skips the fields on frame numbers and picture order.
fn counters(bits: &mut Bits) -> Option<()> {
    let _frame_number_bits = bits.unsigned()?;
    match bits.unsigned()? {
        0 => {
            let _order_bits = bits.unsigned()?;
        }
        1 => {
            let _always_zero = bits.flag()?;
            let _offsets = [bits.signed()?, bits.signed()?];
            // Each iteration consumes a bit, so a false count ends with the data.
            for _ in 0..bits.unsigned()? {
                bits.signed()?;
            }
        }
        _ => {}
    }
    Some(())
}

/// The number of reference pictures and the size in macroblocks; `None` if the data ends early.
fn size(bits: &mut Bits) -> Option<Result<[u32; 2], Problem>> {
    let references = bits.unsigned()?;
    let _gaps_allowed = bits.flag()?;
    let sides = [bits.unsigned()?, bits.unsigned()?];
    let progressive = bits.flag()?;
    if !progressive {
        return Some(Err(unsupported("interlaced H.264 is".into(), "progressive is")));
    }
    let _direct_inference = bits.flag()?;
    Some(check_size(references, sides))
}

/// Checks the size; `sides` are given minus one, as they are coded.
fn check_size(references: u32, sides: [u32; 2]) -> Result<[u32; 2], Problem> {
    if references > MAX_REFERENCES {
        return Err(damaged(&format!("{references} reference pictures")));
    }
    let [columns, rows] = sides.map(|side| u64::from(side) + 1);
    at_most("macroblocks (16 pixels) of width", columns, MAX_SIDE_BLOCKS)?;
    at_most("macroblocks (16 pixels) of height", rows, MAX_SIDE_BLOCKS)?;
    at_most("macroblocks (16 x 16 pixels) in a frame", columns * rows, MAX_BLOCKS)?;
    Ok(sides.map(|side| side + 1))
}

/// The cropping offsets from the left, right, top and bottom, in chroma pixels.
fn cropping(bits: &mut Bits) -> Option<[u32; 4]> {
    let mut crop = [0; 4];
    if bits.flag()? {
        for side in &mut crop {
            *side = bits.unsigned()?;
        }
    }
    Some(crop)
}

impl Geometry {
    /// `None` if cropping leaves no pixel.
    fn new([columns, rows]: [u32; 2], crop: [u32; 4]) -> Option<Self> {
        let coded = Size::new(columns * MACROBLOCK, rows * MACROBLOCK);
        let [left, right, top, bottom] = crop.map(|offset| offset.checked_mul(2));
        let (left, top) = (left?, top?);
        let rest = |side: u32, before: u32, after: u32| {
            side.checked_sub(before)?.checked_sub(after).filter(|&left| left > 0)
        };
        let width = rest(coded.width, left, right?)?;
        let height = rest(coded.height, top, bottom?)?;
        Some(Self { coded, left, top, shown: Size::new(width, height) })
    }
}

/// The range and matrix of the colours, from the display information (VUI) if there is any.
fn color(bits: &mut Bits) -> Option<Color> {
    if !bits.flag()? {
        return Some(Color::default());
    }
    if bits.flag()? && bits.number(8)? == EXTENDED_RATIO {
        let _ratio = bits.number(32)?;
    }
    if bits.flag()? {
        let _overscan = bits.flag()?;
    }
    if !bits.flag()? {
        return Some(Color::default());
    }
    let _video_format = bits.number(3)?;
    let full_range = bits.flag()?;
    let matrix = if bits.flag()? {
        let _primaries_and_transfer = bits.number(16)?;
        bits.number(8)?
    } else {
        Color::UNSPECIFIED
    };
    Some(Color { full_range, matrix })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Baseline set of `columns` x 4 macroblocks up to the cropping.
    fn start(references: u32, columns: u32) -> BitWriter {
        let writer = BitWriter::default().number(66, 8).number(10, 16).unsigned(0);
        let writer = writer.unsigned(0).unsigned(2).unsigned(references).flag(false);
        writer.unsigned(columns - 1).unsigned(3).number(0b11, 2)
    }

    fn read(writer: BitWriter) -> Result<Sps, Problem> {
        Sps::read(&writer.into_unit(0x67))
    }

    fn cropped_by(crop: [u32; 4]) -> Result<Sps, Problem> {
        let writer = crop.into_iter().fold(start(1, 6).flag(true), BitWriter::unsigned);
        read(writer.flag(false))
    }

    #[test]
    fn cropping_is_taken_off_and_cannot_be_negative() {
        let geometry = cropped_by([2, 1, 1, 6]).unwrap().geometry;
        let (coded, shown) = (Size::new(96, 64), Size::new(90, 50));
        assert_eq!(geometry, Geometry { coded, left: 4, top: 2, shown });
        for hostile in [[48, 0, 0, 0], [u32::MAX - 1, 2, 0, 0], [0, 0, 1 << 31, 0], [0, 0, 31, 1]] {
            let error = cropped_by(hostile).unwrap_err().to_string();
            assert!(error.contains("cropping leaves nothing"), "{error}");
        }
    }

    #[test]
    fn the_decoder_gets_the_same_without_cropping() {
        let sps = cropped_by([2, 1, 1, 6]).unwrap();
        assert_eq!(sps.unit[..4], [0x67, 83, 0, 52]);
        let again = Sps::read(&sps.unit).unwrap();
        assert_eq!(again.geometry.shown, sps.geometry.coded);
        assert_eq!(again.unit, sps.unit);
    }

    #[test]
    fn sizes_and_references_have_limits() {
        let set = |references, columns| read(start(references, columns).number(0, 2));
        assert_eq!(set(16, 6).unwrap().geometry.shown, Size::new(96, 64));
        assert!(set(17, 6).is_err());
        let wide = set(1, 544).unwrap_err().to_string();
        assert!(wide.contains("544 macroblocks (16 pixels) of width, at most 543"), "{wide}");
        assert!(set(1, u32::MAX).is_err());
    }

    #[test]
    fn colors_are_read() {
        let vui = start(1, 6).number(0b01, 2).number(0b00, 2).flag(true).number(5, 3);
        let vui = vui.number(0b11, 2).number(1, 8).number(1, 8).number(9, 8);
        assert_eq!(read(vui).unwrap().color, Color { full_range: true, matrix: 9 });
    }

    #[test]
    fn what_is_not_read_is_named() {
        let high = |chroma, depth, bypass| {
            let writer = BitWriter::default().number(100, 8).number(10, 16).unsigned(0);
            let writer = writer.unsigned(chroma).unsigned(depth).unsigned(depth).flag(bypass);
            read(writer).unwrap_err().to_string()
        };
        assert_eq!(
            high(2, 0, false),
            "H.264 with 4:2:2 colour is not supported: 4:2:0 is accepted"
        );
        assert_eq!(high(1, 2, false), "H.264 with 10 bits is not supported: 8 bits are accepted");
        assert_eq!(high(1, 0, true), "lossless H.264 is not supported: lossy is accepted");
        assert!(high(1, 0, false).contains("ends too early"));
        assert!(Sps::read(&[]).is_err());
    }
}
