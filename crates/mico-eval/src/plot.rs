//! Curves with bands, as SVG.

use std::fmt::Write as _;

use crate::calibrate::{Calibration, Candidate};
use crate::report::Estimate;

const WIDTH: f64 = 640.0;
const PANEL: f64 = 260.0;
const MARGIN: [f64; 4] = [70.0, 36.0, 24.0, 44.0];
const BLUE: &str = "#1f5fa8";
const GREY: &str = "#8a8a8a";
/// Lines of the grid in a panel.
const STEPS: usize = 4;

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
pub fn svg(panels: &[Panel]) -> String {
    let height = PANEL * panels.len() as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (index, panel) in panels.iter().enumerate() {
        draw(&mut text, panel, PANEL * index as f64);
    }
    text.push_str("</svg>\n");
    text
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

fn draw(text: &mut String, panel: &Panel, offset: f64) {
    let [left, top, right, bottom] = MARGIN;
    let (x0, x1) = bounds(panel.points.iter().map(|point| point.0));
    let ends = panel.points.iter().flat_map(|(_, e)| [e.low, e.high, e.value]);
    let (y0, y1) = bounds(ends.chain([panel.level.1]));
    let x = |value: f64| left + (value - x0) / (x1 - x0) * (WIDTH - left - right);
    let y = |value: f64| offset + top + (y1 - value) / (y1 - y0) * (PANEL - top - bottom);
    let _ = writeln!(
        text,
        "<text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{}</text>",
        offset + 20.0,
        escape(&panel.title)
    );
    for step in 0..=STEPS {
        let value = y0 + (y1 - y0) * step as f64 / STEPS as f64;
        let _ = writeln!(
            text,
            "<line x1=\"{left}\" x2=\"{}\" y1=\"{1:.1}\" y2=\"{1:.1}\" stroke=\"#e4e4e4\"/>\
             <text x=\"{2}\" y=\"{3:.1}\" text-anchor=\"end\">{4}</text>",
            WIDTH - right,
            y(value),
            left - 6.0,
            y(value) + 4.0,
            number(value, y1 - y0)
        );
    }
    let band: Vec<String> = panel
        .points
        .iter()
        .map(|(at, e)| format!("{:.1},{:.1}", x(*at), y(e.high)))
        .chain(panel.points.iter().rev().map(|(at, e)| format!("{:.1},{:.1}", x(*at), y(e.low))))
        .collect();
    let line: Vec<String> =
        panel.points.iter().map(|(at, e)| format!("{:.1},{:.1}", x(*at), y(e.value))).collect();
    let _ = writeln!(
        text,
        "<polygon points=\"{}\" fill=\"{BLUE}\" fill-opacity=\"0.15\"/>\n\
         <line x1=\"{left}\" x2=\"{2}\" y1=\"{3:.1}\" y2=\"{3:.1}\" stroke=\"{GREY}\" stroke-dasharray=\"5 4\"/>\
         <text x=\"{2}\" y=\"{4:.1}\" text-anchor=\"end\" fill=\"{GREY}\">{5}</text>\n\
         <polyline points=\"{1}\" fill=\"none\" stroke=\"{BLUE}\" stroke-width=\"2\"/>",
        band.join(" "),
        line.join(" "),
        WIDTH - right,
        y(panel.level.1),
        y(panel.level.1) - 5.0,
        escape(&panel.level.0)
    );
    for (at, estimate) in &panel.points {
        let star = *at == panel.star;
        let (px, py) = (x(*at), y(estimate.value));
        let mark = if star {
            format!(
                "<text x=\"{px:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"22\" fill=\"{BLUE}\">★</text>",
                py + 8.0
            )
        } else {
            format!("<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"3.5\" fill=\"{BLUE}\"/>")
        };
        let label = offset + PANEL - bottom + 18.0;
        let _ = writeln!(
            text,
            "{mark}<text x=\"{px:.1}\" y=\"{label:.1}\" text-anchor=\"middle\">{at}</text>"
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        f64::midpoint(left, WIDTH - right),
        offset + PANEL - 8.0,
        escape(&panel.axis)
    );
}

/// As many decimals as the range needs.
fn number(value: f64, range: f64) -> String {
    let decimals = if range >= 20.0 { 0 } else { (2.0 - range.log10()).clamp(0.0, 6.0) as usize };
    format!("{value:.decimals$}")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
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
        svg(&[
            panel("Acc (%)", |each| each.acc),
            panel("ΔKL to Stage 1 alone (nats, lower is better)", |each| each.delta_kl),
        ])
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
        let text = svg(&[panel.clone(), Panel { points: Vec::new(), ..panel }]);
        assert!(text.contains("a &lt; b") && text.contains('★') && !text.contains("NaN"));
    }
}
