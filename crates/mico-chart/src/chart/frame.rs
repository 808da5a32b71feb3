//! The frame of a chart: its position, its axes, and the text around it.

use super::legend::{self, Entry};
use super::{Chart, Point, ReferenceShape};
use crate::axis::{Row, Scale, Ticks, apart};
use crate::color::Paint;
use crate::drawing::{Anchor, Drawing, Place, Stroke, TextStyle};
use crate::font;
use crate::geometry::Rect;
use crate::text::shorten;

/// Font sizes of text and title, in units.
pub(super) const TEXT: f64 = 12.0;
const TITLE: f64 = 16.0;
/// Baseline of the title from the top, and steps to the baselines of the lines below it.
const TITLE_BASE: f64 = 28.0;
const SUBTITLE_STEP: f64 = 20.0;
const LABEL_STEP: f64 = 23.0;
/// Distance from the last of these lines to the frame.
const ABOVE: f64 = 12.0;
/// Space below the frame, with and without an axis label under the ticks.
const BELOW: f64 = 52.0;
const BELOW_BARE: f64 = 30.0;
/// The least space at the left and right of the frame.
const LEAST_LEFT: f64 = 46.0;
const LEAST_RIGHT: f64 = 24.0;
/// Margin at the border of the picture.
pub(super) const BORDER: f64 = 14.0;
/// Distance from a tick label or row name to the frame.
const TICK_SPACE: f64 = 8.0;
/// Approximate distance of ticks along the horizontal and vertical axes.
const ACROSS: f64 = 84.0;
const UP: f64 = 40.0;
/// The largest width of row names and notes, as a share of the picture.
const WIDEST_NAME: f64 = 0.35;

/// The layout of a chart: where its frame is and how values map into it.
pub(super) struct Frame {
    /// Width and height of the whole picture, in units.
    pub(super) size: (u32, u32),
    /// The plot area inside the picture.
    pub(super) ends: Rect,
    pub(super) legend: Vec<Entry>,
    pub(super) x: Scale,
    pub(super) y: Scale,
    x_ticks: Vec<(f64, String)>,
    y_ticks: Vec<(f64, String)>,
    /// Width of the notes to the right of rows; 0 without rows.
    notes: f64,
}

impl Frame {
    pub(super) fn new(chart: &Chart) -> Self {
        let legend = legend::entries(chart);
        let width = f64::from(chart.size.0);
        let top = title_lines(chart).last().map_or(0.0, |(base, _)| *base) + ABOVE;
        let below = if chart.x.label.is_empty() { BELOW_BARE } else { BELOW };
        let height = f64::from(chart.size.1).max(top + legend.len() as f64 * legend::STEP + below);
        let bottom = height - below;

        let y = y_scale(chart, (bottom, top));
        let (y_ticks, names, notes) = match &chart.y.ticks {
            Ticks::Rows(rows) => {
                let widest = |of: fn(&Row) -> &str| {
                    let room = WIDEST_NAME * width;
                    let names = rows.iter().map(|row| shorten(of(row), TEXT, room));
                    let widths = names.map(|name| font::width(&name, TEXT) + TICK_SPACE);
                    widths.fold(0.0, f64::max)
                };
                (Vec::new(), widest(|row| &row.name), widest(|row| &row.note))
            }
            Ticks::AtPoints => (points(chart, |p| p.y.value), 0.0, 0.0),
            Ticks::Round => (y.round_ticks(UP), 0.0, 0.0),
        };
        let texts = y_ticks.iter().map(|(_, text)| font::width(text, TEXT) + TICK_SPACE);
        let left = (texts.fold(names, f64::max) + BORDER).max(LEAST_LEFT);
        let right = width - (notes + legend::width(&legend, width)).max(LEAST_RIGHT);
        let ends = Rect { left, top, right: right.max(left + 1.0), bottom };

        let x = x_scale(chart, (ends.left, ends.right));
        let x_ticks = match chart.x.ticks {
            Ticks::Round => x.round_ticks(ACROSS),
            Ticks::AtPoints => points(chart, |p| p.x.value),
            Ticks::Rows(_) => Vec::new(),
        };
        let x_ticks = apart(x_ticks, &x, TEXT);
        let size = (chart.size.0, height.ceil() as u32);
        Self { size, ends, legend, x, y, x_ticks, y_ticks, notes }
    }

    pub(super) fn at(&self, (x, y): Place) -> Place {
        (self.x.at(x), self.y.at(y))
    }

    /// The left border of the legend.
    pub(super) fn legend_left(&self) -> f64 {
        self.ends.right + self.notes
    }

    /// Draws titles, grid, ticks and labels: all but marks and legend.
    pub(super) fn draw(&self, drawing: &mut Drawing, chart: &Chart) {
        self.draw_titles(drawing, chart);
        self.draw_grid(drawing);
        if let Ticks::Rows(rows) = &chart.y.ticks {
            self.draw_rows(drawing, rows);
        }
        let Rect { left, top, right, bottom } = self.ends;
        let corners = [(left, top), (left, bottom), (right, bottom)];
        drawing.line(corners, Stroke::solid(Paint::Ink, 1.2));
    }

    fn draw_titles(&self, drawing: &mut Drawing, chart: &Chart) {
        let width = f64::from(self.size.0);
        let Rect { left, right, bottom, .. } = self.ends;
        for (base, line) in title_lines(chart) {
            let (text, style) = match line {
                TitleLine::Title => (&chart.title, TextStyle::new(TITLE, Paint::Ink)),
                TitleLine::Subtitle => (&chart.subtitle, TextStyle::new(TEXT, Paint::Muted)),
                TitleLine::Label => (&chart.y.label, TextStyle::new(TEXT, Paint::Ink)),
            };
            let text = shorten(text, style.size, width - 2.0 * BORDER);
            drawing.text((BORDER, base), &text, style);
        }
        let middle = f64::midpoint(left, right);
        let room = 2.0 * (middle.min(width - middle) - BORDER);
        let label = shorten(&chart.x.label, TEXT, room);
        let style = TextStyle::new(TEXT, Paint::Ink).anchored(Anchor::Middle);
        drawing.text((middle, bottom + 40.0), &label, style);
    }

    fn draw_grid(&self, drawing: &mut Drawing) {
        let Rect { left, top, right, bottom } = self.ends;
        let grid = Stroke::solid(Paint::Grid, 1.0);
        let ink = TextStyle::new(TEXT, Paint::Ink);
        for (value, text) in &self.x_ticks {
            let x = self.x.at(*value);
            drawing.line([(x, top), (x, bottom)], grid);
            drawing.text((x, bottom + 18.0), text, ink.anchored(Anchor::Middle));
        }
        for (value, text) in &self.y_ticks {
            let y = self.y.at(*value);
            drawing.line([(left, y), (right, y)], grid);
            drawing.text((left - TICK_SPACE, centered(y)), text, ink.anchored(Anchor::End));
        }
    }

    fn draw_rows(&self, drawing: &mut Drawing, rows: &[Row]) {
        let Rect { left, right, .. } = self.ends;
        for (index, row) in rows.iter().enumerate() {
            let y = self.y.at(-(index as f64));
            drawing.line([(left, y), (right, y)], Stroke::solid(Paint::Grid, 1.0));
            let name = shorten(&row.name, TEXT, left - TICK_SPACE - BORDER + 1.0);
            let ink = TextStyle::new(TEXT, Paint::Ink);
            drawing.text((left - TICK_SPACE, centered(y)), &name, ink.anchored(Anchor::End));
            let note = shorten(&row.note, TEXT, self.notes - TICK_SPACE + 1.0);
            let muted = TextStyle::new(TEXT, Paint::Muted);
            drawing.text((right + TICK_SPACE, centered(y)), &note, muted);
        }
    }
}

/// The baseline of text that is vertically centred at `y`.
fn centered(y: f64) -> f64 {
    y + font::CAP_HEIGHT * TEXT / 2.0
}

/// A line of text above the frame.
enum TitleLine {
    Title,
    Subtitle,
    Label,
}

/// The lines above the frame that are not empty, with their baselines.
fn title_lines(chart: &Chart) -> Vec<(f64, TitleLine)> {
    let lines = [
        (&chart.title, TITLE_BASE, TitleLine::Title),
        (&chart.subtitle, SUBTITLE_STEP, TitleLine::Subtitle),
        (&chart.y.label, LABEL_STEP, TitleLine::Label),
    ];
    let mut base = 0.0;
    let there = lines.into_iter().filter(|(text, ..)| !text.is_empty());
    there
        .map(|(_, step, line)| {
            base += step;
            (base, line)
        })
        .collect()
}

/// The values of all points along one axis, with their labels.
fn points(chart: &Chart, of: fn(&Point) -> f64) -> Vec<(f64, String)> {
    let mut values: Vec<f64> = chart.points().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values.into_iter().map(|value| (value, value.to_string())).collect()
}

fn y_scale(chart: &Chart, ends: (f64, f64)) -> Scale {
    let references = chart.references.iter().flat_map(|reference| match reference.shape {
        ReferenceShape::Level(value) => vec![value],
        ReferenceShape::Segment(ends) => ends.map(|end| end.1).to_vec(),
        ReferenceShape::Upright(_) | ReferenceShape::Diagonal => Vec::new(),
    });
    let values = chart.points().map(|p| p.y.value).chain(references);
    chart.y.lay_out(values, chart.points().flat_map(|p| [p.y.low, p.y.high]), ends)
}

fn x_scale(chart: &Chart, ends: (f64, f64)) -> Scale {
    let references = chart.references.iter().flat_map(|reference| match reference.shape {
        ReferenceShape::Upright(value) => vec![value],
        ReferenceShape::Segment(ends) => ends.map(|end| end.0).to_vec(),
        ReferenceShape::Level(_) | ReferenceShape::Diagonal => Vec::new(),
    });
    let values = chart.points().map(|p| p.x.value).chain(references);
    chart.x.lay_out(values, chart.points().flat_map(|p| [p.x.low, p.x.high]), ends)
}
