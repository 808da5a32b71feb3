//! Finds and reads the H.264 track in a movie header.

use super::boxes::{Fields, Name, children, find, need, readable};
use super::edits::{self, Clocks, Edit};
use super::orientation::Orientation;
use super::samples::{self, Bounds, Sample};
use crate::error::Problem;
use crate::h264::AvcConfig;

/// The length of a visual sample entry before its inner boxes.
const VISUAL_ENTRY_BYTES: usize = 78;

/// An H.264 track with its samples and display settings.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) config: AvcConfig,
    pub(super) orientation: Orientation,
    /// The number of the track's time units per second.
    pub(super) timescale: u32,
    pub(super) edit: Edit,
    /// All samples (coded pictures), in decoding order.
    pub(super) samples: Vec<Sample>,
}

impl Track {
    /// The display time of a sample, in seconds.
    pub(super) fn time(&self, sample: usize) -> f64 {
        let units = self.samples[sample].shown_at.saturating_sub(self.edit.zero);
        self.edit.delay + units as f64 / f64::from(self.timescale)
    }
}

/// Finds the H.264 track in the content of the `moov` box.
pub(super) fn find_video(moov: &[u8], bounds: Bounds) -> Result<Track, Problem> {
    if find(moov, *b"mvex")?.is_some() {
        return Err(Problem::Unsupported {
            what: "a fragmented MP4 file (mvex, moof) is".into(),
            accepted: "one with a single index (moov) is",
        });
    }
    let mut other_codec = None;
    for child in children(moov) {
        let (name, trak) = child?;
        if name != *b"trak" {
            continue;
        }
        let mdia = need(trak, *b"mdia")?;
        if handler(mdia)? != *b"vide" {
            continue;
        }
        let stbl = need(need(mdia, *b"minf")?, *b"stbl")?;
        let (codec, entry) = sample_entry(stbl)?;
        // Cover art may be stored as a track of its own before the film.
        if matches!(&codec, b"avc1" | b"avc3") {
            let movie = timescale(*b"mvhd", need(moov, *b"mvhd")?)?;
            return read(trak, &Parts { mdia, stbl, entry, movie, bounds });
        }
        other_codec.get_or_insert(codec);
    }
    Err(match other_codec {
        Some(codec) => Problem::Unsupported {
            what: format!("{} video ({}) is", codec_name(codec), readable(codec)),
            accepted: "H.264 (avc1) is",
        },
        None => Problem::mp4("there is no video track"),
    })
}

/// The parts of a track that have been located.
struct Parts<'a> {
    mdia: &'a [u8],
    stbl: &'a [u8],
    entry: &'a [u8],
    movie: u32,
    bounds: Bounds,
}

fn read(trak: &[u8], parts: &Parts<'_>) -> Result<Track, Problem> {
    let inner = parts.entry.get(VISUAL_ENTRY_BYTES..).unwrap_or_default();
    let config = AvcConfig::read(need(inner, *b"avcC")?)?;
    let orientation = orientation(need(trak, *b"tkhd")?)?;
    let timescale = timescale(*b"mdhd", need(parts.mdia, *b"mdhd")?)?;
    let edit = edits::read(trak, Clocks { movie: parts.movie, track: timescale })?;
    let samples = samples::read(parts.stbl, parts.bounds)?;
    Ok(Track { config, orientation, timescale, edit, samples })
}

fn handler(mdia: &[u8]) -> Result<Name, Problem> {
    let (_, mut fields) = Fields::versioned(*b"hdlr", need(mdia, *b"hdlr")?)?;
    let _component = fields.u32()?;
    fields.take()
}

/// The name (codec) and content of the first sample entry.
fn sample_entry(stbl: &[u8]) -> Result<(Name, &[u8]), Problem> {
    let (_, mut fields) = Fields::versioned(*b"stsd", need(stbl, *b"stsd")?)?;
    let _count = fields.u32()?;
    children(fields.rest()).next().unwrap_or_else(|| Err(Problem::mp4("the stsd box is empty")))
}

/// The time units per second in a movie or media header.
fn timescale(name: Name, header: &[u8]) -> Result<u32, Problem> {
    let (version, mut fields) = Fields::versioned(name, header)?;
    let _created = fields.word(version)?;
    let _modified = fields.word(version)?;
    match fields.u32()? {
        0 => Err(Problem::mp4(format!("the {} box has a clock that stands still", readable(name)))),
        units => Ok(units),
    }
}

fn orientation(tkhd: &[u8]) -> Result<Orientation, Problem> {
    let (version, mut fields) = Fields::versioned(*b"tkhd", tkhd)?;
    let _created = fields.word(version)?;
    let _modified = fields.word(version)?;
    let _track_and_reserved = fields.u64()?;
    let _duration = fields.word(version)?;
    // Reserved, layer, group, volume, reserved.
    let _ = fields.take::<16>()?;
    Orientation::read(&mut fields)
}

/// The common name of a codec, for messages.
fn codec_name(codec: Name) -> &'static str {
    match &codec {
        b"hvc1" | b"hev1" | b"hvc2" | b"hev2" => "HEVC",
        b"dvh1" | b"dvhe" => "Dolby Vision (HEVC)",
        b"av01" => "AV1",
        b"vp08" => "VP8",
        b"vp09" => "VP9",
        b"vvc1" | b"vvi1" => "VVC",
        b"mp4v" => "MPEG-4 Part 2",
        b"s263" | b"h263" | b"H263" => "H.263",
        b"jpeg" | b"mjpa" | b"mjpb" => "Motion JPEG",
        b"apch" | b"apcn" | b"apcs" | b"apco" | b"ap4h" | b"ap4x" => "ProRes",
        b"avc2" | b"avc4" => "layered H.264",
        b"encv" => "encrypted",
        _ => "unknown",
    }
}
