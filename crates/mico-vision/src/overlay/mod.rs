//! A picture of what pruning kept: the image with dropped regions dimmed, beside question and
//! answer.
//!
//! A pixel may be shown by several tokens (LLaVA-NeXT sees everything in the base view and again in
//! a crop); it is drawn as its best-kept token.

mod panel;
mod shade;
mod text;

use crate::layout::VisualLayout;
use crate::pixels::{EncodeError, RgbImage, Size, encode_png};

/// Most images on one sheet.
pub const MAX_IMAGES: usize = 64;
/// Space between and around the parts of a sheet.
const GAP: u32 = 24;
/// Colour of the sheet.
const GROUND: [u8; 3] = [22, 24, 29];

/// One image and what became of its tokens. Indices are positions in the layout's sequence.
#[derive(Debug, Clone, Copy)]
pub struct Pruned<'a> {
    /// The decoded image the layout was made for.
    pub image: &'a RgbImage,
    /// What each token shows.
    pub layout: &'a VisualLayout,
    /// Tokens that survived Stage 1, where there was one.
    pub stage1: Option<&'a [usize]>,
    /// Tokens that survived to the last block.
    pub kept: &'a [usize],
}

/// The words beside the picture.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caption<'a> {
    /// What was asked.
    pub question: &'a str,
    /// What was answered.
    pub answer: &'a str,
    /// The token counts, such as `576 -> 128 -> 46`.
    pub counts: &'a str,
}

/// Why no picture can be drawn.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// Too few or too many images.
    #[error("{found} images for one overlay: accepted are 1 to {MAX_IMAGES}")]
    Images {
        /// Images given.
        found: usize,
    },
    /// A token index beyond the sequence.
    #[error("token index {index} of image {image} is beyond its {len} visual tokens")]
    Token {
        /// Number of the image on the sheet, from 0.
        image: usize,
        /// The index at fault.
        index: usize,
        /// Length of the sequence.
        len: usize,
    },
    /// A layout made for another image.
    #[error("image {image} has size {found}, but its layout was made for {expected}")]
    OtherImage {
        /// Number of the image on the sheet, from 0.
        image: usize,
        /// The image's size.
        found: Size,
        /// The size in the layout.
        expected: Size,
    },
    /// The PNG could not be written.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// How many tokens met which end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tally {
    kept: usize,
    /// Of the kept ones, those that show nothing of the image: padding and newlines.
    blind: usize,
    refined: Option<usize>,
    dropped: usize,
    unseen: bool,
}

/// Draws the sheet and encodes it as PNG.
pub fn draw_png(images: &[Pruned<'_>], caption: &Caption<'_>) -> Result<Vec<u8>, OverlayError> {
    Ok(encode_png(&draw(images, caption)?)?)
}

/// Draws the sheet: the images below one another, the words to their right.
pub fn draw(images: &[Pruned<'_>], caption: &Caption<'_>) -> Result<RgbImage, OverlayError> {
    if !(1..=MAX_IMAGES).contains(&images.len()) {
        return Err(OverlayError::Images { found: images.len() });
    }
    for (number, pruned) in images.iter().enumerate() {
        check(number, pruned)?;
    }
    let drawn: Vec<(RgbImage, Tally)> = images.iter().map(shade::draw).collect();
    let panel = panel::draw(caption, &total(drawn.iter().map(|(_, tally)| *tally)));

    let pictures = drawn.iter().map(|(picture, _)| picture.size());
    let column = pictures.clone().map(|size| size.width).max().unwrap_or(0);
    let height = pictures.map(|size| size.height + GAP).sum::<u32>() + GAP;
    let sheet =
        Size::new(column + panel.size().width + 3 * GAP, height.max(panel.size().height + 2 * GAP));
    let mut out = RgbImage::filled(sheet, GROUND);
    let mut y = GAP;
    for (picture, _) in &drawn {
        out.paste(picture, GAP as usize, y as usize);
        y += picture.size().height + GAP;
    }
    out.paste(&panel, (column + 2 * GAP) as usize, GAP as usize);
    Ok(out)
}

fn check(image: usize, pruned: &Pruned<'_>) -> Result<(), OverlayError> {
    let (found, expected) = (pruned.image.size(), pruned.layout.image());
    if found != expected {
        return Err(OverlayError::OtherImage { image, found, expected });
    }
    let len = pruned.layout.len();
    let all = pruned.kept.iter().chain(pruned.stage1.unwrap_or_default());
    match all.copied().find(|&index| index >= len) {
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
