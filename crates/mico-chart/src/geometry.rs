//! Axis-aligned rectangles, as label placement needs them.

use crate::drawing::Place;

/// An axis-aligned rectangle, y downwards: `bottom` is larger than `top`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rect {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Rect {
    pub(crate) fn corners(&self) -> [Place; 4] {
        let Self { left, top, right, bottom } = *self;
        [(left, top), (right, top), (right, bottom), (left, bottom)]
    }

    /// The point of the rectangle that is nearest to (x, y).
    pub(crate) fn nearest(&self, (x, y): Place) -> Place {
        (x.max(self.left).min(self.right), y.max(self.top).min(self.bottom))
    }

    pub(crate) fn area(&self) -> f64 {
        (self.right - self.left) * (self.bottom - self.top)
    }

    /// The area shared with another rectangle.
    pub(crate) fn overlap(&self, other: &Self) -> f64 {
        let width = self.right.min(other.right) - self.left.max(other.left);
        let height = self.bottom.min(other.bottom) - self.top.max(other.top);
        width.max(0.0) * height.max(0.0)
    }

    pub(crate) fn distance(&self, place: Place) -> f64 {
        let near = self.nearest(place);
        (near.0 - place.0).hypot(near.1 - place.1)
    }

    /// Whether a line passes through the rectangle, sampled every 4 units.
    pub(crate) fn crossed(&self, (from, to): (Place, Place)) -> bool {
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let steps = (length / 4.0).ceil().max(1.0) as usize;
        (0..=steps).any(|step| {
            let share = step as f64 / steps as f64;
            let at = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
            self.nearest(at) == at
        })
    }
}
