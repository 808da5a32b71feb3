//! The text panel beside the picture, and the legend under it.

use mico_vision::RgbImage;

use super::shade::{Fate, OUTLINE, STAGE1_OUTLINE};
use super::{Caption, GROUND, Tally};
use crate::color::Paint;
use crate::drawing::{Drawing, RenderError, TextStyle, pixels};
use crate::font;
use crate::geometry::Rect;
use crate::text::wrap;

/// Width of the panel, in pixels.
pub(super) const WIDTH: u32 = 480;
/// Colors of headings and of text, in RGB.
pub(super) const HEADING: [u8; 3] = [140, 150, 165];
pub(super) const TEXT: [u8; 3] = [236, 238, 242];
/// Font sizes of headings and of text.
const HEADING_SIZE: f64 = 15.0;
pub(super) const TEXT_SIZE: f64 = 18.0;
/// Line heights of headings and of text.
const HEADING_LINE: f64 = 24.0;
const TEXT_LINE: f64 = 26.0;
/// Side of a legend sample.
const SAMPLE: f64 = 28.0;
/// Width of the outline of a legend sample.
const SAMPLE_OUTLINE: f64 = 2.0;
/// Distance from a sample to its name, and height of a legend line.
const SAMPLE_SPACE: f64 = 12.0;
const LEGEND_LINE: f64 = SAMPLE + 10.0;
/// Space between the sections of the panel.
const SECTION_GAP: f64 = 20.0;
/// The color of the legend samples before shading.
const SAMPLE_COLOR: [u8; 3] = [206, 120, 78];

/// A line of the panel.
enum Row {
    Heading(&'static str),
    Text(String),
    Legend(String, Fate),
    /// A line of text below a legend line, aligned with its name.
    Note(String),
    Gap,
}

impl Row {
    fn height(&self) -> f64 {
        match self {
            Self::Heading(_) | Self::Note(_) => HEADING_LINE,
            Self::Text(_) => TEXT_LINE,
            Self::Legend(..) => LEGEND_LINE,
            Self::Gap => SECTION_GAP,
        }
    }

    fn draw(&self, drawing: &mut Drawing, top: f64) {
        let heading = TextStyle::new(HEADING_SIZE, paint(HEADING));
        let text = TextStyle::new(TEXT_SIZE, paint(TEXT));
        let name = SAMPLE + SAMPLE_SPACE;
        match self {
            Self::Heading(words) => drawing.text((0.0, top + HEADING_SIZE), words, heading),
            Self::Text(words) => drawing.text((0.0, top + TEXT_SIZE), words, text),
            Self::Note(words) => drawing.text((name, top + HEADING_SIZE), words, heading),
            Self::Legend(words, fate) => {
                sample(drawing, top, *fate);
                let base = top + f64::midpoint(SAMPLE, font::CAP_HEIGHT * TEXT_SIZE);
                drawing.text((name, base), words, text);
            }
            Self::Gap => {}
        }
    }
}

pub(super) fn paint([r, g, b]: [u8; 3]) -> Paint {
    Paint::Fixed(crate::color::Color(r, g, b))
}

/// Draws the panel as high as its text needs; `frames` is a remark on a video's frames, or empty.
pub(super) fn draw(
    caption: &Caption<'_>,
    frames: &str,
    tally: &Tally,
) -> Result<RgbImage, RenderError> {
    let rows = rows(caption, frames, tally);
    let height: f64 = rows.iter().map(Row::height).sum();
    let mut drawing = Drawing::on(paint(GROUND), WIDTH, height.ceil() as u32);
    let mut top = 0.0;
    for row in &rows {
        row.draw(&mut drawing, top);
        top += row.height();
    }
    pixels(&drawing, 1.0)
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
        let lines = wrap(text, TEXT_SIZE, f64::from(WIDTH));
        if !lines.is_empty() {
            rows.push(Row::Heading(heading));
            rows.extend(lines.into_iter().map(Row::Text));
            rows.push(Row::Gap);
        }
    }
    rows.push(Row::Legend(format!("kept to the end: {}", tally.kept), Fate::Kept));
    if tally.blind > 0 {
        rows.push(Row::Note(format!("{} of them show only padding", tally.blind)));
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

fn sample(drawing: &mut Drawing, top: f64, fate: Fate) {
    let square = |inset: f64| {
        let (near, far) = (inset, SAMPLE - inset);
        Rect { left: near, top: top + near, right: far, bottom: top + far }.corners()
    };
    let outline = match fate {
        Fate::Kept => Some(OUTLINE),
        Fate::Stage1 => Some(STAGE1_OUTLINE),
        Fate::Dropped | Fate::Unseen => None,
    };
    if let Some(color) = outline {
        drawing.area(square(0.0), paint(color));
    }
    let inset = if outline.is_some() { SAMPLE_OUTLINE } else { 0.0 };
    drawing.area(square(inset), paint(fate.color(SAMPLE_COLOR)));
}
