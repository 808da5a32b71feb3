//! Decodes the pictures of a track, one sample at a time.

use mico_vision::{RgbImage, Size};

use super::color::to_rgb;
use super::config::AvcConfig;
use super::decoder::Decoder;
use super::sps::{Geometry, Sps};
use super::units::{PARTITIONS, PICTURE_SET, SEQUENCE_SET, Unit};
use crate::budget::Budget;
use crate::error::Problem;

/// The most bytes of one picture that OpenH264 accepts.
const MAX_PICTURE_BYTES: usize = 7_077_888;
/// The most bytes of parameter sets accepted before a picture; real ones have a few dozen.
const MAX_PARAMETER_BYTES: usize = 64 << 10;
/// The start code that separates NAL units in the decoder's input.
const START_CODE: [u8; 4] = [0, 0, 0, 1];

/// The result of decoding one sample.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The picture, converted to RGB and cropped.
    Frame(RgbImage),
    /// No picture, because none was wanted or the sample has none.
    Nothing,
    /// The sample could not be decoded, for the given reason.
    Failed(String),
}

/// A decoder that is given samples in decoding order.
pub(crate) struct PictureDecoder {
    decoder: Decoder,
    /// The active sequence parameter set; `None` before the first one.
    sps: Option<Sps>,
    /// Parameter sets that have not been passed to the decoder yet.
    pending: Vec<u8>,
}

impl PictureDecoder {
    /// Creates a decoder for a track and checks the track's configuration.
    pub(crate) fn new(config: &AvcConfig, budget: &Budget) -> Result<Self, Problem> {
        let mut new = Self { decoder: Decoder::new()?, sps: None, pending: Vec::new() };
        new.restart(config, budget)?;
        Ok(new)
    }

    /// The size of the coded pictures; `None` until a parameter set has been read.
    pub(crate) fn size(&self) -> Option<Size> {
        self.sps.as_ref().map(|sps| sps.geometry.coded)
    }

    /// Resets to the track's configuration, so that decoding can start at another sample.
    pub(crate) fn restart(&mut self, config: &AvcConfig, budget: &Budget) -> Result<(), Problem> {
        self.sps = None;
        self.pending.clear();
        for set in config.sequence_sets.iter().chain(&config.picture_sets) {
            // A set without content, or with a second one hidden inside it, is an error.
            let unit = Unit::new(set).ok().flatten();
            let unit = unit.filter(|unit| matches!(unit.kind, SEQUENCE_SET | PICTURE_SET));
            let unit = unit.ok_or_else(|| Problem::mp4("avcC: a parameter set is none"))?;
            self.admit(&unit, budget)?;
        }
        Ok(())
    }

    /// Decodes one sample. Unless it is `wanted`, its picture is decoded only if others refer to it.
    pub(crate) fn decode(
        &mut self,
        units: &[Unit<'_>],
        wanted: bool,
        budget: &mut Budget,
    ) -> Result<Outcome, Problem> {
        let mut slices = units.iter().filter(|unit| unit.is_slice()).peekable();
        let has_slices = slices.peek().is_some();
        let is_needed = wanted || slices.any(|unit| unit.is_reference);
        for unit in units.iter().filter(|u| matches!(u.kind, SEQUENCE_SET | PICTURE_SET)) {
            self.admit(unit, budget)?;
        }
        if units.iter().any(|unit| PARTITIONS.contains(&unit.kind)) {
            return Ok(Outcome::Failed("data partitioning is not supported".into()));
        }
        if !has_slices || !is_needed {
            return Ok(Outcome::Nothing);
        }
        let Some(sps) = self.sps.clone() else {
            return Ok(Outcome::Failed("no sequence parameter set precedes it".into()));
        };
        budget.decode(sps.geometry.coded)?;
        let mut stream = std::mem::take(&mut self.pending);
        for unit in units.iter().filter(|unit| unit.is_slice()) {
            append(&mut stream, unit.bytes);
        }
        if stream.len() > MAX_PICTURE_BYTES {
            let length = stream.len();
            let reason = format!("{length} bytes, at most {MAX_PICTURE_BYTES} are accepted");
            return Ok(Outcome::Failed(reason));
        }
        self.run(&stream, &sps, wanted, budget)
    }

    fn run(
        &mut self,
        stream: &[u8],
        sps: &Sps,
        wanted: bool,
        budget: &mut Budget,
    ) -> Result<Outcome, Problem> {
        let picture = match self.decoder.decode(stream) {
            Ok(Some(picture)) => picture,
            // Pictures are returned without delay, so this one is lost, and with it those that
            // refer to it.
            Ok(None) => return Ok(Outcome::Failed("no picture came out".into())),
            Err(reason) => return Ok(Outcome::Failed(reason)),
        };
        if !wanted {
            return Ok(Outcome::Nothing);
        }
        let Geometry { coded, left, top, shown } = sps.geometry;
        let (width, height) = picture.dimensions();
        if (width, height) != (coded.width as usize, coded.height as usize) {
            let reason = format!("it is {width}x{height} where {coded} was announced");
            return Ok(Outcome::Failed(reason));
        }
        budget.hold(shown)?;
        Ok(match to_rgb(&picture.planes(), (left as usize, top as usize), shown, sps.color) {
            Some(Ok(frame)) => Outcome::Frame(frame),
            Some(Err(error)) => Outcome::Failed(error.to_string()),
            None => Outcome::Failed("its planes are too small".into()),
        })
    }

    /// Accepts a parameter set for the following pictures. A sequence parameter set is passed on as
    /// rewritten from its parsed values.
    fn admit(&mut self, unit: &Unit<'_>, budget: &Budget) -> Result<(), Problem> {
        if unit.kind == SEQUENCE_SET {
            let sps = Sps::read(unit.bytes)?;
            budget.check_size(sps.geometry.coded)?;
            self.check_alone(&sps)?;
            append(&mut self.pending, &sps.unit);
            self.sps = Some(sps);
        } else {
            append(&mut self.pending, unit.bytes);
        }
        let length = self.pending.len();
        if length > MAX_PARAMETER_BYTES {
            let reason = format!(
                "{length} bytes of parameter sets, at most {MAX_PARAMETER_BYTES} are accepted"
            );
            return Err(Problem::Damaged { format: "H.264", reason });
        }
        Ok(())
    }

    /// Checks that all sequence parameter sets agree, since the pictures' own data, which states
    /// which set applies, is not parsed here.
    fn check_alone(&self, sps: &Sps) -> Result<(), Problem> {
        let differs = |other: &Sps| {
            other.id != sps.id && (other.geometry, other.color) != (sps.geometry, sps.color)
        };
        if self.sps.as_ref().is_some_and(differs) {
            return Err(Problem::Unsupported {
                what: "H.264 with several different sequence parameter sets at a time is".into(),
                accepted: "one is",
            });
        }
        Ok(())
    }
}

fn append(stream: &mut Vec<u8>, unit: &[u8]) {
    stream.extend(START_CODE);
    stream.extend(unit);
}
