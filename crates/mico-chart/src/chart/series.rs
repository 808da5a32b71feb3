//! Series of points with intervals: the data of a chart.

use crate::drawing::Place;

/// Points that share a name, a look and an entry in the legend.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Series {
    /// Its name in the legend; not listed if empty.
    pub name: String,
    /// The points; curves join them in this order.
    pub points: Vec<Point>,
    /// How the points are drawn.
    pub style: Style,
    /// The color and marker of the points.
    pub tone: Tone,
}

/// How the points of a series are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Style {
    /// Markers joined by a line.
    Curve,
    /// Markers without a line.
    Markers,
    /// Small translucent dots, which show where points are dense.
    Cloud,
    /// A star, for the one point that was chosen.
    Star,
}

/// How the color and marker of a series are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tone {
    /// By its index among the chart's series.
    Auto,
    /// The given slot of the palette.
    Slot(usize),
    /// The color of text, for what all others are compared with.
    Ink,
}

/// A value with an interval, such as a confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The value itself, at which the point is drawn.
    pub value: f64,
    /// The lower end of the interval, at most `value`.
    pub low: f64,
    /// The upper end of the interval, at least `value`.
    pub high: f64,
}

/// A point of a series, with intervals along both axes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Point {
    /// The value and interval along the horizontal axis.
    pub x: Interval,
    /// The value and interval along the vertical axis.
    pub y: Interval,
    /// The text beside the point; none if empty.
    pub label: String,
}

impl From<f64> for Interval {
    /// A value without an interval: both ends are the value.
    fn from(value: f64) -> Self {
        Self { value, low: value, high: value }
    }
}

impl Point {
    /// A point without a label; a plain number has no interval.
    pub fn new(x: impl Into<Interval>, y: impl Into<Interval>) -> Self {
        Self { x: x.into(), y: y.into(), label: String::new() }
    }

    /// Sets the text beside the point.
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

    /// A series whose points are joined in their order.
    pub fn curve(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        Self::with(Style::Curve, name, points)
    }

    /// A series of markers without a line.
    pub fn markers(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        Self::with(Style::Markers, name, points)
    }

    /// A series of many small dots.
    pub fn cloud(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        Self::with(Style::Cloud, name, points)
    }

    /// A series of one star, for the point that was chosen.
    pub fn star(name: impl Into<String>, point: Point) -> Self {
        Self::with(Style::Star, name, [point])
    }

    /// Sets the color and marker.
    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}
