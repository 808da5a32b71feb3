//! The legend, to the right of the frame, where it never covers a point.

use super::frame::{BORDER, Frame, TEXT};
use super::look::Look;
use super::marks::{self, FRONT_STROKE, RADIUS};
use super::{Chart, Intervals, Reference, ReferenceShape, Style};
use crate::color::Paint;
use crate::drawing::{Dash, Drawing, Fill, Stroke, TextStyle};
use crate::font;
use crate::text::shorten;

/// Height of a legend line, in units.
pub(super) const STEP: f64 = 19.0;
/// Width of a sample, its distance to the name, and the distance to the frame.
const SAMPLE: f64 = 24.0;
const SPACE: f64 = 8.0;
const APART: f64 = 20.0;
/// The largest width of the legend, as a share of the picture.
const WIDEST: f64 = 0.4;
/// The largest number of lines; further entries are only counted.
const MOST: usize = 60;

/// An entry of the legend: a name and a sample of its look.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    name: String,
    sample: Sample,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Sample {
    Series(Look, Style),
    Line(Stroke),
    Whisker,
    Band,
    None,
}

/// The entries of a chart's legend. A single series needs none: the title names it.
pub(super) fn entries(chart: &Chart) -> Vec<Entry> {
    let series = chart.series.iter().enumerate().map(|(index, series)| {
        (series.name.as_str(), Sample::Series(Look::of(series, index), series.style))
    });
    let front = chart.front.map(|_| ("Pareto front", Sample::Line(FRONT_STROKE)));
    let references = chart
        .references
        .iter()
        .map(|reference| (reference.name.as_str(), Sample::Line(stroke(chart, reference))));
    let interval = match chart.drawn_intervals() {
        Some(Intervals::Bands) => Some((chart.interval_name.as_str(), Sample::Band)),
        Some(_) => Some((chart.interval_name.as_str(), Sample::Whisker)),
        None => None,
    };
    let named = series.chain(front).chain(references).chain(interval);
    let named = named.filter(|(name, _)| !name.is_empty());
    let room = WIDEST * f64::from(chart.size.0);
    let mut entries: Vec<Entry> =
        named.map(|(name, sample)| Entry { name: shorten(name, TEXT, room), sample }).collect();
    if let [Entry { sample: Sample::Series(..), .. }] = entries.as_slice() {
        entries.clear();
    }
    if entries.len() > MOST {
        let more = entries.len() - (MOST - 1);
        entries.truncate(MOST - 1);
        entries.push(Entry { name: format!("and {more} more"), sample: Sample::None });
    }
    entries
}

/// The stroke of a reference: in the color of its series, else told apart by dashes.
pub(super) fn stroke(chart: &Chart, reference: &Reference) -> Stroke {
    let series = reference.of.and_then(|index| Some((chart.series.get(index)?, index)));
    if let ReferenceShape::Segment(_) = reference.shape {
        let paint = series.map_or(Paint::Muted, |(series, index)| Look::of(series, index).paint);
        return Stroke::solid(paint, 1.6);
    }
    if let Some((series, index)) = series {
        return Stroke::dashed(Look::of(series, index).paint, 1.2);
    }
    let gray = chart.references.iter().filter(|each| each.of.is_none());
    let before = gray.take_while(|each| *each != reference).count();
    let dash = [Dash::Dashes, Dash::Dots, Dash::Mixed][before % 3];
    Stroke { dash, ..Stroke::solid(Paint::Muted, 1.3) }
}

/// The width of the legend with the space around it; 0 without entries.
pub(super) fn width(entries: &[Entry], picture: f64) -> f64 {
    if entries.is_empty() {
        return 0.0;
    }
    let widest = entries.iter().map(|entry| font::width(&entry.name, TEXT)).fold(0.0, f64::max);
    (APART + SAMPLE + SPACE + widest + BORDER).min(WIDEST * picture)
}

pub(super) fn draw(drawing: &mut Drawing, frame: &Frame) {
    let left = frame.legend_left() + APART;
    let text = left + SAMPLE + SPACE;
    let room = f64::from(frame.size.0) - BORDER - text;
    let mut y = frame.ends.top + STEP / 2.0;
    for entry in &frame.legend {
        entry.sample.draw(drawing, left, y);
        let base = (text, y + font::CAP_HEIGHT * TEXT / 2.0);
        let name = shorten(&entry.name, TEXT, room + 1.0);
        drawing.text(base, &name, TextStyle::new(TEXT, Paint::Ink));
        y += STEP;
    }
}

impl Sample {
    fn draw(self, drawing: &mut Drawing, left: f64, y: f64) {
        let (right, middle) = (left + SAMPLE, (left + SAMPLE / 2.0, y));
        let line = [(left, y), (right, y)];
        match self {
            Self::Series(look, style) => {
                if style == Style::Curve {
                    drawing.line(line, look.stroke());
                }
                if style == Style::Star {
                    look.star(drawing, middle, RADIUS);
                } else {
                    look.mark(drawing, middle, RADIUS, look.paint);
                }
            }
            Self::Line(stroke) => drawing.line(line, stroke),
            Self::Whisker => marks::whisker(drawing, line, Stroke::solid(Paint::Muted, 1.0)),
            Self::Band => {
                let fill = Fill { paint: Paint::Muted, opacity: 0.25 };
                let corners =
                    [(left, y - 5.0), (right, y - 5.0), (right, y + 5.0), (left, y + 5.0)];
                drawing.area(corners, fill);
            }
            Self::None => {}
        }
    }
}
