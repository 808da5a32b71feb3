//! Several curves in one frame, told apart by colour, marker and gaps.

use crate::drawing::{Anchor, Colour, Drawing, Font, Place, Stroke, text_width};
use crate::scatter::axis::Axis;
use crate::summary::Estimate;

const WIDTH: f64 = 780.0;
const HEIGHT: f64 = 400.0;
/// What lies around the frame: left, top, bottom. The legend is to its right.
const MARGIN: [f64; 3] = [58.0, 62.0, 54.0];
const TEXT: f64 = 12.0;
const TITLE: f64 = 15.0;
/// Room of a legend beside its names, the narrowest and the widest, and the height of its lines.
const LEGEND_MARK: f64 = 56.0;
const LEGEND: [f64; 2] = [150.0, 300.0];
const LEGEND_STEP: f64 = 18.0;
/// Half the width of a marker, and of the ends of a whisker.
const MARKER: f64 = 4.2;
const CAP: f64 = 3.0;
/// As many curves have bands, as many whiskers; more would hide one another.
const BANDS: usize = 3;
const WHISKERS: usize = 5;
/// Whiskers at the same place stand this far apart.
const DODGE: f64 = 3.5;
/// The least distance between texts under the axis.
const BETWEEN: f64 = 6.0;

/// Colours that people who see red or green weakly can tell apart too.
const COLOURS: [Colour; 6] = [
    Colour(0, 114, 178),
    Colour(213, 94, 0),
    Colour(0, 158, 115),
    Colour(190, 96, 150),
    Colour(225, 150, 0),
    Colour(70, 165, 225),
];
/// Markers that are told apart without colour.
const MARKERS: usize = 4;

/// A frame with curves.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What is shown.
    pub title: String,
    /// What the horizontal and the vertical axis count.
    pub axes: [String; 2],
    /// Whether equal steps along the horizontal axis double the value.
    pub doubling: bool,
    /// The curves.
    pub lines: Vec<Line>,
    /// Values to compare them with.
    pub levels: Vec<Level>,
}

/// A curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What it is called in the legend.
    pub name: String,
    /// Where, and how much, from left to right.
    pub points: Vec<(f64, Estimate)>,
}

/// A value that holds all along the horizontal axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// What it is called in the legend.
    pub name: String,
    /// The value.
    pub value: f64,
    /// The curve whose colour it has; it is grey without one.
    pub of: Option<usize>,
}

/// How a curve looks.
#[derive(Clone, Copy)]
struct Look {
    stroke: Stroke,
    marker: usize,
}

impl Look {
    fn of(index: usize) -> Self {
        let colour = COLOURS[index % COLOURS.len()];
        let dashed = index / COLOURS.len() % 2 == 1;
        let marker = (index + index / (2 * COLOURS.len())) % MARKERS;
        Self { stroke: Stroke { colour, width: 2.0, dashed }, marker }
    }

    fn mark(self, drawing: &mut Drawing, (x, y): Place) {
        let (colour, r) = (self.stroke.colour, MARKER);
        match self.marker {
            0 => drawing.disc((x, y), r, colour),
            1 => {
                let r = r * 0.9;
                let corners = [(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)];
                drawing.area(corners, colour, 1.0);
            }
            2 => {
                let corners = [(x, y - 1.2 * r), (x + 1.2 * r, y + r), (x - 1.2 * r, y + r)];
                drawing.area(corners, colour, 1.0);
            }
            _ => {
                let r = 1.3 * r;
                drawing.area([(x, y - r), (x + r, y), (x, y + r), (x - r, y)], colour, 1.0);
            }
        }
    }
}

/// The frame and where values are in it.
struct Frame {
    x: Axis,
    y: Axis,
    doubling: bool,
    right: f64,
    bottom: f64,
}

impl Frame {
    fn across(&self, value: f64) -> f64 {
        self.x.at(if self.doubling { value.log2() } else { value })
    }

    fn at(&self, value: f64, height: f64) -> Place {
        (self.across(value), self.y.at(height))
    }
}

impl Chart {
    /// Draws it. What is no number, or not above 0 where steps double, is left out.
    pub fn draw(&self) -> Drawing {
        let chart = self.finite();
        let names = chart.lines.iter().map(|line| &line.name);
        let names = names.chain(chart.levels.iter().map(|level| &level.name));
        let widest = names.map(|name| text_width(name, TEXT)).fold(0.0, f64::max);
        let legend = (widest + LEGEND_MARK).clamp(LEGEND[0], LEGEND[1]);
        let entries = (chart.lines.len() + chart.levels.len()) as f64;
        let [_, top, bottom] = MARGIN;
        let height = HEIGHT.max(top + entries * LEGEND_STEP + bottom);
        let mut drawing = Drawing::new(WIDTH as u32, height as u32);
        let frame = chart.frame(WIDTH - legend, height - bottom);
        chart.draw_frame(&mut drawing, &frame);
        for level in &chart.levels {
            let ends =
                [(MARGIN[0], frame.y.at(level.value)), (frame.right, frame.y.at(level.value))];
            drawing.line(ends, level.stroke());
        }
        chart.draw_spread(&mut drawing, &frame);
        for (index, line) in chart.lines.iter().enumerate() {
            let look = Look::of(index);
            let places: Vec<Place> =
                line.points.iter().map(|(x, e)| frame.at(*x, e.value)).collect();
            places.iter().for_each(|place| look.mark(&mut drawing, *place));
            drawing.line(places, look.stroke);
        }
        chart.draw_legend(&mut drawing, &frame);
        drawing
    }

    fn finite(&self) -> Self {
        let mut chart = self.clone();
        let shown = |x: f64| x.is_finite() && (x > 0.0 || !self.doubling);
        for line in &mut chart.lines {
            line.points.retain(|(x, e)| shown(*x) && e.value.is_finite());
        }
        chart.levels.retain(|level| level.value.is_finite());
        chart
    }

    fn points(&self) -> impl Iterator<Item = &(f64, Estimate)> {
        self.lines.iter().flat_map(|line| &line.points)
    }

    fn frame(&self, right: f64, bottom: f64) -> Frame {
        let across = self.points().map(|(x, _)| if self.doubling { x.log2() } else { *x });
        let levels = self.levels.iter().map(|level| level.value);
        let heights = self.points().map(|(_, e)| e.value).chain(levels);
        let spread = self.points().flat_map(|(_, e)| [e.low, e.high]);
        let [left, top, _] = MARGIN;
        let x = Axis::new(across, [], (left, right));
        let y = Axis::new(heights, spread, (bottom, top));
        Frame { x, y, doubling: self.doubling, right, bottom }
    }

    fn draw_frame(&self, drawing: &mut Drawing, frame: &Frame) {
        let [left, top, _] = MARGIN;
        let (right, bottom) = (frame.right, frame.bottom);
        let font = |size, anchor| Font { size, colour: Colour::BLACK, anchor };
        drawing.text((left, 24.0), self.title.as_str(), font(TITLE, Anchor::Start));
        let grid = Stroke::solid(Colour::FAINT, 1.0);
        for (value, text) in frame.y.ticks() {
            let y = frame.y.at(value);
            drawing.line([(left, y), (right, y)], grid);
            drawing.text((left - 7.0, y + 4.0), text, font(TEXT, Anchor::End));
        }
        let mut values: Vec<f64> = self.points().map(|(x, _)| *x).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let mut free = f64::NEG_INFINITY;
        for value in values {
            let (x, text) = (frame.across(value), value.to_string());
            drawing.line([(x, bottom), (x, bottom + 4.0)], Stroke::solid(Colour::BLACK, 1.0));
            let half = text_width(&text, TEXT) / 2.0;
            if x - half >= free {
                drawing.text((x, bottom + 18.0), text, font(TEXT, Anchor::Middle));
                free = x + half + BETWEEN;
            }
        }
        let corners = [(left, top), (left, bottom), (right, bottom)];
        drawing.line(corners, Stroke::solid(Colour::BLACK, 1.2));
        let [x, y] = &self.axes;
        let middle = (f64::midpoint(left, right), bottom + 40.0);
        drawing.text(middle, x.as_str(), font(TEXT, Anchor::Middle));
        drawing.text((left - 7.0, top - 12.0), y.as_str(), font(TEXT, Anchor::Start));
    }

    /// Intervals: bands under few curves, whiskers on some, nothing where there are many.
    fn draw_spread(&self, drawing: &mut Drawing, frame: &Frame) {
        let count = self.lines.len();
        for (index, line) in self.lines.iter().enumerate() {
            let colour = Look::of(index).stroke.colour;
            if count <= BANDS && line.points.len() > 1 {
                let upper = line.points.iter().map(|(x, e)| frame.at(*x, e.high));
                let lower = line.points.iter().rev().map(|(x, e)| frame.at(*x, e.low));
                drawing.area(upper.chain(lower).collect::<Vec<Place>>(), colour, 0.14);
            } else if count <= WHISKERS {
                let aside = (index as f64 - (count - 1) as f64 / 2.0) * DODGE;
                for (x, estimate) in &line.points {
                    let x = (frame.across(*x) + aside).clamp(MARGIN[0], frame.right);
                    let ends = [frame.y.at(estimate.low), frame.y.at(estimate.high)];
                    let stroke = Stroke::solid(colour.paler(0.55), 1.0);
                    drawing.line([(x, ends[0]), (x, ends[1])], stroke);
                    for end in ends {
                        drawing.line([(x - CAP, end), (x + CAP, end)], stroke);
                    }
                }
            }
        }
    }

    fn draw_legend(&self, drawing: &mut Drawing, frame: &Frame) {
        let left = frame.right + 18.0;
        let room = ((WIDTH - left - 34.0) / text_width("x", TEXT)) as usize;
        let ink = Font { size: TEXT, colour: Colour::BLACK, anchor: Anchor::Start };
        let mut y = MARGIN[1] + 6.0;
        let mut entry = |drawing: &mut Drawing, name: &str, stroke, look: Option<Look>| {
            drawing.line([(left, y), (left + 24.0, y)], stroke);
            if let Some(look) = look {
                look.mark(drawing, (left + 12.0, y));
            }
            drawing.text((left + 32.0, y + 4.0), shortened(name, room), ink);
            y += LEGEND_STEP;
        };
        for (index, line) in self.lines.iter().enumerate() {
            let look = Look::of(index);
            entry(drawing, &line.name, look.stroke, Some(look));
        }
        for level in &self.levels {
            entry(drawing, &level.name, level.stroke(), None);
        }
    }

    /// Whether intervals are drawn.
    pub fn has_intervals(&self) -> bool {
        self.lines.len() <= WHISKERS
    }
}

impl Level {
    fn stroke(&self) -> Stroke {
        let colour = self.of.map_or(Colour::GREY, |line| Look::of(line).stroke.colour);
        Stroke::dashed(colour, 1.2)
    }
}

/// A name that fits.
fn shortened(name: &str, room: usize) -> String {
    if name.chars().count() <= room {
        return name.to_owned();
    }
    name.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(lines: usize) -> Chart {
        let estimate = |value: f64| Estimate { value, low: value - 30.0, high: value + 2.0 };
        let line = |index: usize| Line {
            name: format!("method <{index}>"),
            points: [32.0, 64.0, 128.0].iter().map(|x| (*x, estimate(x / 2.0))).collect(),
        };
        Chart {
            title: "a < b".into(),
            axes: ["T".into(), "Acc".into()],
            doubling: true,
            lines: (0..lines).map(line).collect(),
            levels: vec![Level { name: "unpruned".into(), value: 90.0, of: None }],
        }
    }

    /// Every number of every point.
    fn places(svg: &str) -> Vec<(f64, f64)> {
        let lists = svg.split("points=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let pairs = lists.flat_map(|list| list.split(' ').filter(|pair| !pair.is_empty()));
        pairs
            .map(|pair| {
                let (x, y) = pair.split_once(',').unwrap();
                (x.parse().unwrap(), y.parse().unwrap())
            })
            .collect()
    }

    #[test]
    fn everything_is_inside() {
        for lines in [0, 1, 3, 5, 8, 30] {
            let svg = chart(lines).draw().svg();
            let height: f64 =
                svg.split("height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
            for (x, y) in places(&svg) {
                assert!(
                    (0.0..=WIDTH).contains(&x) && (0.0..=height).contains(&y),
                    "{lines}: {x} {y}"
                );
            }
            assert!(svg.contains("a &lt; b") && svg.contains("unpruned"));
            assert_eq!(svg.matches("method &lt;").count(), lines);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        let mut odd = chart(2);
        let nothing = Estimate { value: f64::NAN, low: f64::NAN, high: f64::NAN };
        odd.lines[0].points = vec![(0.0, Estimate { value: 1.0, low: 0.0, high: 2.0 })];
        odd.lines[1].points.push((256.0, nothing));
        odd.levels[0].value = f64::INFINITY;
        let svg = odd.draw().svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(!svg.contains(">256<"));
    }

    #[test]
    fn texts_under_the_axis_keep_their_distance() {
        let mut many = chart(1);
        many.doubling = false;
        let estimate = Estimate { value: 1.0, low: 0.0, high: 2.0 };
        many.lines[0].points = (1..=200).map(|x| (f64::from(x), estimate)).collect();
        let svg = many.draw().svg();
        let middles = svg.matches("text-anchor=\"middle\"").count();
        assert!((10..60).contains(&middles), "{middles}");
        many.lines[0].points.clear();
        assert!(many.draw().svg().contains("</svg>"));
    }

    #[test]
    fn a_dozen_curves_look_different() {
        let looks: Vec<String> = (0..24)
            .map(|index| {
                let Look { stroke, marker } = Look::of(index);
                format!("{:?} {} {marker}", stroke.colour, stroke.dashed)
            })
            .collect();
        let mut distinct = looks.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), looks.len());
    }
}
