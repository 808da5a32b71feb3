//! A frame with two axes, somewhere on a drawing.

use crate::drawing::{Anchor, Colour, Drawing, Font, Place, Stroke};
use crate::scatter::axis::Axis;

/// A panel's size.
pub(super) const WIDTH: f64 = 700.0;
pub(super) const HEIGHT: f64 = 440.0;
/// What lies around the frame: left, top, right, bottom.
const MARGIN: [f64; 4] = [70.0, 80.0, 20.0, 56.0];
const TEXT: f64 = 12.0;
const TITLE: f64 = 18.0;
/// Half the width of a whisker's ends.
const CAP: f64 = 4.0;

/// What a panel says about itself.
pub(super) struct Labels<'a> {
    pub(super) title: &'a str,
    /// A line below the title.
    pub(super) note: &'a str,
    /// What the horizontal and the vertical axis count.
    pub(super) axes: [&'a str; 2],
}

/// A frame and where values are in it.
pub(super) struct Frame {
    x: Axis,
    y: Axis,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    /// A frame around all points, in the panel whose upper left corner is `corner`.
    pub(super) fn new(corner: Place, points: &[Place]) -> Self {
        let [left, top, right, bottom] = MARGIN;
        let (left, right) = (corner.0 + left, corner.0 + WIDTH - right);
        let (top, bottom) = (corner.1 + top, corner.1 + HEIGHT - bottom);
        Self {
            x: Axis::new(points.iter().map(|p| p.0), [], (left, right)),
            y: Axis::new(points.iter().map(|p| p.1), [], (bottom, top)),
            left,
            right,
            top,
            bottom,
        }
    }

    pub(super) fn at(&self, (x, y): Place) -> Place {
        (self.x.at(x), self.y.at(y))
    }

    /// The frame with its texts; ticks of the vertical axis are left out where names stand there.
    pub(super) fn draw(&self, drawing: &mut Drawing, labels: &Labels<'_>, ticks: bool) {
        let font = |anchor| Font { size: TEXT, colour: Colour::BLACK, anchor };
        let title = Font { size: TITLE, ..font(Anchor::Start) };
        drawing.text((self.left, self.top - 54.0), labels.title, title);
        let grey = Font { colour: Colour::GREY, ..font(Anchor::Start) };
        drawing.text((self.left, self.top - 32.0), labels.note, grey);
        for (value, text) in self.x.ticks() {
            let x = self.x.at(value);
            drawing.line([(x, self.top), (x, self.bottom)], Stroke::solid(Colour::FAINT, 1.0));
            drawing.text((x, self.bottom + 18.0), text, font(Anchor::Middle));
        }
        for (value, text) in self.y.ticks().into_iter().filter(|_| ticks) {
            let y = self.y.at(value);
            drawing.line([(self.left, y), (self.right, y)], Stroke::solid(Colour::FAINT, 1.0));
            drawing.text((self.left - 6.0, y + 4.0), text, font(Anchor::End));
        }
        let corners = [(self.left, self.top), (self.left, self.bottom), (self.right, self.bottom)];
        drawing.line(corners, Stroke::solid(Colour::GREY, 1.0));
        let middle = f64::midpoint(self.left, self.right);
        drawing.text((middle, self.bottom + 38.0), labels.axes[0], font(Anchor::Middle));
        drawing.text((self.left - 60.0, self.top - 12.0), labels.axes[1], grey);
    }

    /// A dashed line from border to border at a value of the horizontal axis.
    pub(super) fn upright(&self, drawing: &mut Drawing, x: f64) {
        let x = self.x.at(x);
        drawing.line([(x, self.top), (x, self.bottom)], Stroke::dashed(Colour::GREY, 1.2));
    }

    /// Names of series with their colours, from the upper right corner down.
    pub(super) fn legend(&self, drawing: &mut Drawing, names: &[(String, Colour)]) {
        for (index, (name, colour)) in names.iter().enumerate() {
            let y = self.top + 14.0 + 16.0 * index as f64;
            let font = Font { size: TEXT, colour: colour.darker(0.85), anchor: Anchor::End };
            drawing.text((self.right - 14.0, y), name.as_str(), font);
            drawing.disc((self.right - 6.0, y - 4.0), 4.0, *colour);
        }
    }

    /// A level line with ends.
    pub(super) fn whisker(
        &self,
        drawing: &mut Drawing,
        (low, high): Place,
        y: f64,
        colour: Colour,
    ) {
        let stroke = Stroke::solid(colour, 1.4);
        let (from, to) = (self.at((low, y)), self.at((high, y)));
        drawing.line([from, to], stroke);
        for end in [from, to] {
            drawing.line([(end.0, end.1 - CAP), (end.0, end.1 + CAP)], stroke);
        }
    }

    /// A text that begins left of the frame, level with a value.
    pub(super) fn name(&self, drawing: &mut Drawing, y: f64, text: &str) {
        let font = Font { size: TEXT, colour: Colour::BLACK, anchor: Anchor::Start };
        drawing.text((self.left + 8.0, self.y.at(y) - 8.0), text, font);
    }
}
