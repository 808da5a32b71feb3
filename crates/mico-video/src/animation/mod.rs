//! Reader for animated GIF and WebP files.
//!
//! A first pass over the file's blocks counts frames and adds up their delays without decoding any
//! pixel; a second pass decodes up to the last wanted frame and keeps the wanted ones.

mod gif;
mod webp;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, Read, Seek};

use image::codecs::gif::GifDecoder;
use image::{AnimationDecoder, ImageDecoder, ImageResult};
use mico_vision::decode::{AlphaMode, DecodeOptions, Limits, decode};
use mico_vision::{RgbImage, Size};

use crate::budget::at_most;
use crate::error::{Problem, plain};
use crate::sampling::sample_indices;
use crate::source::Source;
use crate::video::{Job, Progress, Video, VideoKind};

/// Delays below this many milliseconds are treated as unset; GIF files often state 0 or 10.
const SHORTEST_DELAY: u32 = 20;
/// The delay in milliseconds that browsers use instead.
const USUAL_DELAY: u32 = 100;
/// The most canvases that a decoder holds at a time, used to limit its memory.
const CANVASES: u64 = 4;
/// Bytes per pixel of a decoder's canvas (RGBA).
const CANVAS_BYTES: u64 = 4;

/// The structure of a file, read before any pixel is decoded.
#[derive(Debug, PartialEq, Eq)]
struct Outline {
    canvas: Size,
    /// The display time of each frame in milliseconds, as stated in the file.
    delays: Vec<u32>,
}

impl Outline {
    /// The time at which each frame is first shown, in seconds, and the average frame rate.
    fn clock(&self) -> (Vec<f64>, f64) {
        let mut elapsed = 0.0;
        let mut starts = Vec::with_capacity(self.delays.len());
        for &delay in &self.delays {
            starts.push(elapsed / 1000.0);
            elapsed += f64::from(if delay < SHORTEST_DELAY { USUAL_DELAY } else { delay });
        }
        (starts, self.delays.len() as f64 / (elapsed / 1000.0))
    }

    /// Adds a frame's delay; an error if there are more than `most_frames`.
    fn push(&mut self, delay: u32, most_frames: u64) -> Result<(), Problem> {
        at_most("frames", self.delays.len() as u64 + 1, most_frames)?;
        self.delays.push(delay);
        Ok(())
    }
}

/// A decoder that shows the frames of an animation one after the other.
trait Pictures {
    /// Decodes the next frame; `time` is when it is shown, for error messages.
    fn advance(&mut self, time: f64) -> Result<(), Problem>;
    /// The size of the current picture.
    fn size(&self) -> Size;
    /// The pixels of the current picture, four bytes each.
    fn rgba(&self) -> &[u8];
    /// Whether the alpha channel of the current picture is meaningful.
    fn has_alpha(&self) -> bool;
}

/// Reads the wanted frames of a GIF file.
pub(crate) fn gif(source: Source, job: &mut Job<'_>) -> Result<Video, Problem> {
    let mut file = BufReader::new(source.into_file()?);
    let outline = gif::outline(&mut file, job.budget.limits())?;
    let film = Film { kind: VideoKind::Gif, format: "GIF", outline };
    film.read(file, job, |file| {
        let mut decoder = GifDecoder::new(file)?;
        let mut limits = image::Limits::no_limits();
        let (width, height) = decoder.dimensions();
        limits.max_alloc = Some(Size::new(width, height).area() * CANVAS_BYTES * CANVASES);
        decoder.set_limits(limits)?;
        Ok(gif::Player::new(decoder.into_frames()))
    })
}

/// Reads the wanted frames of a WebP file; a still image is one frame.
pub(crate) fn webp(source: Source, job: &mut Job<'_>) -> Result<Video, Problem> {
    let length = source.len();
    let mut file = BufReader::new(source.into_file()?);
    let Some(survey) = webp::survey(&mut file, length, job.budget.limits())? else {
        return still_webp(file, length, job);
    };
    let film = Film { kind: VideoKind::WebP, format: "WebP", outline: survey.outline };
    film.read(file, job, |file| Ok(webp::Player::new(file, survey.layout)))
}

/// Reads a WebP file without animation as a video of one frame.
fn still_webp(mut file: BufReader<File>, length: u64, job: &mut Job<'_>) -> Result<Video, Problem> {
    let limits = job.options.limits;
    let encoded_bytes = limits.file_bytes.min(Limits::default().encoded_bytes);
    at_most("bytes", length, encoded_bytes)?;
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(length).read_to_end(&mut bytes)?;
    let limits = Limits { encoded_bytes, pixels: limits.frame_pixels, side: limits.frame_side };
    let image = decode(&bytes, &DecodeOptions { limits, alpha: job.options.alpha })?;
    job.budget.hold(image.size())?;
    (job.progress)(Progress { done: 1, total: 1 });
    let frames = vec![image];
    let (indices, times) = (vec![0], vec![0.0]);
    Ok(Video { kind: VideoKind::WebP, frames, indices, times, source_frames: 1, fps: 1.0 })
}

/// An animated file whose structure has been read.
struct Film {
    kind: VideoKind,
    format: &'static str,
    outline: Outline,
}

impl Film {
    fn read<P: Pictures>(
        self,
        mut file: BufReader<File>,
        job: &mut Job<'_>,
        open: impl FnOnce(BufReader<File>) -> ImageResult<P>,
    ) -> Result<Video, Problem> {
        let source_frames = self.outline.delays.len();
        let (starts, fps) = self.outline.clock();
        let options = job.options;
        let indices = sample_indices(source_frames, fps, options.fps, options.max_frames);
        let Some(&last) = indices.last() else {
            return Err(self.damaged("there is no frame in it"));
        };
        let total = last + 1;
        job.budget.foresee(total, indices.len(), self.outline.canvas)?;

        file.rewind()?;
        let mut pictures = open(file).map_err(|error| self.damaged(&error.to_string()))?;
        let mut wanted: VecDeque<usize> = indices.iter().copied().collect();
        let mut frames = Vec::with_capacity(indices.len());
        for index in 0..total {
            pictures.advance(starts[index])?;
            let size = pictures.size();
            job.budget.decode(size)?;
            if wanted.front() == Some(&index) {
                wanted.pop_front();
                job.budget.hold(size)?;
                let alpha = if pictures.has_alpha() { options.alpha } else { AlphaMode::Drop };
                let data = flat(pictures.rgba(), alpha);
                frames.push(RgbImage::new(size, data).map_err(|e| self.damaged(&e.to_string()))?);
            }
            (job.progress)(Progress { done: index + 1, total });
        }
        let times = indices.iter().map(|&index| starts[index]).collect();
        Ok(Video { kind: self.kind, frames, indices, times, source_frames, fps })
    }

    fn damaged(&self, reason: &str) -> Problem {
        Problem::Damaged { format: self.format, reason: plain(reason) }
    }
}

fn picture(time: f64, reason: &str) -> Problem {
    Problem::Picture { time, reason: plain(reason) }
}

/// Converts RGBA to RGB, dropping the alpha channel or blending over a background.
fn flat(rgba: &[u8], alpha: AlphaMode) -> Vec<u8> {
    let mut out = Vec::with_capacity(rgba.len() / 4 * 3);
    for pixel in rgba.chunks_exact(4) {
        for channel in 0..3 {
            out.push(match alpha {
                AlphaMode::Drop => pixel[channel],
                AlphaMode::Flatten(ground) => over(pixel[channel], ground[channel], pixel[3]),
            });
        }
    }
    out
}

/// Blends `color` over `ground`, rounded to nearest, as for still images.
fn over(color: u8, ground: u8, alpha: u8) -> u8 {
    let (color, ground, alpha) = (u32::from(color), u32::from(ground), u32::from(alpha));
    ((color * alpha + ground * (255 - alpha) + 127) / 255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_nobody_means_count_as_a_tenth_of_a_second() {
        let outline = Outline { canvas: Size::square(1), delays: vec![0, 10, 20, 280] };
        let (starts, fps) = outline.clock();
        assert_eq!(starts, [0.0, 0.1, 0.2, 0.22]);
        assert_eq!(fps, 8.0);
    }

    #[test]
    fn transparency_shows_the_ground() {
        let rgba = [10, 20, 30, 0, 10, 20, 30, 255, 0, 0, 0, 128];
        let flattened = flat(&rgba, AlphaMode::default());
        assert_eq!(flattened, [255, 255, 255, 10, 20, 30, 127, 127, 127]);
        assert_eq!(flat(&rgba, AlphaMode::Drop)[..3], [10, 20, 30]);
    }
}
