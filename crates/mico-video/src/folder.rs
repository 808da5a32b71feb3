//! Reads a folder of images as a video, one image per frame.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use mico_vision::decode::{DecodeOptions, Limits, decode};

use crate::budget::at_most;
use crate::error::{Problem, VideoError};
use crate::sampling::spread;
use crate::source::Source;
use crate::video::{Job, Progress, Video, VideoKind};

/// The file endings that make an entry a frame; its actual format is recognised by content.
const ENDINGS: [&str; 6] = ["png", "jpg", "jpeg", "webp", "gif", "bmp"];

pub(crate) fn read(folder: &Path, job: &mut Job<'_>) -> Result<Video, VideoError> {
    let files =
        list(folder, job.options.limits.source_frames).map_err(|problem| problem.of(folder))?;
    let indices = spread(files.len(), job.options.max_frames);
    let mut frames = Vec::with_capacity(indices.len());
    for &index in &indices {
        let file = &files[index];
        frames.push(image(file, job).map_err(|problem| problem.of(file))?);
        (job.progress)(Progress { done: frames.len(), total: indices.len() });
    }
    let times = indices.iter().map(|&index| index as f64).collect();
    let source_frames = files.len();
    Ok(Video { kind: VideoKind::Folder, frames, indices, times, source_frames, fps: 1.0 })
}

fn image(file: &Path, job: &mut Job<'_>) -> Result<mico_vision::RgbImage, Problem> {
    // Reading a pipe could block forever, and skipping a dangling link would silently lose a frame.
    if !file.is_file() {
        return Err(Problem::NoFile);
    }
    let limits = job.options.limits;
    let encoded = limits.file_bytes.min(Limits::default().encoded_bytes);
    let mut source = Source::open(file, encoded)?;
    let mut bytes = Vec::new();
    source.read(0, source.len(), &mut bytes)?;
    let options = DecodeOptions {
        limits: Limits {
            encoded_bytes: encoded,
            pixels: limits.frame_pixels,
            side: limits.frame_side,
        },
        alpha: job.options.alpha,
    };
    let image = decode(&bytes, &options)?;
    job.budget.decode(image.size())?;
    job.budget.hold(image.size())?;
    Ok(image)
}

/// The folder's images in natural order, without hidden files and subfolders.
fn list(folder: &Path, limit: u64) -> Result<Vec<PathBuf>, Problem> {
    let mut files = Vec::new();
    let mut entries = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        entries += 1;
        at_most("entries in the folder", entries, limit)?;
        let path = entry.path();
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        // Links are followed: a link to an image is an image.
        if !hidden && is_named_as_image(&path) && !path.is_dir() {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(Problem::NoImages { entries, accepted: format!(".{}", ENDINGS.join(", .")) });
    }
    files.sort_by(|a, b| {
        let name =
            |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        natural(&name(a), &name(b)).then_with(|| a.cmp(b))
    });
    Ok(files)
}

fn is_named_as_image(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    ENDINGS.contains(&ending.as_str())
}

/// Natural order of names: runs of digits compare by value, so that `frame2` precedes `frame10`.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (digits_a, digits_b) = (leading_digits(a), leading_digits(b));
        if !digits_a.is_empty() && !digits_b.is_empty() {
            let (value_a, value_b) =
                (digits_a.trim_start_matches('0'), digits_b.trim_start_matches('0'));
            // Without leading zeros, the number with more digits is larger.
            let order = value_a.len().cmp(&value_b.len()).then_with(|| value_a.cmp(value_b));
            if order.is_ne() {
                return order;
            }
            (a, b) = (&a[digits_a.len()..], &b[digits_b.len()..]);
            continue;
        }
        match (a.chars().next(), b.chars().next()) {
            (Some(first_a), Some(first_b)) if first_a == first_b => {
                (a, b) = (&a[first_a.len_utf8()..], &b[first_b.len_utf8()..]);
            }
            (first_a, first_b) => return first_a.cmp(&first_b),
        }
    }
}

fn leading_digits(text: &str) -> &str {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_by_value() {
        let mut names = [
            "b1",
            "frame10",
            "frame2",
            "frame",
            "frame1b",
            "frame1a",
            "a",
            "frame99999999999999999999",
        ];
        names.sort_by(|a, b| natural(a, b));
        let expected = [
            "a",
            "b1",
            "frame",
            "frame1a",
            "frame1b",
            "frame2",
            "frame10",
            "frame99999999999999999999",
        ];
        assert_eq!(names, expected);
        assert_eq!(natural("7", "007"), Ordering::Equal);
        assert_eq!(natural("été2", "été10"), Ordering::Less);
        assert_eq!(natural("v1.10", "v1.9"), Ordering::Greater);
    }
}
