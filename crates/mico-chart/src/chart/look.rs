//! The look of a series: color, marker and dashes that tell it from others.

use std::f64::consts::{PI, TAU};

use super::{Series, Tone};
use crate::color::{Paint, SERIES};
use crate::drawing::{Dash, Drawing, Fill, Place, Stroke};

/// The number of marker shapes.
const MARKERS: usize = 5;
/// Radii of a star's tips and of the corners between them, relative to a marker's.
const STAR: [f64; 2] = [2.3, 0.95];
/// Line width of a curve, in units.
const CURVE_WIDTH: f64 = 1.8;

/// The color, marker and dashes of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) paint: Paint,
    /// The color of text beside its points, which may need more contrast than the line.
    pub(super) text: Paint,
    marker: usize,
    dashed: bool,
}

impl Look {
    /// The look of the series at `index`, by its tone.
    pub(super) fn of(series: &Series, index: usize) -> Self {
        match series.tone {
            Tone::Auto => Self::slot(index),
            Tone::Slot(slot) => Self::slot(slot),
            Tone::Ink => Self { paint: Paint::Ink, text: Paint::Ink, marker: 0, dashed: false },
        }
    }

    /// Colors change fastest; when they repeat, markers differ and, every other time, lines are dashed.
    fn slot(slot: usize) -> Self {
        let color = slot % SERIES.len();
        let marker = (color + 2 * (slot / SERIES.len())) % MARKERS;
        let dashed = slot / SERIES.len() % 2 == 1;
        Self { paint: Paint::Series(color), text: Paint::Label(color), marker, dashed }
    }

    pub(super) fn stroke(self) -> Stroke {
        let dash = if self.dashed { Dash::Dashes } else { Dash::None };
        Stroke { dash, ..Stroke::solid(self.paint, CURVE_WIDTH) }
    }

    /// Draws the marker, about as large as a disc of `radius`, in `paint`.
    pub(super) fn mark(self, drawing: &mut Drawing, at: Place, radius: f64, paint: Paint) {
        let (x, y, r) = (at.0, at.1, radius);
        let area = |drawing: &mut Drawing, corners: &[Place]| {
            drawing.area(
                corners.iter().map(|(dx, dy)| (x + dx * r, y + dy * r)).collect::<Vec<_>>(),
                paint,
            );
        };
        match self.marker {
            0 => drawing.disc(at, radius, paint),
            1 => area(drawing, &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            2 => area(drawing, &[(0.0, -1.25), (1.2, 0.95), (-1.2, 0.95)]),
            3 => area(drawing, &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
            _ => area(drawing, &[(0.0, 1.25), (1.2, -0.95), (-1.2, -0.95)]),
        }
    }

    /// Draws a five-pointed star with an outline that sets it apart from its curve.
    pub(super) fn star(self, drawing: &mut Drawing, (x, y): Place, radius: f64) {
        let corners = |scale: f64| {
            let corner = |index: usize| {
                let angle = PI + TAU * index as f64 / 10.0;
                let radius = radius * STAR[index % 2] * scale;
                (x + radius * angle.sin(), y + radius * angle.cos())
            };
            (0..10).map(corner).collect::<Vec<Place>>()
        };
        drawing.area(corners(1.35), Paint::Paper);
        drawing.area(corners(1.0), self.paint);
    }

    /// A translucent fill in the color of the series, for bands.
    pub(super) fn veil(self, opacity: f64) -> Fill {
        Fill { paint: self.paint, opacity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_dozen_series_look_different() {
        let looks: Vec<Look> = (0..24).map(Look::slot).collect();
        for (index, look) in looks.iter().enumerate() {
            assert!(!looks[index + 1..].contains(look), "{index}: {look:?}");
        }
    }
}
