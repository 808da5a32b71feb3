//! Curves with bands.

use std::f64::consts::{PI, TAU};

use crate::calibrate::{Calibration, Candidate};
use crate::drawing::{Anchor, Colour, Drawing, Font, Place, Stroke};
use crate::summary::Estimate;

const WIDTH: f64 = 640.0;
const PANEL: f64 = 260.0;
const MARGIN: [f64; 4] = [70.0, 36.0, 24.0, 44.0];
const TEXT: f64 = 12.0;
const TITLE: f64 = 14.0;
const BLUE: Colour = Colour(31, 95, 168);
/// Lines of the grid in a panel.
const STEPS: usize = 4;
/// The tips of a star and the corners between them, from its middle.
const STAR: [f64; 2] = [10.0, 4.0];

/// A curve with its band, and a level to compare it with.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What is drawn.
    pub title: String,
    /// Where, and how much.
    pub points: Vec<(f64, Estimate)>,
    /// A dashed line with its name.
    pub level: (String, f64),
    /// The point with a star.
    pub star: f64,
    /// What the horizontal axis counts.
    pub axis: String,
}

/// Panels one above the other.
pub fn draw(panels: &[Panel]) -> Drawing {
    let mut drawing = Drawing::new(WIDTH as u32, (PANEL * panels.len() as f64) as u32);
    for (index, panel) in panels.iter().enumerate() {
        draw_panel(&mut drawing, panel, PANEL * index as f64);
    }
    drawing
}

/// Bounds that are neither empty nor without width.
fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return (0.0, 1.0);
    }
    let room = ((high - low) * 0.08).max(1e-6);
    (low - room, high + room)
}

fn draw_panel(drawing: &mut Drawing, panel: &Panel, offset: f64) {
    let [left, top, right, bottom] = MARGIN;
    let (x0, x1) = bounds(panel.points.iter().map(|point| point.0));
    let ends = panel.points.iter().flat_map(|(_, e)| [e.low, e.high, e.value]);
    let (y0, y1) = bounds(ends.chain([panel.level.1]));
    let right = WIDTH - right;
    let x = |value: f64| left + (value - x0) / (x1 - x0) * (right - left);
    let y = |value: f64| offset + top + (y1 - value) / (y1 - y0) * (PANEL - top - bottom);
    let font = |anchor: Anchor| Font { size: TEXT, colour: Colour::BLACK, anchor };
    let title = Font { size: TITLE, ..font(Anchor::Start) };
    drawing.text((left, offset + 20.0), panel.title.as_str(), title);
    for step in 0..=STEPS {
        let value = y0 + (y1 - y0) * step as f64 / STEPS as f64;
        let ends = [(left, y(value)), (right, y(value))];
        drawing.line(ends, Stroke::solid(Colour::FAINT, 1.0));
        let text = number(value, y1 - y0);
        drawing.text((left - 6.0, y(value) + 4.0), text, font(Anchor::End));
    }
    let places = |of: fn(&Estimate) -> f64| {
        panel.points.iter().map(|(at, e)| (x(*at), y(of(e)))).collect::<Vec<Place>>()
    };
    let band = places(|e| e.high).into_iter().chain(places(|e| e.low).into_iter().rev());
    drawing.area(band.collect::<Vec<Place>>(), BLUE, 0.15);
    let level = y(panel.level.1);
    drawing.line([(left, level), (right, level)], Stroke::dashed(Colour::GREY, 1.0));
    let grey = Font { colour: Colour::GREY, ..font(Anchor::End) };
    drawing.text((right, level - 5.0), panel.level.0.as_str(), grey);
    drawing.line(places(|e| e.value), Stroke::solid(BLUE, 2.0));
    for ((at, _), place) in panel.points.iter().zip(places(|e| e.value)) {
        if *at == panel.star {
            drawing.area(star(place), BLUE, 1.0);
        } else {
            drawing.disc(place, 3.5, BLUE);
        }
        let below = (place.0, offset + PANEL - bottom + 18.0);
        drawing.text(below, at.to_string(), font(Anchor::Middle));
    }
    let middle = (f64::midpoint(left, right), offset + PANEL - 8.0);
    drawing.text(middle, panel.axis.as_str(), font(Anchor::Middle));
}

/// A star of five tips, one of them upwards.
fn star((x, y): Place) -> Vec<Place> {
    let corner = |index: usize| {
        let (angle, radius) = (PI + TAU * index as f64 / 10.0, STAR[index % 2]);
        (x + radius * angle.sin(), y + radius * angle.cos())
    };
    (0..10).map(corner).collect()
}

/// As many decimals as the range needs.
fn number(value: f64, range: f64) -> String {
    let decimals = if range >= 20.0 { 0 } else { (2.0 - range.log10()).clamp(0.0, 6.0) as usize };
    format!("{value:.decimals$}")
}

impl Calibration {
    /// Accuracy and ΔKL over the refinement block.
    pub fn svg(&self) -> String {
        let panel = |title: &str, of: fn(&Candidate) -> Estimate| Panel {
            title: format!("{title}, T={}, {} items", self.tokens, self.items),
            points: self
                .candidates
                .iter()
                .filter_map(|each| Some((each.refine_layer? as f64, of(each))))
                .collect(),
            level: ("Stage 1 alone".into(), of(&self.stage1_only).value),
            star: self.best as f64,
            axis: "refinement after block K".into(),
        };
        let panels = [
            panel("Acc (%)", |each| each.acc),
            panel("ΔKL to Stage 1 alone (nats, lower is better)", |each| each.delta_kl),
        ];
        draw(&panels).svg()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_inside() {
        let estimate = |value: f64| Estimate { value, low: value - 1.0, high: value + 1.0 };
        let panel = Panel {
            title: "a < b".into(),
            points: vec![(1.0, estimate(50.0)), (2.0, estimate(80.0))],
            level: ("level".into(), 60.0),
            star: 2.0,
            axis: "K".into(),
        };
        let text = draw(&[panel.clone(), Panel { points: Vec::new(), ..panel }]).svg();
        // A band and a star in the first panel, an empty band in the second.
        assert_eq!(text.matches("<polygon").count(), 3);
        assert!(text.contains("a &lt; b") && !text.contains("NaN"));
    }
}
