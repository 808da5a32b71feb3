//! The description of a chart: axes, series, references, a Pareto front. [`Chart::draw`] renders it.
//!
//! Every plot of the workspace is a [`Chart`]: curves over a budget, quality against cost, clouds of points,
//! rows of intervals.

mod frame;
mod front;
mod labels;
mod legend;
mod look;
mod marks;
mod reference;
mod series;

use crate::axis::Axis;
use crate::drawing::Drawing;

pub use reference::{Reference, ReferenceShape};
pub use series::{Interval, Point, Series, Style, Tone};

/// The default size of a chart, in units.
const SIZE: (u32, u32) = (780, 400);
/// The size of a chart with a label at every point.
const LARGE: (u32, u32) = (1200, 760);
/// The smallest size in which a chart can be read.
const LEAST_SIZE: (u32, u32) = (320, 200);
/// The most curves with bands, and with whiskers, when the chart chooses; more would hide one another.
const MOST_BANDS: usize = 3;
const MOST_WHISKERS: usize = 5;

/// A chart: axes with series of points, and what they are compared with.
///
/// ```
/// use mico_chart::{Axis, Chart, Point, Reference, Series};
///
/// let points = [(32.0, 81.0), (64.0, 88.5), (128.0, 90.2)].map(|(x, y)| Point::new(x, y));
/// let chart = Chart::new("Acc", Axis::new("budget T").doubling().ticks_at_points(), Axis::new("%"))
///     .series([Series::curve("mico", points)])
///     .references([Reference::level("unpruned", 91.0)]);
/// let drawing = chart.draw();
/// assert!(drawing.svg().contains("unpruned"));
/// assert!(drawing.png()?.starts_with(b"\x89PNG"));
/// # Ok::<(), mico_chart::RenderError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Chart {
    /// The title, in the first line.
    pub title: String,
    /// How the data came about, in a line under the title; none if empty.
    pub subtitle: String,
    /// The horizontal axis, with its label and ticks.
    pub x: Axis,
    /// The vertical axis, with its label and ticks.
    pub y: Axis,
    /// The series that are compared, in the order of the legend.
    pub series: Vec<Series>,
    /// Lines the series are compared with.
    pub references: Vec<Reference>,
    /// The better direction of x for the Pareto front, larger y being better; `None` draws no front.
    pub front: Option<Better>,
    /// How the intervals of points are drawn.
    pub intervals: Intervals,
    /// What the legend calls the intervals; not listed if empty.
    pub interval_name: String,
    /// Width and height in units; a long legend increases the height.
    pub size: (u32, u32),
}

/// How intervals are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Intervals {
    /// As bands, whiskers or not at all, depending on the number of curves.
    #[default]
    Adaptive,
    /// As bands around curves, joined from point to point.
    Bands,
    /// As whiskers (error bars) on every point.
    Whiskers,
}

/// Which direction of the horizontal axis is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Less: the axis is a cost.
    Less,
    /// More: the axis is a gain.
    More,
}

impl Chart {
    /// A chart without series, in the default size.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self {
            title: title.into(),
            subtitle: String::new(),
            x,
            y,
            series: Vec::new(),
            references: Vec::new(),
            front: None,
            intervals: Intervals::default(),
            interval_name: String::new(),
            size: SIZE,
        }
    }

    /// A large chart of a gain over a cost (or another gain), with its Pareto front.
    pub fn pareto(title: impl Into<String>, [x, y]: [&str; 2], better: Better) -> Self {
        Self::new(title, Axis::new(x), Axis::new(y)).front(better).sized(LARGE.0, LARGE.1)
    }

    /// Sets the line under the title.
    pub fn subtitle(self, subtitle: impl Into<String>) -> Self {
        Self { subtitle: subtitle.into(), ..self }
    }

    /// Sets the series, in the order of the legend.
    pub fn series(self, series: impl IntoIterator<Item = Series>) -> Self {
        Self { series: series.into_iter().collect(), ..self }
    }

    /// Sets the reference lines.
    pub fn references(self, references: impl IntoIterator<Item = Reference>) -> Self {
        Self { references: references.into_iter().collect(), ..self }
    }

    /// Draws the Pareto front: the points that no other point dominates.
    pub fn front(self, better: Better) -> Self {
        Self { front: Some(better), ..self }
    }

    /// Sets how intervals are drawn, and their name in the legend.
    pub fn intervals(self, intervals: Intervals, name: impl Into<String>) -> Self {
        Self { intervals, interval_name: name.into(), ..self }
    }

    /// Sets the size in units; at least 320 x 200.
    pub fn sized(self, width: u32, height: u32) -> Self {
        let size = (width.max(LEAST_SIZE.0), height.max(LEAST_SIZE.1));
        Self { size, ..self }
    }

    /// Whether any intervals are drawn: with many curves they would hide one another.
    pub fn has_intervals(&self) -> bool {
        self.drawn_intervals().is_some()
    }

    /// `Bands`, `Whiskers`, or `None` if intervals are not drawn.
    fn drawn_intervals(&self) -> Option<Intervals> {
        let curves = self.series.iter().filter(|series| series.style == Style::Curve).count();
        match self.intervals {
            Intervals::Adaptive if curves <= MOST_BANDS => Some(Intervals::Bands),
            Intervals::Adaptive if curves <= MOST_WHISKERS => Some(Intervals::Whiskers),
            Intervals::Adaptive => None,
            fixed => Some(fixed),
        }
    }

    /// Renders the chart. Values that are not finite, or not on their axis, are left out.
    pub fn draw(&self) -> Drawing {
        let chart = self.drawable();
        let frame = frame::Frame::new(&chart);
        let mut drawing = Drawing::new(frame.size.0, frame.size.1);
        frame.draw(&mut drawing, &chart);
        marks::draw(&mut drawing, &chart, &frame);
        legend::draw(&mut drawing, &frame);
        drawing
    }

    /// A copy of the chart without the values that cannot be drawn.
    fn drawable(&self) -> Self {
        let mut chart = self.clone();
        let interval = |axis: &Axis, interval: &mut Interval| {
            for end in [&mut interval.low, &mut interval.high] {
                if !axis.shows(*end) {
                    *end = interval.value;
                }
            }
        };
        for series in &mut chart.series {
            series.points.retain(|p| self.x.shows(p.x.value) && self.y.shows(p.y.value));
            for point in &mut series.points {
                interval(&self.x, &mut point.x);
                interval(&self.y, &mut point.y);
            }
        }
        chart.references.retain(|reference| match reference.shape {
            ReferenceShape::Level(value) => self.y.shows(value),
            ReferenceShape::Upright(value) => self.x.shows(value),
            ReferenceShape::Diagonal => true,
            ReferenceShape::Segment(ends) => {
                ends.iter().all(|(x, y)| self.x.shows(*x) && self.y.shows(*y))
            }
        });
        chart
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points)
    }
}

/// Several charts as one picture, in rows of `columns`.
pub fn grid(charts: &[Chart], columns: usize) -> Drawing {
    let drawings: Vec<Drawing> = charts.iter().map(Chart::draw).collect();
    let columns = drawings.len().clamp(1, columns.max(1));
    let cell = drawings.iter().map(|drawing| drawing.size().0).max().unwrap_or(LEAST_SIZE.0);
    let heights: Vec<u32> = drawings
        .chunks(columns)
        .map(|row| row.iter().map(|drawing| drawing.size().1).max().unwrap_or(0))
        .collect();
    let height = heights.iter().sum::<u32>().max(1);
    let mut whole = Drawing::new(cell * columns as u32, height);
    for (index, drawing) in drawings.into_iter().enumerate() {
        let (row, column) = (index / columns, index % columns);
        let top: u32 = heights[..row].iter().sum();
        whole.append(drawing, (f64::from(cell) * column as f64, f64::from(top)));
    }
    whole
}
