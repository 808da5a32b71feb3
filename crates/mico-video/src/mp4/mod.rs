//! Reader for MP4 and QuickTime files with an H.264 track.

mod boxes;
mod edits;
mod orientation;
mod plan;
mod samples;
mod track;

pub(crate) use samples::Sample;

use boxes::{HEADER, Name};
use plan::Plan;
use samples::Bounds;
use track::Track;

use crate::budget::at_most;
use crate::error::Problem;
use crate::h264::{Outcome, PictureDecoder, units};
use crate::options::{Limits, VideoOptions};
use crate::sampling::sample_indices;
use crate::source::Source;
use crate::video::{Job, Progress, Video, VideoKind};

/// The most top-level boxes that are searched for the index; real files have a handful.
const MAX_TOP_BOXES: usize = 4096;

/// Whether the bytes, taken from offset 4 of a file, name a box with which such files start.
pub(crate) fn is_first_box(bytes: &[u8]) -> bool {
    const FIRST: [&Name; 8] =
        [b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot", b"styp"];
    bytes.first_chunk::<4>().is_some_and(|name| FIRST.contains(&name))
}

/// Reads the wanted frames of the file's H.264 track.
pub(crate) fn read(mut source: Source, job: &mut Job<'_>) -> Result<Video, Problem> {
    let limits = *job.budget.limits();
    let moov = movie_header(&mut source, &limits)?;
    let bounds = Bounds { file_bytes: source.len(), samples: limits.source_frames };
    let track = track::find_video(&moov, bounds)?;
    drop(moov);
    check_accepted(job.options)?;
    let shown = Shown::new(&track)?;
    let options = job.options;
    let indices = sample_indices(shown.order.len(), shown.fps, options.fps, options.max_frames);
    let wanted: Vec<usize> = indices.iter().map(|&index| shown.order[index]).collect();
    let times: Vec<f64> = wanted.iter().map(|&sample| track.time(sample)).collect();
    let plan = Plan::new(&mut source, &track, &wanted)?;
    let frames = decode(&mut source, &track, &plan, job)?;
    Ok(Video {
        kind: VideoKind::Mp4,
        frames,
        indices,
        times,
        source_frames: shown.order.len(),
        fps: shown.fps,
    })
}

/// Rejects H.264 if it is disabled or its decoder is not part of the build.
fn check_accepted(options: &VideoOptions) -> Result<(), Problem> {
    let what = if !cfg!(feature = "h264") {
        "H.264 video is not part of this build (cargo feature `h264`) and"
    } else if !options.h264 {
        "H.264 video is switched off and"
    } else {
        return Ok(());
    };
    let accepted = "animated GIF and WebP and folders of images are";
    Err(Problem::Unsupported { what: what.into(), accepted })
}

/// The content of the `moov` box (the index), wherever it is in the file.
fn movie_header(source: &mut Source, limits: &Limits) -> Result<Vec<u8>, Problem> {
    let mut buffer = Vec::new();
    let mut at = 0;
    for _ in 0..MAX_TOP_BOXES {
        let left = source.len().saturating_sub(at);
        if left < HEADER as u64 {
            return Err(Problem::mp4("there is no index (moov box); the file may be cut"));
        }
        source.read(at, left.min(2 * HEADER as u64), &mut buffer)?;
        let (header, size) = match buffer.as_slice() {
            &[0, 0, 0, 1, _, _, _, _, a, b, c, d, e, f, g, h] => {
                (2 * HEADER as u64, u64::from_be_bytes([a, b, c, d, e, f, g, h]))
            }
            [0, 0, 0, 0, ..] => (HEADER as u64, left),
            &[a, b, c, d, ..] => (HEADER as u64, u32::from_be_bytes([a, b, c, d]).into()),
            _ => (HEADER as u64, 0),
        };
        let name = buffer.get(4..HEADER).unwrap_or_default();
        if size < header || size > left {
            return Err(Problem::mp4(format!(
                "the {} box at {at} says {size} bytes where {left} are left",
                name.escape_ascii()
            )));
        }
        if name == b"moov" {
            at_most("bytes of index", size, limits.index_bytes)?;
            source.read(at + header, size - header, &mut buffer)?;
            return Ok(buffer);
        }
        at += size;
    }
    Err(Problem::mp4(format!("there is no index (moov) among the first {MAX_TOP_BOXES} boxes")))
}

/// The pictures of a track that its edit list shows.
struct Shown {
    /// Indices of the samples (which are in decoding order), sorted by display time.
    order: Vec<usize>,
    fps: f64,
}

impl Shown {
    fn new(track: &Track) -> Result<Self, Problem> {
        // An empty sample stands for a picture that was not coded.
        let is_shown = |sample: &Sample| sample.size > 0 && track.edit.shows(sample.shown_at);
        let samples = &track.samples;
        let mut order: Vec<usize> = (0..samples.len()).filter(|&i| is_shown(&samples[i])).collect();
        order.sort_by_key(|&index| samples[index].shown_at);
        if order.is_empty() {
            return Err(Problem::mp4("the video track shows no picture"));
        }
        let units: u64 = order.iter().map(|&index| u64::from(samples[index].duration)).sum();
        // Pictures without a duration count as one per second.
        let seconds =
            if units == 0 { order.len() as f64 } else { units as f64 / f64::from(track.timescale) };
        let fps = order.len() as f64 / seconds;
        Ok(Self { order, fps })
    }
}

/// Decodes the planned samples; frames are returned in the order of the plan's slots.
fn decode(
    source: &mut Source,
    track: &Track,
    plan: &Plan,
    job: &mut Job<'_>,
) -> Result<Vec<mico_vision::RgbImage>, Problem> {
    let total = plan.len();
    let mut decoder = PictureDecoder::new(&track.config, &job.budget)?;
    if let Some(size) = decoder.size() {
        job.budget.foresee(total, plan.slots(), size)?;
    }
    let mut frames: Vec<Option<mico_vision::RgbImage>> = Vec::new();
    frames.resize_with(plan.slots(), || None);
    let mut buffer = Vec::new();
    let mut done = 0;
    for run in plan.runs() {
        decoder.restart(&track.config, &job.budget)?;
        for index in run {
            let sample = &track.samples[index];
            let slot = plan.slot(index);
            let failed = |reason| Problem::Picture { time: track.time(index), reason };
            if sample.size > 0 {
                source.read(sample.offset, sample.size.into(), &mut buffer)?;
                let picture = units(&buffer, track.config.length_bytes).map_err(failed)?;
                match decoder.decode(&picture, slot.is_some(), &mut job.budget)? {
                    Outcome::Frame(frame) => {
                        if let Some(slot) = slot {
                            frames[slot] = Some(track.orientation.apply(frame));
                        }
                    }
                    Outcome::Nothing if slot.is_some() => {
                        return Err(failed("there is no picture in its data".into()));
                    }
                    Outcome::Nothing => {}
                    Outcome::Failed(reason) => return Err(failed(reason)),
                }
            }
            done += 1;
            (job.progress)(Progress { done, total });
        }
    }
    // Every slot belongs to a sample of some run, and each run fills its slots or fails.
    Ok(frames.into_iter().flatten().collect())
}
