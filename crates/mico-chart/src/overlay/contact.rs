//! The contact sheet of a video: its frames in a grid, each shaded as an image is.

use mico_vision::{RgbImage, Size};
use rayon::prelude::*;

use super::shade::{Fate, Fates, OUTLINE, paint, scaled};
use super::{Clip, GAP, GROUND, MAX_SHOWN_FRAMES, Tally, panel};
use crate::drawing::{Drawing, RenderError, TextStyle, pixels};
use crate::font;
use crate::text::shorten;

/// The largest width of a sheet, the text panel and all gaps included.
const MAX_SHEET_WIDTH: u32 = 2400;
/// Aspect ratios of a sheet that are equally good.
const WELCOME_ASPECT: std::ops::RangeInclusive<f64> = 4.0 / 3.0..=16.0 / 9.0;
/// Weight of empty cells against the logarithmic distance from a good aspect ratio.
const EMPTY_WEIGHT: f64 = 0.6;
/// Space between frames, in pixels.
const FRAME_GAP: u32 = 14;
/// The longest side of a frame among others, and of a single frame, in pixels.
const MAX_FRAME: u32 = 672;
const MAX_ONLY_FRAME: u32 = 1344;
/// The label under a frame: height, baseline, font size, and space between its parts.
const LABEL: u32 = 27;
const LABEL_BASE: f64 = 20.0;
const LABEL_SIZE: f64 = 16.0;
const LABEL_SPACE: f64 = 9.0;
/// The word after the number of kept tokens, where there is room.
const KEPT: &str = " kept";
/// The largest aspect ratio of a cell, whatever that of the first frame.
const MAX_CELL_ASPECT: f64 = 2.5;

/// Draws the frames and counts the outcomes of all tokens, including those of frames not shown.
pub(super) fn draw(clip: &Clip<'_>) -> Result<(RgbImage, Tally), RenderError> {
    let fates = Fates::new(clip.layout, clip.stage1, clip.kept);
    let shown = evenly_spaced(clip.frames.len(), MAX_SHOWN_FRAMES);
    let sheet = Sheet::new(shown.len(), clip.layout.image());
    let outlined = fates.differ();
    let (cells, words): (Vec<(RgbImage, bool)>, Vec<Words>) = shown
        .par_iter()
        .map(|&frame| {
            let marks = fates.marks(Some(frame));
            let image = &clip.frames[frame];
            let words = Words {
                label: clip.labels.get(frame).cloned().unwrap_or(format!("#{}", frame + 1)),
                kept: marks.iter().filter(|(_, fate)| *fate == Fate::Kept).count(),
            };
            (paint(image, sheet.fit(image.size()), &marks, outlined), words)
        })
        .unzip();
    // One form for all frames: a word that appears only sometimes would look like a difference.
    let room = f64::from(sheet.frame.width);
    let word = if words.iter().all(|words| words.width(KEPT) <= room) { KEPT } else { "" };
    let mut out = RgbImage::filled(sheet.size(), GROUND);
    for (index, ((picture, _), words)) in cells.iter().zip(&words).enumerate() {
        let (x, y) = sheet.place(index);
        out.paste(&sheet.cell(picture, words, word)?, x, y);
    }
    Ok((out, fates.tally(cells.iter().any(|(_, unseen)| *unseen))))
}

/// The label under a frame and its token count.
struct Words {
    label: String,
    kept: usize,
}

impl Words {
    /// The width of the line, with `word` after the count.
    fn width(&self, word: &str) -> f64 {
        let count = font::width(&self.count(word), LABEL_SIZE);
        font::width(&self.label, LABEL_SIZE) + LABEL_SPACE + count
    }

    fn count(&self, word: &str) -> String {
        format!("{}{word}", self.kept)
    }
}

/// At most `most` of `count` indices, evenly spaced, with the first and the last.
fn evenly_spaced(count: usize, most: usize) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    (0..most).map(|index| index * (count - 1) / (most - 1)).collect()
}

/// The grid of frames on a contact sheet.
#[derive(Debug, Clone, Copy)]
struct Sheet {
    count: usize,
    columns: usize,
    /// The size of a cell, its label not counted.
    frame: Size,
}

impl Sheet {
    /// The grid for `count` frames of the size of `first`: the number of columns with the best sheet,
    /// among equals the one with the largest frames.
    fn new(count: usize, first: Size) -> Self {
        let best = (1..=count.max(1)).map(|columns| Self::with(count, columns, first)).min_by(
            |left, right| {
                let faults = left.faults().total_cmp(&right.faults());
                faults.then(right.frame.width.cmp(&left.frame.width))
            },
        );
        best.unwrap_or(Self { count, columns: 1, frame: first })
    }

    fn with(count: usize, columns: usize, first: Size) -> Self {
        let room = MAX_SHEET_WIDTH - panel::WIDTH - 3 * GAP;
        let across = u32::try_from(columns).unwrap_or(u32::MAX);
        let width = room.saturating_sub(FRAME_GAP * (across - 1)) / across;
        let longest = if count == 1 { MAX_ONLY_FRAME } else { MAX_FRAME };
        let aspect = f64::from(first.width) / f64::from(first.height);
        let aspect = aspect.clamp(1.0 / MAX_CELL_ASPECT, MAX_CELL_ASPECT);
        let width = f64::from(width).min(f64::from(longest) * aspect.min(1.0)).max(1.0);
        let height = (width / aspect).max(1.0);
        Self { count, columns, frame: Size::new(width as u32, height as u32) }
    }

    fn rows(&self) -> usize {
        self.count.div_ceil(self.columns)
    }

    /// The size of the grid, in pixels.
    fn size(&self) -> Size {
        let length = |cells: usize, cell: u32| {
            let cells = u32::try_from(cells).unwrap_or(u32::MAX);
            cells.saturating_mul(cell + FRAME_GAP).saturating_sub(FRAME_GAP)
        };
        let columns = self.columns.min(self.count.max(1));
        Size::new(
            length(columns, self.frame.width),
            length(self.rows().max(1), self.frame.height + LABEL),
        )
    }

    /// The penalty of a sheet, 0 for none: for its aspect ratio and its empty cells.
    fn faults(&self) -> f64 {
        let places = self.columns * self.rows();
        let empty = places.saturating_sub(self.count) as f64 / places.max(1) as f64;
        self.strain() + EMPTY_WEIGHT * empty
    }

    /// The logarithmic distance of the sheet's aspect ratio from a good one, 0 if it is one.
    fn strain(&self) -> f64 {
        let grid = self.size();
        let sheet = (grid.width + panel::WIDTH + 3 * GAP, grid.height + 2 * GAP);
        let aspect = f64::from(sheet.0) / f64::from(sheet.1);
        let nearest = aspect.clamp(*WELCOME_ASPECT.start(), *WELCOME_ASPECT.end());
        (aspect / nearest).ln().abs()
    }

    /// The size a frame is drawn at: as large as its cell allows, aspect ratio kept.
    fn fit(&self, frame: Size) -> Size {
        let across = f64::from(self.frame.width) / f64::from(frame.width);
        let down = f64::from(self.frame.height) / f64::from(frame.height);
        scaled(frame, across.min(down))
    }

    /// Draws a frame centred in its cell, with label and count under it.
    fn cell(&self, picture: &RgbImage, words: &Words, word: &str) -> Result<RgbImage, RenderError> {
        let Size { width, height } = self.frame;
        let mut out = RgbImage::filled(Size::new(width, height + LABEL), GROUND);
        let left = (width as usize).saturating_sub(picture.width()) / 2;
        out.paste(picture, left, (height as usize).saturating_sub(picture.height()) / 2);
        out.paste(&self.label(left as f64, words, word)?, 0, height as usize);
        Ok(out)
    }

    /// Draws the line under a frame that begins at `left`, moved where it would not fit.
    fn label(&self, left: f64, words: &Words, word: &str) -> Result<RgbImage, RenderError> {
        let room = f64::from(self.frame.width);
        let count = words.count(word);
        let count_width = font::width(&count, LABEL_SIZE);
        let label = shorten(&words.label, LABEL_SIZE, room - count_width - LABEL_SPACE);
        let before = match font::width(&label, LABEL_SIZE) {
            0.0 => 0.0,
            width => width + LABEL_SPACE,
        };
        let x = left.min(room - before - count_width).max(0.0);
        let color = if words.kept > 0 { OUTLINE } else { panel::HEADING };
        let mut line = Drawing::on(panel::paint(GROUND), self.frame.width, LABEL);
        let style = |color| TextStyle::new(LABEL_SIZE, panel::paint(color));
        line.text((x, LABEL_BASE), &label, style(panel::TEXT));
        line.text((x + before, LABEL_BASE), &count, style(color));
        pixels(&line, 1.0)
    }

    /// The top left corner of the cell with this index.
    fn place(&self, index: usize) -> (usize, usize) {
        let (row, column) = (index / self.columns, index % self.columns);
        let step = |cell: u32| (cell + FRAME_GAP) as usize;
        (column * step(self.frame.width), row * step(self.frame.height + LABEL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_frame_are_always_shown() {
        assert_eq!(evenly_spaced(3, 64), [0, 1, 2]);
        let shown = evenly_spaced(1000, 64);
        assert_eq!((shown.len(), shown[0], shown[63]), (64, 0, 999));
        assert!(shown.is_sorted_by(|left, right| left < right));
        assert_eq!(evenly_spaced(65, 64).len(), 64);
    }

    #[test]
    fn sheets_keep_their_width_and_near_a_welcome_aspect() {
        for first in [Size::new(1920, 1080), Size::new(640, 480), Size::new(480, 640)] {
            for count in 1..=64 {
                let sheet = Sheet::new(count, first);
                let width = sheet.size().width + panel::WIDTH + 3 * GAP;
                assert!(width <= MAX_SHEET_WIDTH, "{count} frames of {first}: {sheet:?}");
                assert!(sheet.columns * sheet.rows() >= count);
                if count >= 4 {
                    assert!(sheet.strain() < 0.35, "{count} frames of {first}: {sheet:?}");
                }
            }
        }
    }

    #[test]
    fn strips_get_a_cell_of_bearable_aspect() {
        for first in [Size::new(1, 4000), Size::new(4000, 1)] {
            let sheet = Sheet::new(9, first);
            let (long, short) = (
                sheet.frame.width.max(sheet.frame.height),
                sheet.frame.width.min(sheet.frame.height),
            );
            assert!(f64::from(long) <= f64::from(short + 1) * MAX_CELL_ASPECT, "{sheet:?}");
            assert!(sheet.fit(first).width > 0);
        }
    }
}
