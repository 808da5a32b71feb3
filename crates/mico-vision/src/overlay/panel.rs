//! The words beside the picture and the legend under them.

use super::shade::{Fate, OUTLINE, STAGE1_OUTLINE};
use super::text::{CELL, LINE, line, wrap};
use super::{Caption, GROUND, Tally};
use crate::pixels::{RgbImage, Size};

/// Characters per line.
const COLUMNS: usize = 30;
/// Width of the panel.
pub(super) const WIDTH: u32 = (COLUMNS * CELL) as u32;
/// Colour of headings.
pub(super) const HEADING: [u8; 3] = [140, 150, 165];
/// Colour of text.
pub(super) const TEXT: [u8; 3] = [236, 238, 242];
/// Side of a legend's sample.
const SAMPLE: usize = 28;
/// Distance from one legend line to the next.
const LEGEND_LINE: usize = SAMPLE + 10;
/// Space between sections.
const SECTION_GAP: usize = 20;
/// What the legend's samples show.
const SAMPLE_COLOUR: [u8; 3] = [206, 120, 78];

/// One line of the panel.
enum Row {
    Text(String, [u8; 3]),
    Legend(String, Fate),
    Gap,
}

impl Row {
    fn height(&self) -> usize {
        match self {
            Self::Text(..) => LINE,
            Self::Legend(..) => LEGEND_LINE,
            Self::Gap => SECTION_GAP,
        }
    }
}

/// Draws the panel as high as its words need; `frames` is what there is to say of a video's frames.
pub(super) fn draw(caption: &Caption<'_>, frames: &str, tally: &Tally) -> RgbImage {
    let rows = rows(caption, frames, tally);
    let height: usize = rows.iter().map(Row::height).sum();
    let size = Size::new(WIDTH, u32::try_from(height).unwrap_or(u32::MAX));
    let mut out = RgbImage::filled(size, GROUND);
    let mut y = 0;
    for row in &rows {
        match row {
            Row::Text(text, colour) => line(&mut out, text, (0, y), *colour),
            Row::Legend(text, fate) => {
                sample(&mut out, y, *fate);
                line(&mut out, text, (SAMPLE + CELL, y + (SAMPLE - CELL) / 2), TEXT);
            }
            Row::Gap => {}
        }
        y += row.height();
    }
    out
}

fn rows(caption: &Caption<'_>, frames: &str, tally: &Tally) -> Vec<Row> {
    let mut rows = Vec::new();
    let sections = [
        ("Question", caption.question),
        ("Answer", caption.answer),
        ("Visual tokens", caption.counts),
        ("Frames", frames),
    ];
    for (heading, text) in sections {
        let lines = wrap(text, COLUMNS);
        if !lines.is_empty() {
            rows.push(Row::Text(heading.to_owned(), HEADING));
            rows.extend(lines.into_iter().map(|line| Row::Text(line, TEXT)));
            rows.push(Row::Gap);
        }
    }
    rows.push(Row::Legend(format!("kept to the end: {}", tally.kept), Fate::Kept));
    if tally.blind > 0 {
        rows.push(Row::Text(format!("   ({} show only padding)", tally.blind), HEADING));
    }
    if let Some(refined) = tally.refined {
        rows.push(Row::Legend(format!("dropped in Stage 2: {refined}"), Fate::Stage1));
        rows.push(Row::Legend(format!("dropped in Stage 1: {}", tally.dropped), Fate::Dropped));
    } else if tally.dropped > 0 {
        rows.push(Row::Legend(format!("dropped: {}", tally.dropped), Fate::Dropped));
    }
    if tally.unseen {
        rows.push(Row::Legend("outside the model's view".to_owned(), Fate::Unseen));
    }
    rows
}

fn sample(out: &mut RgbImage, top: usize, fate: Fate) {
    for y in 0..SAMPLE {
        for x in 0..SAMPLE {
            let border = x.min(y).min(SAMPLE - 1 - x).min(SAMPLE - 1 - y) < 2;
            let colour = match fate {
                Fate::Kept if border => OUTLINE,
                Fate::Stage1 if border => STAGE1_OUTLINE,
                fate => fate.colour(SAMPLE_COLOUR),
            };
            out.put(x, top + y, colour);
        }
    }
}
