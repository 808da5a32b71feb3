//! Points of several series with names at them, and the front of those that nothing beats.

pub(crate) mod axis;
mod labels;

use crate::drawing::{Anchor, Colour, Drawing, Font, Place, Stroke, text_width};
use axis::Axis;
use labels::{Rect, place};

const WIDTH: u32 = 1200;
const HEIGHT: u32 = 760;
/// What lies around the frame: left, top, right (with the legend), bottom.
const MARGIN: [f64; 4] = [72.0, 92.0, 226.0, 62.0];
/// The widest legend.
const MAX_LEGEND: f64 = 420.0;
/// Room of a legend beside its names.
const LEGEND_MARK: f64 = 62.0;
const TEXT: f64 = 12.0;
const TITLE: f64 = 18.0;
const RADIUS: f64 = 4.5;
/// Points on the front are larger and have a ring.
const FRONT_RADIUS: f64 = 6.0;
const RING: f64 = 1.6;
const FRONT: Colour = Colour(214, 210, 190);
const FRONT_WIDTH: f64 = 7.0;
/// Height of a line of the legend, and of the ends of a whisker.
const LEGEND_STEP: f64 = 20.0;
const CAP: f64 = 3.5;
/// A label farther from its point than this gets a line to it.
const LEADER: f64 = 13.0;

/// One colour for each series, told apart also beside each other.
const COLOURS: [Colour; 12] = [
    Colour(200, 30, 40),
    Colour(31, 95, 168),
    Colour(40, 140, 60),
    Colour(230, 126, 20),
    Colour(125, 75, 170),
    Colour(20, 160, 175),
    Colour(135, 85, 70),
    Colour(215, 95, 165),
    Colour(150, 150, 30),
    Colour(25, 45, 110),
    Colour(90, 90, 90),
    Colour(95, 190, 110),
];

/// A picture of points. More is better along both axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    /// What is shown.
    pub title: String,
    /// How it came about.
    pub subtitle: String,
    /// What the horizontal and the vertical axis count.
    pub axes: [String; 2],
    /// What is compared.
    pub series: Vec<Series>,
    /// The name of the line on which both are equal, if it is drawn.
    pub diagonal: Option<String>,
    /// What the whiskers are.
    pub whiskers: String,
}

/// Points that are joined.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What they have in common.
    pub name: String,
    /// Whether it is what the others are held against: it is black.
    pub reference: bool,
    /// In the order they are joined.
    pub points: Vec<Point>,
}

/// A point with a whisker along the horizontal axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Where it is.
    pub x: f64,
    /// Where it is.
    pub y: f64,
    /// The whisker's ends.
    pub whisker: (f64, f64),
    /// What stands at it.
    pub label: String,
}

/// The frame and where values are in it.
struct Frame {
    x: Axis,
    y: Axis,
    ends: Rect,
}

impl Frame {
    fn at(&self, (x, y): Place) -> Place {
        (self.x.at(x), self.y.at(y))
    }
}

impl Scatter {
    /// Draws it.
    pub fn draw(&self) -> Drawing {
        let mut drawing = Drawing::new(WIDTH, HEIGHT);
        let frame = self.frame();
        self.draw_frame(&mut drawing, &frame);
        let front = self.front();
        let steps: Vec<Place> = steps(&front).into_iter().map(|place| frame.at(place)).collect();
        drawing.line(steps, Stroke::solid(FRONT, FRONT_WIDTH));
        if self.diagonal.is_some() {
            let low = frame.x.low.max(frame.y.low);
            let high = frame.x.high.min(frame.y.high);
            if low < high {
                let ends = [frame.at((low, low)), frame.at((high, high))];
                drawing.line(ends, Stroke::dashed(Colour::GREY, 1.2));
            }
        }
        for (index, series) in self.series.iter().enumerate() {
            draw_whiskers(&mut drawing, &frame, series, series.colour(index));
        }
        for (index, series) in self.series.iter().enumerate() {
            let points: Vec<Place> = series.points.iter().map(|p| frame.at((p.x, p.y))).collect();
            drawing.line(points, Stroke::solid(series.colour(index), 1.6));
        }
        for (index, series) in self.series.iter().enumerate() {
            for point in &series.points {
                let at = frame.at((point.x, point.y));
                if front.contains(&(point.x, point.y)) {
                    drawing.disc(at, FRONT_RADIUS + RING, Colour::BLACK);
                    drawing.disc(at, FRONT_RADIUS, series.colour(index));
                } else {
                    drawing.disc(at, RADIUS, series.colour(index));
                }
            }
        }
        self.draw_labels(&mut drawing, &frame);
        self.draw_legend(&mut drawing, &frame);
        drawing
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points)
    }

    fn frame(&self) -> Frame {
        let [left, top, right, bottom] = MARGIN;
        let names = self.series.iter().map(|series| text_width(&series.name, TEXT) + LEGEND_MARK);
        let right = names.fold(right, f64::max).min(MAX_LEGEND);
        let ends =
            Rect { left, top, right: f64::from(WIDTH) - right, bottom: f64::from(HEIGHT) - bottom };
        let whiskers = self.points().flat_map(|point| [point.whisker.0, point.whisker.1]);
        let x = Axis::new(self.points().map(|p| p.x), whiskers, (ends.left, ends.right));
        let y = Axis::new(self.points().map(|p| p.y), [], (ends.bottom, ends.top));
        Frame { x, y, ends }
    }

    fn draw_frame(&self, drawing: &mut Drawing, frame: &Frame) {
        let Rect { left, top, right, bottom } = frame.ends;
        let font = |size, colour, anchor| Font { size, colour, anchor };
        drawing.text((left, 34.0), self.title.as_str(), font(TITLE, Colour::BLACK, Anchor::Start));
        let room = ((f64::from(WIDTH) - left) / text_width("x", TEXT)) as usize - 2;
        let subtitle: String = self.subtitle.chars().take(room).collect();
        drawing.text((left, 56.0), subtitle, font(TEXT, Colour::GREY, Anchor::Start));
        let grid = Stroke::solid(Colour::FAINT, 1.0);
        for (value, text) in frame.x.ticks() {
            let x = frame.x.at(value);
            drawing.line([(x, top), (x, bottom)], grid);
            drawing.text((x, bottom + 20.0), text, font(TEXT, Colour::BLACK, Anchor::Middle));
        }
        for (value, text) in frame.y.ticks() {
            let y = frame.y.at(value);
            drawing.line([(left, y), (right, y)], grid);
            drawing.text((left - 8.0, y + 4.0), text, font(TEXT, Colour::BLACK, Anchor::End));
        }
        let corners = [(left, top), (left, bottom), (right, bottom)];
        drawing.line(corners, Stroke::solid(Colour::BLACK, 1.4));
        let [x, y] = &self.axes;
        let middle = f64::midpoint(left, right);
        let ink = font(TEXT, Colour::BLACK, Anchor::Middle);
        drawing.text((middle, bottom + 44.0), x.as_str(), ink);
        drawing.text((left - 8.0, top - 12.0), y.as_str(), Font { anchor: Anchor::Start, ..ink });
    }

    fn draw_labels(&self, drawing: &mut Drawing, frame: &Frame) {
        let anchors: Vec<(Place, &str)> =
            self.points().map(|p| (frame.at((p.x, p.y)), p.label.as_str())).collect();
        let lines: Vec<(Place, Place)> = self
            .series
            .iter()
            .flat_map(|series| series.points.windows(2))
            .map(|pair| (frame.at((pair[0].x, pair[0].y)), frame.at((pair[1].x, pair[1].y))))
            .collect();
        let rects = place(&anchors, &lines, frame.ends, TEXT);
        let colours = self.series.iter().enumerate();
        let colours = colours.flat_map(|(i, s)| s.points.iter().map(move |_| s.colour(i)));
        for (((at, label), rect), colour) in anchors.iter().zip(rects).zip(colours) {
            let near = rect.nearest(*at);
            if (near.0 - at.0).hypot(near.1 - at.1) > LEADER {
                drawing.line([*at, near], Stroke::solid(colour, 0.7));
            }
            drawing.area(rect.corners(), Colour::WHITE, 0.7);
            let font = Font { size: TEXT, colour: colour.darker(0.8), anchor: Anchor::Start };
            drawing.text((rect.left + 1.0, rect.bottom - 2.0), *label, font);
        }
    }

    fn draw_legend(&self, drawing: &mut Drawing, frame: &Frame) {
        let left = frame.ends.right + 22.0;
        let ink = Font { size: TEXT, colour: Colour::BLACK, anchor: Anchor::Start };
        let mut y = frame.ends.top + 6.0;
        for (index, series) in self.series.iter().enumerate() {
            drawing.line([(left, y), (left + 20.0, y)], Stroke::solid(series.colour(index), 1.6));
            drawing.disc((left + 10.0, y), RADIUS, series.colour(index));
            drawing.text((left + 28.0, y + 4.0), series.name.as_str(), ink);
            y += LEGEND_STEP;
        }
        y += LEGEND_STEP / 2.0;
        drawing.line([(left, y), (left + 20.0, y)], Stroke::solid(FRONT, FRONT_WIDTH));
        drawing.text((left + 28.0, y + 4.0), "Pareto front", ink);
        if let Some(name) = &self.diagonal {
            y += LEGEND_STEP;
            drawing.line([(left, y), (left + 20.0, y)], Stroke::dashed(Colour::GREY, 1.2));
            drawing.text((left + 28.0, y + 4.0), name.as_str(), ink);
        }
        y += LEGEND_STEP;
        whisker(drawing, (left, left + 20.0), y, Colour::GREY);
        drawing.text((left + 28.0, y + 4.0), self.whiskers.as_str(), ink);
    }

    /// The points that no other beats in one respect without losing in the other, from left to right.
    fn front(&self) -> Vec<Place> {
        let beaten = |p: &Point| {
            let better = |q: &Point| q.x >= p.x && q.y >= p.y && (q.x > p.x || q.y > p.y);
            self.points().any(better)
        };
        let front = self.points().filter(|point| !beaten(point));
        let mut front: Vec<Place> = front.map(|point| (point.x, point.y)).collect();
        front.sort_by(|a, b| a.0.total_cmp(&b.0));
        front.dedup();
        front
    }
}

/// A front as a staircase: between two points one has the lower of both.
fn steps(front: &[Place]) -> Vec<Place> {
    let corners = front.windows(2).flat_map(|pair| [pair[0], (pair[0].0, pair[1].1)]);
    corners.chain(front.last().copied()).collect()
}

impl Series {
    fn colour(&self, index: usize) -> Colour {
        if self.reference { Colour::BLACK } else { COLOURS[index % COLOURS.len()] }
    }
}

fn draw_whiskers(drawing: &mut Drawing, frame: &Frame, series: &Series, colour: Colour) {
    for point in &series.points {
        let (low, high) = point.whisker;
        if low < high {
            let ends = (frame.x.at(low), frame.x.at(high));
            whisker(drawing, ends, frame.y.at(point.y), colour.paler(0.45));
        }
    }
}

fn whisker(drawing: &mut Drawing, (from, to): (f64, f64), y: f64, colour: Colour) {
    let stroke = Stroke::solid(colour, 1.0);
    drawing.line([(from, y), (to, y)], stroke);
    for end in [from, to] {
        drawing.line([(end, y - CAP), (end, y + CAP)], stroke);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64) -> Point {
        Point { x, y, whisker: (x - 0.1, x + 0.1), label: format!("a<{x}") }
    }

    #[test]
    fn the_front_is_what_nothing_beats() {
        let points = vec![point(1.0, 100.0), point(2.0, 90.0), point(2.0, 95.0), point(3.0, 80.0)];
        let scatter = Scatter {
            title: "t".into(),
            subtitle: "s".into(),
            axes: ["x".into(), "y".into()],
            series: vec![Series { name: "a & b".into(), reference: false, points }],
            diagonal: None,
            whiskers: "min to max".into(),
        };
        assert_eq!(scatter.front(), [(1.0, 100.0), (2.0, 95.0), (3.0, 80.0)]);
        let text = scatter.draw().svg();
        assert!(text.contains("a &amp; b") && text.contains("a&lt;2"), "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"));
        let empty = Scatter { series: Vec::new(), diagonal: Some("d".into()), ..scatter };
        assert!(empty.draw().svg().contains("</svg>"));
    }
}
