//! Where labels go: near their points, off each other.

use crate::drawing::{CAPITAL, Place, text_width};

/// Directions in which a label may lie from its point.
const DIRECTIONS: usize = 16;
/// Distances that are tried.
const DISTANCES: [f64; 8] = [9.0, 14.0, 20.0, 28.0, 38.0, 50.0, 66.0, 86.0];
/// What it costs to lie on another label or outside of the frame, per unit of area; on a point; on a
/// line; and away from the point, per unit of length.
const OVERLAP: f64 = 4.0;
const ON_POINT: f64 = 120.0;
const ON_LINE: f64 = 9.0;
const AWAY: f64 = 1.0;
/// How far a point reaches.
const POINT: f64 = 7.0;

/// A box along the axes; `bottom` is larger than `top`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rect {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Rect {
    pub(super) fn corners(&self) -> [Place; 4] {
        let Self { left, top, right, bottom } = *self;
        [(left, top), (right, top), (right, bottom), (left, bottom)]
    }

    /// The place of the box that is nearest to another.
    pub(super) fn nearest(&self, (x, y): Place) -> Place {
        (x.clamp(self.left, self.right), y.clamp(self.top, self.bottom))
    }

    fn area(&self) -> f64 {
        (self.right - self.left) * (self.bottom - self.top)
    }

    /// The area common with another.
    fn overlap(&self, other: &Self) -> f64 {
        let width = self.right.min(other.right) - self.left.max(other.left);
        let height = self.bottom.min(other.bottom) - self.top.max(other.top);
        width.max(0.0) * height.max(0.0)
    }

    fn distance(&self, place: Place) -> f64 {
        let near = self.nearest(place);
        (near.0 - place.0).hypot(near.1 - place.1)
    }

    /// Whether a line passes through, looked at in steps.
    fn crossed(&self, (from, to): (Place, Place)) -> bool {
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let steps = (length / 4.0).ceil().max(1.0) as usize;
        (0..=steps).any(|step| {
            let share = step as f64 / steps as f64;
            let at = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
            self.nearest(at) == at
        })
    }
}

/// A box for the label of each point, one after the other at the cheapest place.
pub(super) fn place(
    anchors: &[(Place, &str)],
    lines: &[(Place, Place)],
    frame: Rect,
    size: f64,
) -> Vec<Rect> {
    let mut placed: Vec<Rect> = Vec::with_capacity(anchors.len());
    for (at, label) in anchors {
        let (width, height) = (text_width(label, size) + 2.0, CAPITAL * size + 4.0);
        let cost = |rect: &Rect| {
            let labels: f64 = placed.iter().map(|other| rect.overlap(other)).sum();
            let outside = rect.area() - rect.overlap(&frame);
            let points = anchors.iter().filter(|(point, _)| rect.distance(*point) < POINT).count();
            let lines = lines.iter().filter(|line| rect.crossed(**line)).count();
            OVERLAP * (labels + outside)
                + ON_POINT * points as f64
                + ON_LINE * lines as f64
                + AWAY * rect.distance(*at)
        };
        let mut best: Option<(f64, Rect)> = None;
        for distance in DISTANCES {
            for direction in 0..DIRECTIONS {
                let angle = direction as f64 / DIRECTIONS as f64 * std::f64::consts::TAU;
                let (along, down) = (angle.cos(), -angle.sin());
                // The box touches a circle around the point from outside.
                let x = at.0 + along * (distance + width / 2.0);
                let y = at.1 + down * (distance + height / 2.0);
                let rect = Rect {
                    left: x - width / 2.0,
                    top: y - height / 2.0,
                    right: x + width / 2.0,
                    bottom: y + height / 2.0,
                };
                let cost = cost(&rect);
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, rect));
                }
            }
        }
        placed.extend(best.map(|(_, rect)| rect));
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_crowded_points_do_not_overlap() {
        let frame = Rect { left: 0.0, top: 0.0, right: 900.0, bottom: 600.0 };
        let anchors: Vec<(Place, &str)> = (0..36)
            .map(|i| {
                ((300.0 + f64::from(i % 6) * 50.0, 250.0 + f64::from(i / 6) * 16.0), "vscan 128")
            })
            .collect();
        let rects = place(&anchors, &[], frame, 12.0);
        assert_eq!(rects.len(), anchors.len());
        for (index, rect) in rects.iter().enumerate() {
            assert_eq!(rect.overlap(&frame), rect.area());
            for other in &rects[index + 1..] {
                assert_eq!(rect.overlap(other), 0.0, "{rect:?} {other:?}");
            }
        }
    }
}
