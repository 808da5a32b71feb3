//! The marks inside a chart's frame: curves, markers, intervals, references and point labels.

use super::frame::{Frame, TEXT};
use super::labels::{self, DESCENT, PAD};
use super::legend;
use super::look::Look;
use super::{Chart, Intervals, ReferenceShape, Series, Style};
use crate::color::Paint;
use crate::drawing::{Dash, Drawing, Fill, Place, Stroke, TextStyle};
use crate::geometry::Rect;
use crate::text::shorten;

/// Radii of markers: usual, on the Pareto front with its ring, and in a cloud.
pub(super) const RADIUS: f64 = 4.2;
const FRONT_RADIUS: f64 = 5.6;
const RING: f64 = 1.6;
const CLOUD_RADIUS: f64 = 1.9;
/// Opacities of clouds, bands, whiskers and of the halo behind labels.
const CLOUD_OPACITY: f64 = 0.65;
const BAND_OPACITY: f64 = 0.14;
const WHISKER_OPACITY: f64 = 0.5;
const HALO_OPACITY: f64 = 0.7;
/// The stroke of the Pareto front: a wide line under the markers.
pub(super) const FRONT_STROKE: Stroke =
    Stroke { paint: Paint::Front, width: 7.0, dash: Dash::None, opacity: 1.0 };
/// Half the width of the bars at a whisker's ends.
const CAP: f64 = 3.5;
/// Horizontal distance between the whiskers of curves that share their x values.
const DODGE: f64 = 3.5;
/// A label farther from its point than this gets a leader line to it.
const LEADER: f64 = 13.0;
/// The largest width of a point's label, in units; longer text is shortened.
const WIDEST_LABEL: f64 = 220.0;

pub(super) fn draw(drawing: &mut Drawing, chart: &Chart, frame: &Frame) {
    let steps: Vec<Place> = chart.front_steps().into_iter().map(|place| frame.at(place)).collect();
    drawing.line(steps, FRONT_STROKE);
    draw_references(drawing, chart, frame);
    draw_intervals(drawing, chart, frame);
    let looks = || chart.series.iter().enumerate().map(|(i, series)| (series, Look::of(series, i)));
    for (series, look) in looks().filter(|(series, _)| series.style == Style::Curve) {
        let points: Vec<Place> = series.points.iter().map(|p| frame.at(p.place())).collect();
        drawing.line(points, look.stroke());
    }
    let front = chart.front_places();
    for (series, look) in looks() {
        for point in &series.points {
            let at = frame.at(point.place());
            match series.style {
                Style::Cloud => drawing.disc(at, CLOUD_RADIUS, look.veil(CLOUD_OPACITY)),
                Style::Star => look.star(drawing, at, RADIUS),
                _ if front.contains(&point.place()) => {
                    look.mark(drawing, at, FRONT_RADIUS + RING, Paint::Ink);
                    look.mark(drawing, at, FRONT_RADIUS, look.paint);
                }
                _ => look.mark(drawing, at, RADIUS, look.paint),
            }
        }
    }
    draw_labels(drawing, chart, frame);
}

fn draw_references(drawing: &mut Drawing, chart: &Chart, frame: &Frame) {
    let Rect { left, top, right, bottom } = frame.ends;
    for reference in &chart.references {
        let line = match reference.shape {
            ReferenceShape::Level(value) => {
                let y = frame.y.at(value);
                [(left, y), (right, y)]
            }
            ReferenceShape::Upright(value) => {
                let x = frame.x.at(value);
                [(x, top), (x, bottom)]
            }
            ReferenceShape::Segment(ends) => ends.map(|end| frame.at(end)),
            ReferenceShape::Diagonal => {
                let (x, y) = (frame.x.ends(), frame.y.ends());
                let (low, high) = (x.0.max(y.0), x.1.min(y.1));
                if low >= high {
                    continue;
                }
                [frame.at((low, low)), frame.at((high, high))]
            }
        };
        drawing.line(line, legend::stroke(chart, reference));
    }
}

fn draw_intervals(drawing: &mut Drawing, chart: &Chart, frame: &Frame) {
    let Some(kind) = chart.drawn_intervals() else { return };
    // Curves share their x values only where the chart chose whiskers in place of bands.
    let dodge = if chart.intervals == Intervals::Adaptive { DODGE } else { 0.0 };
    let middle = chart.series.len().saturating_sub(1) as f64 / 2.0;
    for (index, series) in chart.series.iter().enumerate() {
        let look = Look::of(series, index);
        match series.style {
            Style::Cloud | Style::Star => {}
            Style::Curve if kind == Intervals::Bands && series.points.len() > 1 => {
                draw_band(drawing, frame, series, look);
            }
            _ => draw_whiskers(drawing, frame, series, (look, (index as f64 - middle) * dodge)),
        }
    }
}

fn draw_band(drawing: &mut Drawing, frame: &Frame, series: &Series, look: Look) {
    let upper = series.points.iter().map(|p| frame.at((p.x.value, p.y.high)));
    let lower = series.points.iter().rev().map(|p| frame.at((p.x.value, p.y.low)));
    drawing.area(upper.chain(lower).collect::<Vec<Place>>(), look.veil(BAND_OPACITY));
}

fn draw_whiskers(
    drawing: &mut Drawing,
    frame: &Frame,
    series: &Series,
    (look, aside): (Look, f64),
) {
    let stroke = Stroke { opacity: WHISKER_OPACITY, ..Stroke::solid(look.paint, 1.3) };
    for point in &series.points {
        let (x, y) = frame.at(point.place());
        if point.x.low < point.x.high {
            let ends = [(frame.x.at(point.x.low), y), (frame.x.at(point.x.high), y)];
            whisker(drawing, ends, stroke);
        }
        if point.y.low < point.y.high {
            let x = (x + aside).max(frame.ends.left).min(frame.ends.right);
            let ends = [(x, frame.y.at(point.y.low)), (x, frame.y.at(point.y.high))];
            whisker(drawing, ends, stroke);
        }
    }
}

/// Draws an error bar: a line along an axis with a bar at each end.
pub(super) fn whisker(drawing: &mut Drawing, ends: [Place; 2], stroke: Stroke) {
    let level = ends[0].1 == ends[1].1;
    drawing.line(ends, stroke);
    for (x, y) in ends {
        let bar = if level { [(x, y - CAP), (x, y + CAP)] } else { [(x - CAP, y), (x + CAP, y)] };
        drawing.line(bar, stroke);
    }
}

fn draw_labels(drawing: &mut Drawing, chart: &Chart, frame: &Frame) {
    let points = chart.series.iter().enumerate().flat_map(|(index, series)| {
        let look = Look::of(series, index);
        series.points.iter().map(move |point| (point, look))
    });
    let labeled: Vec<(Place, String, Look)> = points
        .map(|(p, look)| (frame.at(p.place()), shorten(&p.label, TEXT, WIDEST_LABEL), look))
        .filter(|(_, label, _)| !label.is_empty())
        .collect();
    let curves = chart.series.iter().filter(|series| series.style == Style::Curve);
    let lines: Vec<(Place, Place)> = curves
        .flat_map(|series| series.points.windows(2))
        .map(|pair| (frame.at(pair[0].place()), frame.at(pair[1].place())))
        .collect();
    let anchors: Vec<(Place, &str)> =
        labeled.iter().map(|(at, label, _)| (*at, label.as_str())).collect();
    let rects = labels::place(&anchors, &lines, frame.ends, TEXT);
    for ((at, label, look), rect) in labeled.iter().zip(rects) {
        if rect.distance(*at) > LEADER {
            drawing.line([*at, rect.nearest(*at)], Stroke::solid(look.paint, 0.7));
        }
        drawing.area(rect.corners(), Fill { paint: Paint::Paper, opacity: HALO_OPACITY });
        let base = (rect.left + PAD, rect.bottom - PAD - DESCENT * TEXT);
        drawing.text(base, label, TextStyle::new(TEXT, look.text));
    }
}
