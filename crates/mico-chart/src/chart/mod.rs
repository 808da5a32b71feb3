//! One description of a chart: axes, series, references, a Pareto front. [`Chart::draw`] makes the picture.
//!
//! Every plot of the workspace is a [`Chart`]: curves over a budget, quality against cost, clouds of points,
//! rows of intervals. What differs is what is filled in.

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

/// A chart's usual size.
const SIZE: (u32, u32) = (780, 400);
/// The size of a chart with a label at every point.
const LARGE: (u32, u32) = (1200, 760);
/// The smallest chart in which anything can be seen.
const LEAST_SIZE: (u32, u32) = (320, 200);
/// As many curves have bands, as many whiskers, where the chart may choose; more would hide one another.
const MOST_BANDS: usize = 3;
const MOST_WHISKERS: usize = 5;

/// A chart.
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
    /// What is shown.
    pub title: String,
    /// How it came about, in a line under the title.
    pub subtitle: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is compared, in the order of the legend.
    pub series: Vec<Series>,
    /// What it is compared with.
    pub references: Vec<Reference>,
    /// Which points are on the Pareto front, if there is to be one. More is better along the vertical axis.
    pub front: Option<Better>,
    /// How intervals are drawn.
    pub intervals: Intervals,
    /// What the legend calls the intervals; not listed if empty.
    pub interval_name: String,
    /// Width and height in units; a long legend makes it higher.
    pub size: (u32, u32),
}

/// How intervals are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Intervals {
    /// As bands, whiskers or not at all, by how many curves there are.
    #[default]
    Adaptive,
    /// As bands around curves.
    Bands,
    /// As whiskers on every point.
    Whiskers,
}

/// Which direction of the horizontal axis is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// It is a cost.
    Less,
    /// It is a gain.
    More,
}

impl Chart {
    /// A chart without anything in it.
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

    /// A large chart of a gain over a cost, or over another gain, with the front that nothing beats.
    pub fn pareto(title: impl Into<String>, [x, y]: [&str; 2], better: Better) -> Self {
        Self::new(title, Axis::new(x), Axis::new(y)).front(better).sized(LARGE.0, LARGE.1)
    }

    /// With a line under the title.
    pub fn subtitle(self, subtitle: impl Into<String>) -> Self {
        Self { subtitle: subtitle.into(), ..self }
    }

    /// With these series.
    pub fn series(self, series: impl IntoIterator<Item = Series>) -> Self {
        Self { series: series.into_iter().collect(), ..self }
    }

    /// With these references.
    pub fn references(self, references: impl IntoIterator<Item = Reference>) -> Self {
        Self { references: references.into_iter().collect(), ..self }
    }

    /// With the points marked that no other beats in one respect without losing in the other.
    pub fn front(self, better: Better) -> Self {
        Self { front: Some(better), ..self }
    }

    /// With intervals drawn in a given way, and what the legend calls them.
    pub fn intervals(self, intervals: Intervals, name: impl Into<String>) -> Self {
        Self { intervals, interval_name: name.into(), ..self }
    }

    /// In another size, in units.
    pub fn sized(self, width: u32, height: u32) -> Self {
        let size = (width.max(LEAST_SIZE.0), height.max(LEAST_SIZE.1));
        Self { size, ..self }
    }

    /// Whether any intervals are drawn: with many curves they would hide one another.
    pub fn has_intervals(&self) -> bool {
        self.drawn_intervals().is_some()
    }

    /// Bands, whiskers, or neither.
    fn drawn_intervals(&self) -> Option<Intervals> {
        let curves = self.series.iter().filter(|series| series.style == Style::Curve).count();
        match self.intervals {
            Intervals::Adaptive if curves <= MOST_BANDS => Some(Intervals::Bands),
            Intervals::Adaptive if curves <= MOST_WHISKERS => Some(Intervals::Whiskers),
            Intervals::Adaptive => None,
            fixed => Some(fixed),
        }
    }

    /// Draws it. What is no number, or has no place on its axis, is left out.
    pub fn draw(&self) -> Drawing {
        let chart = self.drawable();
        let frame = frame::Frame::new(&chart);
        let mut drawing = Drawing::new(frame.size.0, frame.size.1);
        frame.draw(&mut drawing, &chart);
        marks::draw(&mut drawing, &chart, &frame);
        legend::draw(&mut drawing, &frame);
        drawing
    }

    /// The chart without what cannot be drawn.
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

/// Several charts as one picture, row by row with so many `columns`.
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
