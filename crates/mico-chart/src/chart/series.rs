//! What a chart compares: named points with intervals.

use crate::drawing::Place;

/// Points that belong together.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Series {
    /// What they have in common; not in the legend if empty.
    pub name: String,
    /// The points; curves join them in this order.
    pub points: Vec<Point>,
    /// How they are drawn.
    pub style: Style,
    /// Their color and marker.
    pub tone: Tone,
}

/// How the points of a series are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Style {
    /// Markers, joined by a line.
    Curve,
    /// Markers alone.
    Markers,
    /// Small dots that show where there are many.
    Cloud,
    /// A star: the one point that was chosen.
    Star,
}

/// The color and marker of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tone {
    /// By its place among the series.
    Auto,
    /// That of a given place in the palette.
    Slot(usize),
    /// The color of text: what all others are held against.
    Ink,
}

/// A number with an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The number.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A point of a series.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Point {
    /// Along the horizontal axis.
    pub x: Interval,
    /// Along the vertical axis.
    pub y: Interval,
    /// What stands beside it, if anything.
    pub label: String,
}

impl From<f64> for Interval {
    /// A number known exactly.
    fn from(value: f64) -> Self {
        Self { value, low: value, high: value }
    }
}

impl Point {
    /// A point without a label.
    pub fn new(x: impl Into<Interval>, y: impl Into<Interval>) -> Self {
        Self { x: x.into(), y: y.into(), label: String::new() }
    }

    /// The same with words beside it.
    pub fn labeled(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    pub(super) fn place(&self) -> Place {
        (self.x.value, self.y.value)
    }
}

impl Series {
    fn with(
        style: Style,
        name: impl Into<String>,
        points: impl IntoIterator<Item = Point>,
    ) -> Self {
        let points = points.into_iter().collect();
        Self { name: name.into(), points, style, tone: Tone::Auto }
    }

    /// Points joined in their order.
    pub fn curve(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        Self::with(Style::Curve, name, points)
    }

    /// Points alone.
    pub fn markers(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        Self::with(Style::Markers, name, points)
    }

    /// Many points.
    pub fn cloud(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        Self::with(Style::Cloud, name, points)
    }

    /// The point that was chosen.
    pub fn star(name: impl Into<String>, point: Point) -> Self {
        Self::with(Style::Star, name, [point])
    }

    /// The same in another tone.
    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}
