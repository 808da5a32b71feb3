//! The pruning overlay: the image with dropped regions dimmed, beside the question and
//! the answer.
//!
//! A video is drawn as a contact sheet of its frames. Several tokens may show the same pixel (LLaVA-NeXT
//! has it in the base view and again in a crop); it is drawn by the token that was kept longest.

mod contact;
mod panel;
mod shade;

use mico_vision::layout::VisualLayout;
use mico_vision::{EncodeError, RgbImage, Size, encode_png};

use crate::drawing::RenderError;

/// The largest number of images on one sheet.
pub const MAX_IMAGES: usize = 64;
/// The largest number of frames on one sheet; of a longer video this many are shown, evenly spaced.
pub const MAX_SHOWN_FRAMES: usize = 64;
/// Space between and around the parts of a sheet, in pixels.
const GAP: u32 = 24;
/// Background color of the sheet, in RGB.
const GROUND: [u8; 3] = [22, 24, 29];

/// One image and the outcome of pruning. Token indices are positions in the layout's sequence.
#[derive(Debug, Clone, Copy)]
pub struct Pruned<'a> {
    /// The decoded image the layout was made for.
    pub image: &'a RgbImage,
    /// The image region of each token.
    pub layout: &'a VisualLayout,
    /// Tokens that survived Stage 1; `None` if there was no such stage.
    pub stage1: Option<&'a [usize]>,
    /// Tokens that survived to the last decoder block.
    pub kept: &'a [usize],
}

/// A video and the outcome of pruning. Token indices are positions in the layout's sequence.
#[derive(Debug, Clone, Copy)]
pub struct Clip<'a> {
    /// The decoded frames the layout was made for, one per group of the layout.
    pub frames: &'a [RgbImage],
    /// The region of its frame that each token shows.
    pub layout: &'a VisualLayout,
    /// Tokens that survived Stage 1; `None` if there was no such stage.
    pub stage1: Option<&'a [usize]>,
    /// Tokens that survived to the last decoder block.
    pub kept: &'a [usize],
    /// The text under each frame, such as its time; empty for frame numbers.
    pub labels: &'a [String],
}

/// The text beside the picture.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caption<'a> {
    /// The question as the user asked it.
    pub question: &'a str,
    /// The answer that the pruned model gave.
    pub answer: &'a str,
    /// The token counts, such as `576 -> 128 -> 46`.
    pub counts: &'a str,
}

/// Why an overlay could not be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OverlayError {
    /// The number of images is 0 or too large.
    #[error("{found} images for one overlay: accepted are 1 to {MAX_IMAGES}")]
    Images {
        /// The number of images given.
        found: usize,
    },
    /// A token index is beyond the layout's sequence.
    #[error("token index {index} of image {image} is beyond its {len} visual tokens")]
    Token {
        /// The image's number on the sheet, counted from 0.
        image: usize,
        /// The offending token index.
        index: usize,
        /// The number of tokens in the sequence.
        len: usize,
    },
    /// The layout was made for an image of another size.
    #[error("image {image} has size {found}, but its layout was made for {expected}")]
    OtherImage {
        /// The image's number on the sheet, counted from 0.
        image: usize,
        /// The size of the image, in pixels.
        found: Size,
        /// The image size in the layout.
        expected: Size,
    },
    /// The layout was made for another number of frames.
    #[error("{found} frames, but their layout was made for {expected}")]
    Frames {
        /// The number of frames given.
        found: usize,
        /// The number of groups in the layout.
        expected: usize,
    },
    /// The number of labels is neither 0 nor that of the frames.
    #[error("{found} labels for {expected} frames: accepted is one for each, or none")]
    Labels {
        /// The number of labels given.
        found: usize,
        /// The number of frames given.
        expected: usize,
    },
    /// The text could not be drawn.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The PNG could not be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// Counts of tokens by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tally {
    kept: usize,
    /// Kept tokens that show nothing of the image: padding and newlines.
    blind: usize,
    refined: Option<usize>,
    dropped: usize,
    unseen: bool,
}

/// Draws the sheet of some images and encodes it as PNG.
pub fn draw_png(images: &[Pruned<'_>], caption: &Caption<'_>) -> Result<Vec<u8>, OverlayError> {
    Ok(encode_png(&draw(images, caption)?)?)
}

/// Draws the sheet: the images below one another, the text to their right.
pub fn draw(images: &[Pruned<'_>], caption: &Caption<'_>) -> Result<RgbImage, OverlayError> {
    if !(1..=MAX_IMAGES).contains(&images.len()) {
        return Err(OverlayError::Images { found: images.len() });
    }
    for (number, pruned) in images.iter().enumerate() {
        let Pruned { image, layout, stage1, kept } = *pruned;
        check_size(number, image, layout)?;
        check_tokens(number, layout, stage1, kept)?;
    }
    let (pictures, tallies): (Vec<RgbImage>, Vec<Tally>) = images.iter().map(shade::draw).unzip();
    let panel = panel::draw(caption, "", &total(tallies.into_iter()))?;
    Ok(compose(&pictures, &panel))
}

/// Draws one image without text, its long side `long` pixels.
pub fn shade(pruned: &Pruned<'_>, long: u32) -> Result<RgbImage, OverlayError> {
    let Pruned { image, layout, stage1, kept } = *pruned;
    check_size(0, image, layout)?;
    check_tokens(0, layout, stage1, kept)?;
    let fates = shade::Fates::new(layout, stage1, kept);
    Ok(shade::paint(image, fitted(image, long), &fates.marks(None), fates.differ()).0)
}

/// Draws the first `most` frames of a video without text, the long side of each `long` pixels.
pub fn shade_frames(
    clip: &Clip<'_>,
    most: usize,
    long: u32,
) -> Result<Vec<RgbImage>, OverlayError> {
    let (found, expected) = (clip.frames.len(), clip.layout.groups().len());
    if found != expected {
        return Err(OverlayError::Frames { found, expected });
    }
    check_tokens(0, clip.layout, clip.stage1, clip.kept)?;
    let fates = shade::Fates::new(clip.layout, clip.stage1, clip.kept);
    let frames = clip.frames.iter().enumerate().take(most);
    let painted = frames.map(|(frame, image)| {
        let marks = fates.marks(Some(frame));
        shade::paint(image, fitted(image, long), &marks, fates.differ()).0
    });
    Ok(painted.collect())
}

/// The size at which an image's long side is `long`, aspect ratio kept.
fn fitted(image: &RgbImage, long: u32) -> Size {
    let size = image.size();
    let side = size.width.max(size.height);
    let fitted = shade::scaled(size, f64::from(long) / f64::from(side));
    Size::new(fitted.width.min(long), fitted.height.min(long))
}

/// Draws a video's contact sheet and encodes it as PNG.
pub fn draw_video_png(clip: &Clip<'_>, caption: &Caption<'_>) -> Result<Vec<u8>, OverlayError> {
    Ok(encode_png(&draw_video(clip, caption)?)?)
}

/// Draws a video's contact sheet: the frames in reading order, each with its label and the number of
/// its tokens that were kept, the text to their right.
pub fn draw_video(clip: &Clip<'_>, caption: &Caption<'_>) -> Result<RgbImage, OverlayError> {
    let (found, expected) = (clip.frames.len(), clip.layout.groups().len());
    let Some(first) = clip.frames.first().filter(|_| found == expected) else {
        return Err(OverlayError::Frames { found, expected });
    };
    if !clip.labels.is_empty() && clip.labels.len() != found {
        return Err(OverlayError::Labels { found: clip.labels.len(), expected: found });
    }
    check_size(0, first, clip.layout)?;
    check_tokens(0, clip.layout, clip.stage1, clip.kept)?;
    let (picture, tally) = contact::draw(clip)?;
    let frames = match found {
        many if many > MAX_SHOWN_FRAMES => {
            format!("{MAX_SHOWN_FRAMES} of {many} shown, evenly spaced")
        }
        _ => String::new(),
    };
    Ok(compose(&[picture], &panel::draw(caption, &frames, &tally)?))
}

/// Stacks pictures, with the text panel to their right.
fn compose(pictures: &[RgbImage], panel: &RgbImage) -> RgbImage {
    let sizes = pictures.iter().map(RgbImage::size);
    let column = sizes.clone().map(|size| size.width).max().unwrap_or(0);
    let height = sizes.map(|size| size.height + GAP).sum::<u32>() + GAP;
    let sheet =
        Size::new(column + panel.size().width + 3 * GAP, height.max(panel.size().height + 2 * GAP));
    let mut out = RgbImage::filled(sheet, GROUND);
    let mut y = GAP;
    for picture in pictures {
        out.paste(picture, GAP as usize, y as usize);
        y += picture.size().height + GAP;
    }
    out.paste(panel, (column + 2 * GAP) as usize, GAP as usize);
    out
}

fn check_size(number: usize, image: &RgbImage, layout: &VisualLayout) -> Result<(), OverlayError> {
    let (found, expected) = (image.size(), layout.image());
    if found == expected {
        return Ok(());
    }
    Err(OverlayError::OtherImage { image: number, found, expected })
}

fn check_tokens(
    image: usize,
    layout: &VisualLayout,
    stage1: Option<&[usize]>,
    kept: &[usize],
) -> Result<(), OverlayError> {
    let len = layout.len();
    match kept.iter().chain(stage1.unwrap_or_default()).copied().find(|&index| index >= len) {
        Some(index) => Err(OverlayError::Token { image, index, len }),
        None => Ok(()),
    }
}

fn total(tallies: impl Iterator<Item = Tally>) -> Tally {
    let none = Tally { kept: 0, blind: 0, refined: None, dropped: 0, unseen: false };
    tallies.fold(none, |sum, tally| Tally {
        kept: sum.kept + tally.kept,
        blind: sum.blind + tally.blind,
        refined: match (sum.refined, tally.refined) {
            (None, refined) | (refined, None) => refined,
            (Some(left), Some(right)) => Some(left + right),
        },
        dropped: sum.dropped + tally.dropped,
        unseen: sum.unseen || tally.unseen,
    })
}
